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

// The resource's stories: what a late holder can still do there. All begin with step 08's
// last bug: the lease expired and the next owner entered, but the first one does not
// know.

// stock is the name of the resource that the lock protects: how many coupons are left.
const stock = "stock"

// A place returns a resource as the client of that name reaches it. There are 100 coupons.
type place func(name string) Resource

func inMemory(t *T, lab *lab) place {
	memory := NewMemory()
	require.NoError(t, memory.Create(ctx, stock, "100"))
	return func(name string) Resource { return logged{memory, lab, name} }
}

func inRedis(t *T, lab *lab) place {
	at := func(name string) Resource { return NewRedis(lab.client(name).nodes[0]) }
	require.NoError(t, at("owner").Create(ctx, stock, "100"))
	return at
}

// onEachResource plays the story on each kind of resource. The lock has counted to 32.
func onEachResource(t *testing.T, story func(t *T, lab *lab, at place)) {
	on := func(kind string, open func(t *T, lab *lab) place) {
		t.Run(kind, func(t *testing.T) {
			inLab(t, func(t *T, lab *lab) {
				at := open(t, lab)
				lab.countTo(32)
				story(t, lab, at)
			})
		})
	}
	on("memory", inMemory)
	on("redis", inRedis)
}

// countTo sets the lock's counter, as if the lock had been acquired n times.
func (l *lab) countTo(n int) {
	l.server(0).Set(fenceKey(key), strconv.Itoa(n))
}

// pause is a garbage collection, a page fault, SIGSTOP.
func (l *lab) pause(name string) {
	l.tell(name, "is paused")
	time.Sleep(2 * ttl)
}

// A use is what a client does to the resource: a picture shows it.
type use struct {
	Of, Value      string
	Token          int64
	Write, Refused bool
}

func (r logged) used(does, result string, err error, u use) {
	u.Refused = err != nil
	text := fmt.Sprintf("%s with token %d -> %s", does, u.Token, outcome(result, err))
	r.lab.trace.add(record{Kind: "note", Who: r.who, Text: text, Use: u})
}

// tell adds a row about something a client does that is not a command.
func (l *lab) tell(who, format string, args ...any) {
	l.trace.add(record{Kind: "note", Who: who, Text: fmt.Sprintf(format, args...)})
}

// logged adds what is done to a resource in memory to the timeline.
type logged struct {
	Resource
	lab *lab
	who string
}

func (r logged) Read(ctx context.Context, token int64, name string) (string, error) {
	value, err := r.Resource.Read(ctx, token, name)
	r.used("reads "+name, value, err, use{Of: name, Value: value, Token: token})
	return value, err
}

func (r logged) Write(ctx context.Context, token int64, name, value string) error {
	err := r.Resource.Write(ctx, token, name, value)
	r.used("writes "+name+" = "+value, "OK", err, use{Of: name, Value: value, Token: token, Write: true})
	return err
}

