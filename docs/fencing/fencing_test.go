package fencing

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// The stories of the resource: what a late holder can still do there. All begin with step
// 08's last bug: the lease ended, the next owner entered, and the first one does not
// know.

// stock is the name of the resource that the lock protects: how many coupons are left.
const stock = "stock"

// onEachResource plays the story on each kind of resource. There are 100 coupons, and the
// lock has counted to 32. at returns the resource as the client of that name reaches it.
func onEachResource(t *testing.T, story func(t *T, lab *lab, at func(name string) Resource)) {
	needsVirtualTime(t, pastTheLab)
	t.Run("memory", func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			memory := NewMemory()
			require.NoError(t, memory.Create(ctx, stock, "100"))
			lab.countTo(32)
			story(t, lab, func(name string) Resource { return told{memory, lab, name} })
		})
	})
	t.Run("redis", func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			at := func(name string) Resource { return NewRedis(lab.client(name).nodes[0]) }
			require.NoError(t, at("owner").Create(ctx, stock, "100"))
			lab.countTo(32)
			story(t, lab, at)
		})
	})
}

// countTo sets the lock's counter, as if it had been acquired that often.
func (l *lab) countTo(n int) {
	l.server(0).Set(fenceKey(key), strconv.Itoa(n))
}

// pause is a garbage collection, a page fault, SIGSTOP.
func (l *lab) pause(name string) {
	l.tell(name, "is paused")
	time.Sleep(2 * ttl)
}

// tell adds a row about what a client does that is no command.
func (l *lab) tell(who, format string, args ...any) {
	l.trace.add(record{Kind: "note", Who: who, Text: fmt.Sprintf(format, args...)})
}

// told puts what is done to a resource in memory into the timeline.
type told struct {
	Resource
	lab *lab
	who string
}

func (r told) Read(ctx context.Context, token int64, name string) (string, error) {
	value, err := r.Resource.Read(ctx, token, name)
	r.lab.tell(r.who, "reads %s with token %d -> %s", name, token, outcome(value, err))
	return value, err
}

func (r told) Write(ctx context.Context, token int64, name, value string) error {
	err := r.Resource.Write(ctx, token, name, value)
	r.lab.tell(r.who, "writes %s = %s with token %d -> %s", name, value, token, outcome("OK", err))
	return err
}

func (r told) Claim(ctx context.Context, name string) (int64, error) {
	token, err := r.Resource.Claim(ctx, name)
	r.lab.tell(r.who, "claims %s -> %s", name, outcome(strconv.FormatInt(token, 10), err))
	return token, err
}

func outcome(result string, err error) string {
	if err != nil {
		return err.Error()
	}
	return result
}

// read returns how many coupons are left.
func read(t *T, r Resource, token int64) int {
	t.Helper()
	value, err := r.Read(ctx, token, stock)
	require.NoError(t, err, "the present holder cannot read the stock")
	n, err := strconv.Atoi(value)
	require.NoError(t, err)
	return n
}

func write(r Resource, token int64, n int) error {
	return r.Write(ctx, token, stock, strconv.Itoa(n))
}

// sell is what the next owner does in all stories: enter, sell one coupon. It returns his token.
func sell(t *T, bob *handle, r Resource) int64 {
	t.Helper()
	token, err := trySell(bob, r)
	require.NoError(t, err, "alice's lease is over, and bob cannot enter and sell")
	return token
}

// trySell is for the goroutines in which a story must not end.
func trySell(bob *handle, r Resource) (token int64, err error) {
	if token, err = bob.TryLock(ctx); err != nil {
		return 0, err
	}
	value, err := r.Read(ctx, token, stock)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(value)
	if err != nil {
		return 0, err
	}
	return token, write(r, token, n-1)
}

func TestKleppmannsFigure_TheLateWriteIsRefused(t *testing.T) {
	onEachResource(t, func(t *T, lab *lab, at func(string) Resource) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		token, err := alice.TryLock(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 33, token)
		left := read(t, at("alice"), token)
		lab.pause("alice")

		bobs := sell(t, bob, at("bob"))
		require.EqualValues(t, 34, bobs)

		err = write(at("alice"), token, left-10) // she has sold ten, of what she saw 20 seconds ago
		require.ErrorIs(t, err, ErrStaleToken, "alice wrote with 33 after bob had written with 34, and it was accepted: his sale is lost")
		require.ErrorContains(t, err, "33 is lower than 34", "alice was refused, and the error does not name both numbers")
		require.Equal(t, 99, read(t, at("bob"), bobs), "alice was refused, and the stock changed all the same")
	})
}

