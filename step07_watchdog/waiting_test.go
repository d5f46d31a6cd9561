package redislock

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// Guarantee 6, second part: those who wait are woken, they do not poll. Step 08 gives this up again: a message from
// one node says nothing about the majority, so there waiters ask again after a random delay.

func TestAWaiter_SendsNothingAndEntersInTheMillisecondOfTheRelease(t *testing.T) {
	inLab(t, func(t *testing.T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		limitHold(alice, time.Millisecond) // from step 07 on, her renewals would count
		require.NoError(t, alice.TryLock(ctx))
		entered := inBackground(func() error { return bob.Lock(ctx) })

		time.Sleep(slack(ttl / 10))
		before := lab.server(0).CommandCount()
		time.Sleep(ttl / 5)
		require.Equal(t, before, lab.server(0).CommandCount(), "bob waits, and asks again and again")

		released := time.Now()
		require.NoError(t, alice.Unlock(ctx))
		bobIn := <-entered
		require.NoError(t, bobIn.err, "alice has left, and bob did not get in")
		require.Less(t, bobIn.at.Sub(released), slack(time.Millisecond), "alice has left, and bob slept on")
	})
}

func TestTheLockIsReleasedBeforeTheWaiterListens_TheReleaseIsNotMissed(t *testing.T) {
	inLab(t, func(t *testing.T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))
		refused := time.Now()
		lab.afterReply("bob", 2, func() { alice.Unlock(ctx) }) // EVALSHA, which Redis does not know yet, and EVAL
		require.NoError(t, bob.Lock(ctx))
		require.Less(t, time.Since(refused), slack(10*time.Millisecond),
			"alice left after bob was refused and before he listened: he waits for a message that was sent already")
	})
}

func TestTheHolderDies_TheWaiterEntersWhenTheTTLEnds(t *testing.T) {
	inLab(t, func(t *testing.T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		start := time.Now()
		require.NoError(t, alice.TryLock(ctx))
		lab.crash("alice")
		require.NoError(t, bob.Lock(ctx))
		require.GreaterOrEqual(t, time.Since(start), ttl, "bob entered before the dead holder's ttl was over")
		require.Less(t, time.Since(start), slack(ttl+2*time.Millisecond), "the dead holder's ttl was over, and bob slept on")
	})
}

type result struct {
	err error
	at  time.Time
}

// inBackground starts what takes its time, and returns where its result will come.
func inBackground(fn func() error) <-chan result {
	done := make(chan result, 1)
	go func() {
		err := fn()
		done <- result{err, time.Now()}
	}()
	return done
}

// afterReply runs fn when Redis has answered the client's nth command from now on, before the client hears it.
func (l *lab) afterReply(name string, nth int, fn func()) {
	l.announce(name, &twist{match: func(_ redis.Cmder, n int) bool { return n == nth }, after: fn})
}