func (r logged) Claim(ctx context.Context, name string) (int64, error) {
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

// tryRead returns how many coupons are left.
func tryRead(r Resource, token int64) (int, error) {
	value, err := r.Read(ctx, token, stock)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(value)
}

func read(t *T, r Resource, token int64) int {
	t.Helper()
	n, err := tryRead(r, token)
	require.NoError(t, err, "the current holder cannot read the stock")
	return n
}

func write(r Resource, token int64, n int) error {
	return r.Write(ctx, token, stock, strconv.Itoa(n))
}

// enter acquires the lock and returns the fencing token.
func enter(t *T, l *handle) (token int64) {
	t.Helper()
	token, err := l.TryLock(ctx)
	require.NoError(t, err)
	return token
}

// aliceReads begins most stories: alice enters and reads how many coupons are left.
func aliceReads(t *T, lab *lab, at place, options ...func(*redis.Options)) (bob *handle, token int64, left int) {
	t.Helper()
	alice := lab.lock("alice", options...)
	token = enter(t, alice)
	return lab.lock("bob"), token, read(t, at("alice"), token)
}

// sell is what the next owner does in all stories: enter, sell one coupon. It returns his token.
func sell(t *T, bob *handle, r Resource) int64 {
	t.Helper()
	token, err := trySell(bob, r)
	require.NoError(t, err, "alice's lease has expired, but bob cannot enter and sell")
	return token
}

// trySell is for other goroutines, in which require must not be called.
func trySell(bob *handle, r Resource) (token int64, err error) {
	if token, err = bob.TryLock(ctx); err != nil {
		return 0, err
	}
	n, err := tryRead(r, token)
	if err != nil {
		return 0, err
	}
	return token, write(r, token, n-1)
}

func TestKleppmannsFigure_TheLateWriteIsRefused(t *testing.T) {
	onEachResource(t, func(t *T, lab *lab, at place) {
		bob, token, left := aliceReads(t, lab, at)
		require.EqualValues(t, 33, token)
		lab.pause("alice")

		bobs := sell(t, bob, at("bob"))
		require.EqualValues(t, 34, bobs)

		err := write(at("alice"), token, left-10) // she sold ten of what she saw 20s ago
		require.ErrorIs(t, err, ErrStaleToken, "alice wrote with 33 after bob had written with 34, but it was accepted: his sale is lost")
		require.ErrorContains(t, err, "33 is lower than 34", "alice's write was rejected, but the error does not name both numbers")
		require.Equal(t, 99, read(t, at("bob"), bobs), "alice's write was rejected, but the stock changed anyway")
	})
}

func TestTheLeaseIsCheckedJustBeforeTheWrite_ThePauseComesBetween(t *testing.T) {
	onEachResource(t, func(t *T, lab *lab, at place) {
		bob, token, left := aliceReads(t, lab, at)

		lease, err := lab.client("alice").nodes[0].PTTL(ctx, key).Result()
		require.NoError(t, err)
		if lease < ttl/2 { // she is careful
			require.Fail(t, "alice's lease is new, but she thinks that it has expired")
		}
		lab.pause("alice")
		sell(t, bob, at("bob"))

		require.ErrorIs(t, write(at("alice"), token, left-10), ErrStaleToken,
			"alice checked that her lease was valid, was paused and wrote late, but her write was accepted")
	})
}

func TestTheLeaseEndsWhileAWriteIsInFlight_ItIsRefusedWhenItArrives(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		at := inRedis(t, lab)
		patient := func(opt *redis.Options) { opt.ReadTimeout = time.Hour }
		bob, token, left := aliceReads(t, lab, at, patient)

		var bobs int64
		var bobErr error
		lab.beforeNth("alice", 1, func() {
			// Alice is not paused: she has sent it in time, but the network delays it.
			lab.note("alice's write is in flight")
			time.Sleep(2 * ttl)
			bobs, bobErr = trySell(bob, at("bob"))
			lab.note("alice's write arrives")
		})
		err := write(at("alice"), token, left-10)
		require.NoError(t, bobErr, "alice's lease has expired, but bob cannot enter and sell")
		require.ErrorIs(t, err, ErrStaleToken, "alice's write was sent within her lease and arrived after bob's, but it was accepted: his sale is lost")
		require.Equal(t, 99, read(t, at("bob"), bobs))
	})
}

func TestTheReplyToTheWriteIsLost_TheResendDoesNotUndoTheNextOwnersWrite(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		at := inRedis(t, lab)
		bob, token, left := aliceReads(t, lab, at)

		var bobs int64
		var bobErr error
		lab.loseReply("alice", func() {
			lab.endLease()
			bobs, bobErr = trySell(bob, at("bob"))
		})
		err := write(at("alice"), token, left-1)
		require.NoError(t, bobErr, "alice's lease has expired, but bob cannot enter and sell")
		require.Equal(t, 98, read(t, at("bob"), bobs), "go-redis resent alice's write after bob's: his sale is lost")
		require.ErrorIs(t, err, ErrStaleToken, "the resend was rejected, but alice did not get ErrStaleToken")
	})
}

func TestTheNextOwnerHasReadAndNotYetWritten_TheLateWriteIsRefused(t *testing.T) {
	onEachResource(t, func(t *T, lab *lab, at place) {
		bob, token, left := aliceReads(t, lab, at)
		lab.pause("alice")

		bobs := enter(t, bob)
		bobSaw := read(t, at("bob"), bobs)
		// Bob has not written: if a read did not count, 33 would still be the highest.
		aliceErr := write(at("alice"), token, left-10)
		require.NoError(t, write(at("bob"), bobs, bobSaw-1))
		require.ErrorIs(t, aliceErr, ErrStaleToken,
			"alice wrote between bob's read and his write and her write was accepted, but then he overwrote it: her sale is lost")
	})
}