func TestTheLeaseIsCheckedJustBeforeTheWrite_ThePauseComesBetween(t *testing.T) {
	onEachResource(t, func(t *T, lab *lab, at func(string) Resource) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		token, err := alice.TryLock(ctx)
		require.NoError(t, err)
		left := read(t, at("alice"), token)

		lease, err := lab.client("alice").nodes[0].PTTL(ctx, key).Result()
		require.NoError(t, err)
		if lease < ttl/2 { // she is careful
			require.Fail(t, "alice's lease is new, and she thinks that it is over")
		}
		lab.pause("alice")
		sell(t, bob, at("bob"))

		require.ErrorIs(t, write(at("alice"), token, left-10), ErrStaleToken,
			"alice saw that her lease was good, was paused, and wrote: the check was over before the write began")
	})
}

func TestTheWriteIsUnderWayWhenTheLeaseEnds_ItIsRefusedWhenItArrives(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		at := func(name string) Resource { return NewRedis(lab.client(name).nodes[0]) }
		require.NoError(t, at("owner").Create(ctx, stock, "100"))
		patient := func(opt *redis.Options) { opt.ReadTimeout = time.Hour }
		alice, bob := lab.lock("alice", patient), lab.lock("bob")
		token, err := alice.TryLock(ctx)
		require.NoError(t, err)
		left := read(t, at("alice"), token)

		var bobs int64
		var bobErr error
		lab.beforeNth("alice", 1, func() {
			// Alice does not pause: she has sent it in time, the network holds it up.
			lab.note("alice's write is on its way")
			time.Sleep(2 * ttl)
			bobs, bobErr = trySell(bob, at("bob"))
			lab.note("alice's write arrives")
		})
		err = write(at("alice"), token, left-10)
		require.NoError(t, bobErr, "alice's lease is over, and bob cannot enter and sell")
		require.ErrorIs(t, err, ErrStaleToken, "alice's write was sent within her lease and arrived after bob's: it was accepted, and his sale is lost")
		require.Equal(t, 99, read(t, at("bob"), bobs))
	})
}

func TestTheReplyToTheWriteIsLost_TheResendDoesNotUndoTheNextOwnersWrite(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		at := func(name string) Resource { return NewRedis(lab.client(name).nodes[0]) }
		require.NoError(t, at("owner").Create(ctx, stock, "100"))
		alice, bob := lab.lock("alice"), lab.lock("bob")
		token, err := alice.TryLock(ctx)
		require.NoError(t, err)
		left := read(t, at("alice"), token)

		var bobs int64
		var bobErr error
		lab.loseReply("alice", func() {
			lab.endLease()
			bobs, bobErr = trySell(bob, at("bob"))
		})
		err = write(at("alice"), token, left-1)
		require.NoError(t, bobErr, "alice's lease is over, and bob cannot enter and sell")
		require.Equal(t, 98, read(t, at("bob"), bobs), "go-redis sent alice's write again after bob's: his sale is lost")
		require.ErrorIs(t, err, ErrStaleToken, "the resend was refused, and alice was not told that bob works there now")
	})
}

func TestTheNextOwnerHasReadAndNotYetWritten_TheLateWriteIsRefused(t *testing.T) {
	onEachResource(t, func(t *T, lab *lab, at func(string) Resource) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		token, err := alice.TryLock(ctx)
		require.NoError(t, err)
		left := read(t, at("alice"), token)
		lab.pause("alice")

		bobs, err := bob.TryLock(ctx)
		require.NoError(t, err)
		bobSaw := read(t, at("bob"), bobs)
		// Bob has not written: 33 would still be the highest, if a read did not count.
		aliceErr := write(at("alice"), token, left-10)
		require.NoError(t, write(at("bob"), bobs, bobSaw-1))
		require.ErrorIs(t, aliceErr, ErrStaleToken,
			"alice wrote between bob's read and his write and was told that it counts, and then he wrote over it: her sale is lost")
	})
}

