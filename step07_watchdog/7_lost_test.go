package redislock

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Also from step 07 on: the holder is notified if it loses the lock. The lock before reports a
// loss in Unlock, after the work. What is new:
//
//	Lost      a channel that is closed when the lock is lost
//	Do        locks, runs work whose context ends with the lock (ErrLost), unlocks; ErrNotRun
//	          is for work that did not begin
//	MaxHold   for how long the lock is renewed; it expires a ttl after the last renewal
//
// The lock is renewed every ttl/3; a renewal that has failed is sent again sooner.

func TestTheKeyIsTaken_TheNextRenewalNotifiesTheHolder(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))
		time.Sleep(ttl / 10)
		lab.endLease()                   // or an operator deletes her key
		limitHold(bob, time.Millisecond) // he does not renew: his ttl only falls
		require.NoError(t, bob.TryLock(ctx))
		entered := time.Now()

		requireLost(t, alice, ttl/3+10*time.Millisecond,
			"bob holds the lock and alice's renewal was due, but she was not notified")
		for node := range nodes {
			left := ttl - time.Since(entered)
			require.LessOrEqual(t, lab.server(node).TTL(key), left+time.Millisecond,
				"alice's renewal extended bob's lock")
		}
		require.ErrorIs(t, alice.TryLock(ctx), ErrNotHeld,
			"alice has lost the lock, but her nested TryLock did not return ErrNotHeld")
		require.ErrorIs(t, alice.Unlock(ctx), ErrNotHeld,
			"alice has lost the lock, but Unlock did not return ErrNotHeld")
		require.NoError(t, bob.Unlock(ctx), "alice has lost the lock, but what she called released bob's")
	})
}

func TestRedisIsUnreachable_LostBeforeTheKeyCanExpire(t *testing.T) {
	for _, fault := range []struct {
		name string
		fail func(lab *lab, node int) (heal func())
	}{{"down", (*lab).stop}, {"hung", (*lab).hang}} {
		t.Run(fault.name, func(t *testing.T) {
			inLab(t, func(t *T, lab *lab) {
				alice := lab.lock("alice")
				require.NoError(t, alice.TryLock(ctx))
				start := time.Now()
				expires := start.Add(lab.server(0).TTL(key))
				for node := range nodes {
					fault.fail(lab, node)
				}
				requireLost(t, alice, ttl,
					"Redis is %s and alice's lease has expired, but she was not notified", fault.name)
				require.True(t, time.Now().Before(expires.Add(slack(0))), // slack: on real servers
					"Redis is %s, but alice's key had expired before she was notified", fault.name)
				require.Greater(t, time.Since(start), ttl/2,
					"Redis is %s, but alice gave up long before her lease expired", fault.name)
			})
		})
	}
}

func TestRenewalsFailForAWhile_TheLockIsKept(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))
		lab.fault("Redis rejects alice's renewals")
		lab.failFrom("alice", 1, "LOADING Redis is loading the dataset in memory")
		time.Sleep(ttl - slack(ttl/10))
		lab.removeHooks("alice")
		lab.fault("Redis accepts them again")
		time.Sleep(5 * ttl)
		requireNotLost(t, alice,
			"renewals failed and worked again before the lease expired, but alice was notified of a loss")
		requireRefused(t, bob, "alice was not notified of a loss, but bob is inside with her")
		require.NoError(t, alice.Unlock(ctx))
	})
}

func TestTheLockIsLostDuringDo_TheWorkIsCancelled(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		err := alice.Do(ctx, func(work context.Context) error {
			requireRefused(t, bob, "alice's work runs, but bob is inside with her")
			lab.endLease()
			select {
			case <-work.Done():
			case <-time.After(ttl):
			}
			require.ErrorIs(t, context.Cause(work), ErrLost, "alice's lock is gone, but her work was not notified")
			return nil // it ignores the loss
		})
		require.ErrorIs(t, err, ErrLost, "alice's lock was lost during the work, but Do returned nil")
	})
}

func TestDoCannotLock_TheWorkDoesNotRun(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, bob.TryLock(ctx))
		patience, cancel := context.WithTimeout(ctx, slack(ttl/10))
		defer cancel()
		ran := false
		err := alice.Do(patience, func(context.Context) error { ran = true; return nil })
		require.False(t, ran, "bob is inside, but alice's work ran")
		require.ErrorIs(t, err, ErrNotRun, "bob is inside and alice's work did not run, but Do's error does not say so")
	})
}

func TestTheHolderNeverUnlocks_MaxHoldEndsTheRenewals(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		alice.MaxHold = 3 * ttl
		require.NoError(t, alice.TryLock(ctx))
		lab.note("alice never unlocks; MaxHold is %v", alice.MaxHold)
		time.Sleep(3 * ttl)
		requireNotLost(t, alice,
			"MaxHold has only just ended and the last renewal is still valid, but alice was already notified of a loss")
		requireRefused(t, bob, "MaxHold has only just ended, but bob is inside with alice")
		requireLost(t, alice, ttl, "MaxHold ended a ttl ago, but alice was not notified")
		time.Sleep(slack(ttl / 10))
		require.NoError(t, bob.TryLock(ctx), "MaxHold ended a ttl ago, but bob was refused")
	})
}

func init() { lockErrors = append(lockErrors, named{"ErrLost", ErrLost}) }

func requireLost(t *T, l *handle, within time.Duration, format string, args ...any) {
	t.Helper()
	if within > 0 {
		select {
		case <-l.Lost():
		case <-time.After(slack(within)):
		}
	}
	select {
	case <-l.Lost():
		l.lab.trace.add(record{Kind: "note", Text: l.who + "'s Lost is closed", Gone: l.who})
	default:
		require.Failf(t, "not notified of a loss", format, args...)
	}
}

func requireNotLost(t *T, l *handle, why string) {
	t.Helper()
	select {
	case <-l.Lost():
		require.Fail(t, "notified of a loss that did not happen", why)
	default:
	}
}

// Do is defined here and not in new_test.go, because a learner may try a lock that has no
// Do yet. It does not wait forever for a broken lock.
func (h *handle) Do(ctx context.Context, fn func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, 100*ttl)
	defer cancel()
	return h.lab.call(h.who, "Do", func() error { return h.lockOf.Do(ctx, fn) })
}