func TestTheLateHolderReads_IsToldThatItIsLate(t *testing.T) {
	onEachResource(t, func(t *T, lab *lab, at place) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		token := enter(t, alice)
		lab.pause("alice")
		bobs := sell(t, bob, at("bob"))

		require.ErrorIs(t, second(at("alice").Read(ctx, token, stock)), ErrStaleToken, "alice read with 33 after bob had written with 34, but she got the stock as if it were hers")
		require.NoError(t, write(at("bob"), bobs, 50), "alice read late, but that took the stock away from bob")
	})
}

// Also passes on resources without the check, because no write must be rejected.
func TestTheHolderWritesAgainWithItsToken_IsAccepted(t *testing.T) {
	onEachResource(t, func(t *T, lab *lab, at place) {
		token := enter(t, lab.lock("alice"))
		for n := 99; n > 90; n-- {
			require.NoError(t, write(at("alice"), token, n), "alice holds the lock and wrote with her token before, but her write was rejected: an equal token is the same holder")
			require.Equal(t, n, read(t, at("alice"), token))
		}
	})
}

// Also passes on resources without the check, because no other client came, so no write
// must be rejected.
func TestTheLeaseEndsAndNobodyElseComes_TheLateWriteIsAccepted(t *testing.T) {
	onEachResource(t, func(t *T, lab *lab, at place) {
		token := enter(t, lab.lock("alice"))
		left := read(t, at("alice"), token)
		lab.pause("alice")
		require.NoError(t, write(at("alice"), token, left-1), "alice is late and no one else wrote, but her write was rejected: fencing is about order, not about time")
	})
}

// Also passes on resources without the check, because no write must be rejected: another
// name is another resource.
func TestAHigherTokenElsewhere_DoesNotFenceThisName(t *testing.T) {
	onEachResource(t, func(t *T, lab *lab, at place) {
		require.NoError(t, at("owner").Create(ctx, "prizes", "3"))
		require.NoError(t, at("bob").Write(ctx, 1000, "prizes", "2"))
		require.NoError(t, write(at("alice"), 33, 99), "bob wrote the prizes with 1000, but that keeps alice from writing the stock with 33")
	})
}

func TestSixteenWritersWithRandomTokens_TheResourceNeverGoesBackwards(t *testing.T) {
	const writers, tokens = 16, 800
	onEachResource(t, func(t *T, lab *lab, at place) {
		lab.trace.untold = true
		order := rand.Perm(tokens)
		// No writer's last write has the highest token: it must survive later ones.
		for i, n := range order {
			if n == tokens-1 && i >= tokens-writers {
				order[0], order[i] = order[i], order[0]
			}
		}
		var servers []Resource // made one after another
		for w := range writers {
			servers = append(servers, at(fmt.Sprintf("server-%d", w)))
		}
		var together errgroup.Group
		for w, r := range servers {
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
		value, err := servers[0].Read(ctx, tokens, stock)
		require.NoError(t, err)
		require.Equal(t, strconv.Itoa(tokens), value, "a write with a lower token came last and was accepted: the resource went backwards")
	})
}

// antirez's answer: not a number, but the random token that the lock has anyway.

func TestRandomToken_TheValueIsMarkedBeforeItIsRead_TheLateWriteIsRefused(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := visit(lab)
		alices := random(t, alice)
		alice.Mark(alices)
		require.Equal(t, "100", alice.Read())
		lab.pause("alice")

		bobs := random(t, bob)
		bob.Mark(bobs)
		require.Equal(t, "100", bob.Read())
		require.NoError(t, bob.Write(bobs, "99"))

		require.ErrorIs(t, alice.Write(alices, "90"), ErrOvertaken, "bob has marked the value and written, but alice overwrote it")
		require.Equal(t, "99", alice.Read())
	})
}

// A visitor has a lock and a marked value, and adds what is done to the value to the timeline.
type visitor struct {
	*handle
	*Marked
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

// visit gives alice and bob the same value, 100.
func visit(lab *lab) (alice, bob visitor) {
	value := NewMarked("100")
	return visitor{lab.lock("alice"), value}, visitor{lab.lock("bob"), value}
}

// random acquires the lock and returns the owner's random token.
func random(t *T, v visitor) string {
	t.Helper()
	enter(t, v.handle)
	return v.lab.owner(0)
}

// Also passes on resources without the check, because the caller reads before it marks:
// no check can notice that.
func TestRandomToken_TheValueIsReadBeforeItIsMarked_TheUpdateIsLost(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := visit(lab)
		alices := random(t, alice)
		require.Equal(t, "100", alice.Read()) // too early
		lab.pause("alice")

		bobs := random(t, bob)
		bob.Mark(bobs)
		require.NoError(t, bob.Write(bobs, "99"))

		alice.Mark(alices)
		require.NoError(t, alice.Write(alices, "90"), "alice marked last, but her write was rejected: a random token has an order")
		require.Equal(t, "90", alice.Read(), "bob's sale is still there: reading before marking no longer does any harm")
	})
}