func TestTheLateHolderReads_IsToldThatItIsLate(t *testing.T) {
	onEachResource(t, func(t *T, lab *lab, at func(string) Resource) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		token, err := alice.TryLock(ctx)
		require.NoError(t, err)
		lab.pause("alice")
		bobs := sell(t, bob, at("bob"))

		_, err = at("alice").Read(ctx, token, stock)
		require.ErrorIs(t, err, ErrStaleToken, "alice comes with 33 after bob with 34, and is given the stock as if it were hers")
		require.NoError(t, write(at("bob"), bobs, 50), "alice's late read took the stock away from bob")
	})
}

// Control: nothing must be refused.
func TestTheHolderWritesAgainWithItsToken_IsAccepted(t *testing.T) {
	onEachResource(t, func(t *T, lab *lab, at func(string) Resource) {
		alice := lab.lock("alice")
		token, err := alice.TryLock(ctx)
		require.NoError(t, err)
		for n := 99; n > 90; n-- {
			require.NoError(t, write(at("alice"), token, n), "alice holds the lock, wrote with her token before, and is refused: an equal token is the same holder")
			require.Equal(t, n, read(t, at("alice"), token))
		}
	})
}

// Control: nobody else came, and nothing must be refused.
func TestTheLeaseEndsAndNobodyElseComes_TheLateWriteIsAccepted(t *testing.T) {
	onEachResource(t, func(t *T, lab *lab, at func(string) Resource) {
		alice := lab.lock("alice")
		token, err := alice.TryLock(ctx)
		require.NoError(t, err)
		left := read(t, at("alice"), token)
		lab.pause("alice")
		require.NoError(t, write(at("alice"), token, left-1), "alice is late and hurts nobody, and is refused: fencing is about order, not about time")
	})
}

// Control: another name is another resource.
func TestAHigherTokenElsewhere_DoesNotFenceThisName(t *testing.T) {
	onEachResource(t, func(t *T, lab *lab, at func(string) Resource) {
		require.NoError(t, at("owner").Create(ctx, "prizes", "3"))
		require.NoError(t, at("bob").Write(ctx, 1000, "prizes", "2"))
		require.NoError(t, write(at("alice"), 33, 99), "bob wrote the prizes with 1000, and alice cannot write the stock with 33")
	})
}

func TestSixteenWritersWithRandomTokens_TheResourceNeverGoesBackwards(t *testing.T) {
	const writers, tokens = 16, 800
	onEachResource(t, func(t *T, lab *lab, at func(string) Resource) {
		lab.trace.untold = true
		order := rand.Perm(tokens)
		// Nobody's last write has the highest token: it must stay against later ones.
		for i, n := range order {
			if n == tokens-1 && i >= tokens-writers {
				order[0], order[i] = order[i], order[0]
			}
		}
		quiet := func(name string) Resource {
			if r, ok := at(name).(told); ok {
				return r.Resource
			}
			return at(name)
		}
		for w := range writers {
			quiet(fmt.Sprintf("server-%d", w)) // clients are made one after the other
		}
		var together errgroup.Group
		for w := range writers {
			r := quiet(fmt.Sprintf("server-%d", w))
			together.Go(func() error {
				seen := int64(0)
				for i := w; i < tokens; i += writers {
					token := int64(order[i] + 1)
					err := write(r, token, int(token))
					if err == nil && token < seen {
						return fmt.Errorf("%d was accepted after %d", token, seen)
					}
					if err == nil {
						seen = token
					}
				}
				return nil
			})
		}
		require.NoError(t, together.Wait(), "a token was accepted after a higher one")
		value, err := quiet("server-0").Read(ctx, tokens, stock)
		require.NoError(t, err)
		require.Equal(t, strconv.Itoa(tokens), value, "a write with a lower token came last and is there: the resource went backwards")
	})
}

// antirez's answer: no numbers, the random token that the lock has anyway.

func TestRandomToken_TheValueIsMarkedBeforeItIsRead_TheLateWriteIsRefused(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		hers, his := visit(lab)
		alices := enter(t, lab, alice)
		hers.Mark(alices)
		require.Equal(t, "100", hers.Read())
		lab.pause("alice")

		bobs := enter(t, lab, bob)
		his.Mark(bobs)
		require.Equal(t, "100", his.Read())
		require.NoError(t, his.Write(bobs, "99"))

		require.ErrorIs(t, hers.Write(alices, "90"), ErrOvertaken, "bob has marked the value and written, and alice wrote over it")
		require.Equal(t, "99", hers.Read())
	})
}

// A visitor puts what a client does to a marked value into the timeline.
type visitor struct {
	*Marked
	lab *lab
	who string
}

func (v visitor) Mark(token string) {
	v.Marked.Mark(token)
	v.lab.tell(v.who, "marks the value")
}

func (v visitor) Read() string {
	value := v.Marked.Read()
	v.lab.tell(v.who, "reads the value -> %s", value)
	return value
}

func (v visitor) Write(token, value string) error {
	err := v.Marked.Write(token, value)
	v.lab.tell(v.who, "writes %s -> %s", value, outcome("OK", err))
	return err
}

// visit lets alice and bob come to one value, 100.
func visit(lab *lab) (alice, bob visitor) {
	value := NewMarked("100")
	return visitor{value, lab, "alice"}, visitor{value, lab, "bob"}
}

// enter acquires the lock and returns the random value that is the owner's.
func enter(t *T, lab *lab, l *handle) (token string) {
	t.Helper()
	_, err := l.TryLock(ctx)
	require.NoError(t, err)
	return lab.owner(0)
}

// Control: what it needs to work. The order of mark and read is the caller's.
func TestRandomToken_TheValueIsReadBeforeItIsMarked_TheUpdateIsLost(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		hers, his := visit(lab)
		alices := enter(t, lab, alice)
		require.Equal(t, "100", hers.Read()) // too early
		lab.pause("alice")

		bobs := enter(t, lab, bob)
		his.Mark(bobs)
		require.NoError(t, his.Write(bobs, "99"))

		hers.Mark(alices)
		require.NoError(t, hers.Write(alices, "90"), "alice marked last, and was refused: a random token has got an order")
		require.Equal(t, "90", hers.Read(), "bob's sale is still there: read before mark does no harm any more")
	})
}

func TestRandomToken_TheLateHolderMarksLast_ThePresentOneMustGiveWay(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		hers, his := visit(lab)
		alices := enter(t, lab, alice)
		lab.pause("alice")

		bobs := enter(t, lab, bob)
		his.Mark(bobs)
		require.Equal(t, "100", his.Read())

		hers.Mark(alices) // no order tells that she is late
		require.Equal(t, "100", hers.Read())
		require.ErrorIs(t, his.Write(bobs, "99"), ErrOvertaken, "alice has marked and read, and bob wrote under her: one of the two sales will be lost")
		require.NoError(t, hers.Write(alices, "99"), "alice marked last, and was refused: then nobody can write")
	})
}

// The counter is in Redis, and Redis can lose it.

// Control: the counter's bug. No resource can tell two holders with one number apart.
func TestTheCounterIsLostInAFailover_TheSameNumberTwice(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		memory := NewMemory()
		require.NoError(t, memory.Create(ctx, stock, "100"))
		at := func(name string) Resource { return told{memory, lab, name} }
		lab.countTo(33)
		alice, bob := lab.lock("alice"), lab.lock("bob")
		token, err := alice.TryLock(ctx)
		require.NoError(t, err)
		left := read(t, at("alice"), token)
		lab.failover(0)
		lab.countTo(33) // what the replica has received

		bobs := sell(t, bob, at("bob"))
		require.EqualValues(t, 34, token)
		require.EqualValues(t, 34, bobs, "the replica knew of alice's number: the bug is gone")
		require.NoError(t, write(at("alice"), token, left-10), "alice's 34 was told from bob's 34: the bug is gone")
		require.Equal(t, 90, read(t, at("bob"), bobs), "bob's sale is still there: the bug is gone")
	})
}