func TestRandomToken_TheLateHolderMarksLast_ThePresentOneMustGiveWay(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := visit(lab)
		alices := random(t, alice)
		lab.pause("alice")

		bobs := random(t, bob)
		bob.Mark(bobs)
		require.Equal(t, "100", bob.Read())

		alice.Mark(alices) // random tokens have no order, so nothing shows that she is late
		require.Equal(t, "100", alice.Read())
		require.ErrorIs(t, bob.Write(bobs, "99"), ErrOvertaken, "alice has marked and read, but bob's write was accepted: one of the two sales will be lost")
		require.NoError(t, alice.Write(alices, "99"), "alice marked last, but her write was rejected: then no one can write")
	})
}

// The counter is in Redis, and Redis can lose it.

// Also passes on resources without the check, because this is the counter's bug: no
// resource can distinguish two holders with the same number.
func TestTheCounterIsLostInAFailover_TheSameNumberTwice(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		at := inMemory(t, lab)
		lab.countTo(33)
		bob, token, left := aliceReads(t, lab, at)
		lab.failover(0)
		lab.countTo(33) // what the replica has received

		bobs := sell(t, bob, at("bob"))
		require.EqualValues(t, 34, token)
		require.EqualValues(t, 34, bobs, "the replica knew of alice's number: the bug is gone")
		require.NoError(t, write(at("alice"), token, left-10), "alice's 34 was distinguished from bob's 34: the bug is gone")
		require.Equal(t, 90, read(t, at("bob"), bobs), "bob's sale is still there: the bug is gone")
	})
}

func TestTheCounterStartsAgainAtOne_TheResourceRefusesRatherThanGoBack(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		at := inMemory(t, lab)
		lab.countTo(33)
		alice, bob := lab.lock("alice"), lab.lock("bob")
		token := enter(t, alice)
		require.NoError(t, write(at("alice"), token, 99))
		lab.replace(0, "it restarts without its data")

		bobs := enter(t, bob)
		require.EqualValues(t, 1, bobs, "Redis lost everything, but the counter continues: the bug is gone")
		err := second(at("bob").Read(ctx, bobs, stock))
		require.ErrorIs(t, err, ErrStaleToken, "the resource has seen 34, but it let bob in with 1: then alice's 34 stays valid forever")
		require.ErrorContains(t, err, "1 is lower than 34")

		// The way out: an operator sets the counter above what the resource has seen.
		require.NoError(t, bob.Unlock(ctx))
		lab.countTo(34)
		sell(t, bob, at("bob"))
		require.ErrorIs(t, write(at("alice"), token, 90), ErrStaleToken, "the counter was set right, but alice's stale write was accepted")
	})
}

func TestTheResourceKeepsTheCounter_AFailoverOfTheLockGivesNoNumberTwice(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		at := inMemory(t, lab)
		// The holder gets its number from the resource, not from the lock.
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
		require.Greater(t, bobs, token, "the lock forgot alice in the failover, and the resource did too")
		require.NoError(t, write(at("bob"), bobs, read(t, at("bob"), bobs)-1))
		require.ErrorIs(t, write(at("alice"), token, left-10), ErrStaleToken, "bob claimed the stock after alice, but she overwrote his sale")
		require.Equal(t, 99, read(t, at("bob"), bobs))
	})
}

// Also passes on resources without the check, because a claim checks no token.
func TestClaims_CountUpFromTheHighestTokenSeen(t *testing.T) {
	onEachResource(t, func(t *T, lab *lab, at place) {
		for want := int64(1); want < 5; want++ {
			token, err := at("alice").Claim(ctx, stock)
			require.NoError(t, err)
			require.Equal(t, want, token)
		}
		require.NoError(t, write(at("alice"), 40, 99))
		token, err := at("bob").Claim(ctx, stock)
		require.NoError(t, err)
		require.EqualValues(t, 41, token, "the stock has seen 40, but bob's claim is not above it")
	})
}

// A resource that cannot check: a payment cannot be overwritten, and the service knows
// nothing about the lock. It executes requests with the same idempotency key only once.