func TestTheCounterStartsAgainAtOne_TheResourceRefusesRatherThanGoBack(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		memory := NewMemory()
		require.NoError(t, memory.Create(ctx, stock, "100"))
		at := func(name string) Resource { return told{memory, lab, name} }
		lab.countTo(33)
		alice, bob := lab.lock("alice"), lab.lock("bob")
		token, err := alice.TryLock(ctx)
		require.NoError(t, err)
		require.NoError(t, write(at("alice"), token, 99))
		lab.replace(0, "it restarts without its data")

		bobs, err := bob.TryLock(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 1, bobs, "Redis lost everything, and the counter goes on: the bug is gone")
		_, err = at("bob").Read(ctx, bobs, stock)
		require.ErrorIs(t, err, ErrStaleToken, "the resource has seen 34 and let bob in with 1: then alice's 34 is good for ever")
		require.ErrorContains(t, err, "1 is lower than 34")

		// The way out: an operator sets the counter above what the resource has seen.
		require.NoError(t, bob.Unlock(ctx))
		lab.countTo(34)
		sell(t, bob, at("bob"))
		require.ErrorIs(t, write(at("alice"), token, 90), ErrStaleToken, "the counter was set right, and alice's late write came through")
	})
}

func TestTheResourceKeepsTheCounter_AFailoverOfTheLockGivesNoNumberTwice(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		memory := NewMemory()
		require.NoError(t, memory.Create(ctx, stock, "100"))
		at := func(name string) Resource { return told{memory, lab, name} }
		// Whoever has the lock asks the resource for a number, not the lock.
		claim := func(name string) int64 {
			_, err := lab.lock(name).TryLock(ctx)
			require.NoError(t, err)
			token, err := at(name).Claim(ctx, stock)
			require.NoError(t, err)
			return token
		}
		token := claim("alice")
		left := read(t, at("alice"), token)
		lab.failover(0)

		bobs := claim("bob")
		require.Greater(t, bobs, token, "the lock forgot alice in the failover, and so did the resource")
		require.NoError(t, write(at("bob"), bobs, read(t, at("bob"), bobs)-1))
		require.ErrorIs(t, write(at("alice"), token, left-10), ErrStaleToken, "bob claimed the stock after alice, and she wrote over his sale")
		require.Equal(t, 99, read(t, at("bob"), bobs))
	})
}

// Control: a claim is about order, and asks nothing of a write.
func TestClaims_CountUpFromTheHighestTokenSeen(t *testing.T) {
	onEachResource(t, func(t *T, lab *lab, at func(string) Resource) {
		for want := int64(1); want < 5; want++ {
			token, err := at("alice").Claim(ctx, stock)
			require.NoError(t, err)
			require.Equal(t, want, token)
		}
		require.NoError(t, write(at("alice"), 40, 99))
		token, err := at("bob").Claim(ctx, stock)
		require.NoError(t, err)
		require.EqualValues(t, 41, token, "the stock has seen 40, and bob's claim is not above it")
	})
}

// A resource that cannot check: a payment cannot be written over, and the service knows
// nothing of the lock.

// payments is a service that carries out requests with the same idempotency key once.
type payments struct {
	charges map[string]int // cents by key
	total   int
}

func (p *payments) charge(key string, cents int) error {
	if before, ok := p.charges[key]; ok {
		if before != cents {
			return fmt.Errorf("%d cents were charged under %s", before, key)
		}
		return nil
	}
	p.charges[key] = cents
	p.total += cents
	return nil
}

// chargeLate lets alice charge an order, or be too late for it, after bob has charged the
// same. keyOf names the request.
func chargeLate(t *T, lab *lab, keyOf func(token int64) string) (total int) {
	service := &payments{charges: map[string]int{}}
	alice, bob := lab.lock("alice"), lab.lock("bob")
	token, err := alice.TryLock(ctx)
	require.NoError(t, err)
	lab.pause("alice")
	bobs, err := bob.TryLock(ctx)
	require.NoError(t, err)
	for _, token := range []int64{bobs, token} {
		lab.note("charge %q", keyOf(token))
		require.NoError(t, service.charge(keyOf(token), 1999))
	}
	return service.total
}

// Control: the check is the service's.
func TestAPaymentWithAKeyOfTheOrder_IsMadeOnce(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		total := chargeLate(t, lab, func(int64) string { return "order-4711" })
		require.Equal(t, 1999, total, "alice and bob charged the same order under the same key, and the customer paid twice")
	})
}

// Control: a key of the attempt names each attempt a payment of its own.
func TestAPaymentWithAKeyOfTheHold_IsMadeTwice(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		total := chargeLate(t, lab, func(token int64) string { return fmt.Sprintf("order-4711-%d", token) })
		require.Equal(t, 2*1999, total, "the keys differ, and the customer paid once: the service does not look at them")
	})
}

// Bad input.

// Control: it is about what is not asked of the resource.
func TestBadInputToTheResource_IsRefusedBeforeAnythingHappens(t *testing.T) {
	onEachResource(t, func(t *T, lab *lab, at func(string) Resource) {
		r := at("alice")
		sent := lab.sent()
		for _, token := range []int64{0, -1, -34} {
			for _, err := range []error{write(r, token, 1), second(r.Read(ctx, token, stock))} {
				require.ErrorContains(t, err, fmt.Sprintf("token %d is below", token), "alice has no token, and the error does not say so")
				require.ErrorContains(t, err, "fencing: ")
				require.ErrorContains(t, err, fmt.Sprintf("%q", stock), "the error does not say which resource it is about")
				require.NotErrorIs(t, err, ErrStaleToken, "alice made a mistake, and is told that somebody else works there")
			}
		}
		for _, err := range []error{
			r.Create(ctx, "", "1"), r.Write(ctx, 1, "", "1"), second(r.Read(ctx, 1, "")), second(r.Claim(ctx, "")),
		} {
			require.ErrorContains(t, err, "resource name is empty", "alice made a mistake, but the error does not name it")
		}
		require.Equal(t, sent, lab.sent(), "alice made a mistake, but it was sent to Redis")
		require.Equal(t, 100, read(t, r, 1), "alice was refused, and the stock changed all the same")
	})
}

// Control: it is about what is not there.
func TestAnUnknownResource_IsNotMadeByAWrite(t *testing.T) {
	onEachResource(t, func(t *T, lab *lab, at func(string) Resource) {
		r := at("alice")
		for range 2 { // the first time has not made it
			for _, err := range []error{
				r.Write(ctx, 1, "stok", "1"), second(r.Read(ctx, 1, "stok")), second(r.Claim(ctx, "stok")),
			} {
				require.ErrorIs(t, err, ErrUnknownResource, "there is no such resource, and alice is not told")
				require.ErrorContains(t, err, `"stok"`, "the error does not say which resource there is none of")
			}
		}
	})
}

// Control: it is about what is not asked of Redis.
func TestBadInputToTheRedisResource_IsRefusedBeforeAnyCommand(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		nobody := NewRedis(nil)
		for _, err := range []error{
			nobody.Create(ctx, stock, "1"), write(nobody, 1, 1), second(nobody.Read(ctx, 1, stock)), second(nobody.Claim(ctx, stock)),
		} {
			require.ErrorContains(t, err, "client is nil", "there is no client, and the error does not name that")
		}
		r := NewRedis(lab.client("alice").nodes[0])
		require.ErrorContains(t, write(r, maxRedisToken+1, 1), "9007199254740993",
			"Lua counts in float64: above 2^53 it cannot tell a token from the next one")
		require.Zero(t, lab.sent(), "alice made a mistake, but it was sent to Redis")
	})
}

// Control: what is there stays there.
func TestCreate_DoesNotEmptyAResourceThatIsThere(t *testing.T) {
	onEachResource(t, func(t *T, lab *lab, at func(string) Resource) {
		require.NoError(t, write(at("alice"), 33, 99))
		require.NoError(t, at("bob").Create(ctx, stock, "100"))
		require.Equal(t, 99, read(t, at("alice"), 33), "bob's service started, and created the stock anew over alice's sale")
	})
}

// Control: a lost connection is not a stale token.
func TestRedisIsDown_TheErrorIsNotAStaleToken(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		r := NewRedis(lab.client("alice").nodes[0])
		require.NoError(t, r.Create(ctx, stock, "100"))
		lab.stop(0)
		for _, err := range []error{write(r, 33, 99), second(r.Read(ctx, 33, stock)), second(r.Claim(ctx, stock))} {
			require.Error(t, err, "Redis is down, and alice is told that all is well")
			require.NotErrorIs(t, err, ErrStaleToken, "Redis is down, and alice is told that somebody else works there")
			require.NotErrorIs(t, err, ErrUnknownResource, "Redis is down, and alice is told that the resource is not there")
		}
	})
}

// second returns the error of a call with two results.
func second[T any](_ T, err error) error { return err }