// chargeLate makes alice charge an order late, after bob has charged the same order.
// keyOf names the request.
func chargeLate(t *T, lab *lab, keyOf func(token int64) string) (total int) {
	alice, bob := lab.lock("alice"), lab.lock("bob")
	token := enter(t, alice)
	lab.pause("alice")
	charges := map[string]int{} // cents by key
	for _, token := range []int64{enter(t, bob), token} {
		lab.note("charge %q", keyOf(token))
		charges[keyOf(token)] = 1999
	}
	for _, cents := range charges {
		total += cents
	}
	return total
}

// Also passes on resources without the check, because the payment service has its own.
func TestAPaymentWithAKeyOfTheOrder_IsMadeOnce(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		total := chargeLate(t, lab, func(int64) string { return "order-4711" })
		require.Equal(t, 1999, total, "alice and bob charged the same order under the same key, but the customer paid twice")
	})
}

// Also passes on resources without the check, because it is about the service: a key for
// each attempt makes each attempt its own payment.
func TestAPaymentWithAKeyOfTheHold_IsMadeTwice(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		total := chargeLate(t, lab, func(token int64) string { return fmt.Sprintf("order-4711-%d", token) })
		require.Equal(t, 2*1999, total, "the keys differ, but the customer paid once: the service does not compare them")
	})
}

// Bad input, an unknown name, no Redis.

// Also passes on resources without the check, because none of these has a token to compare.
func TestWhatIsNoStaleToken_HasAnotherError(t *testing.T) {
	onEachResource(t, func(t *T, lab *lab, at place) {
		r := at("alice")
		sent := lab.sent()
		for _, token := range []int64{0, -1, -34} {
			for _, err := range []error{write(r, token, 1), second(r.Read(ctx, token, stock))} {
				require.ErrorContains(t, err, fmt.Sprintf("%q: token %d is below", stock, token), "alice has no token, but the error does not say so")
				require.NotErrorIs(t, err, ErrStaleToken, "alice made a mistake, but the error says that her token is stale")
			}
		}
		for _, err := range []error{
			r.Create(ctx, "", "1"), r.Write(ctx, 1, "", "1"), second(r.Read(ctx, 1, "")), second(r.Claim(ctx, "")),
		} {
			require.ErrorContains(t, err, "resource name is empty", "alice made a mistake, but the error does not name it")
		}
		require.Equal(t, sent, lab.sent(), "alice made a mistake, but it was sent to Redis")
		require.Equal(t, 100, read(t, r, 1), "alice's write was rejected, but the stock changed anyway")
		for range 2 { // the first time has not made it
			for _, err := range []error{
				r.Write(ctx, 1, "stok", "1"), second(r.Read(ctx, 1, "stok")), second(r.Claim(ctx, "stok")),
			} {
				require.ErrorIs(t, err, ErrUnknownResource, "there is no such resource, but alice did not get ErrUnknownResource")
				require.ErrorContains(t, err, `"stok"`, "the error does not name the missing resource")
			}
		}
		require.NoError(t, write(r, 33, 99))
		require.NoError(t, at("bob").Create(ctx, stock, "100"))
		require.Equal(t, 99, read(t, r, 33), "bob's service started, but it created the stock anew over alice's sale")
	})
}

// Also passes on resources without the check, because none of these has a token to compare.
func TestTheRedisResourceHasNoClientOrNoRedis_TheErrorIsNotAStaleToken(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		r := NewRedis(lab.client("alice").nodes[0])
		calls := func(r Resource) []error {
			return []error{r.Create(ctx, stock, "1"), write(r, 33, 99), second(r.Read(ctx, 33, stock)), second(r.Claim(ctx, stock))}
		}
		for _, err := range calls(NewRedis(nil)) {
			require.ErrorContains(t, err, "client is nil", "there is no client, but the error does not say so")
		}
		require.ErrorContains(t, write(r, maxRedisToken+1, 1), "9007199254740993",
			"Lua counts in float64: above 2^53 it cannot tell a token from the next one")
		require.Zero(t, lab.sent(), "alice made a mistake, but it was sent to Redis")
		lab.stop(0)
		for _, err := range calls(r) {
			require.Error(t, err, "Redis is down, but alice got no error")
			require.NotErrorIs(t, err, ErrStaleToken, "Redis is down, but the error says that alice's token is stale")
			require.NotErrorIs(t, err, ErrUnknownResource, "Redis is down, but the error says that the resource does not exist")
		}
	})
}

// second returns the error from a call with two results.
func second[T any](_ T, err error) error { return err }
