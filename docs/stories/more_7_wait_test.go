package redislock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What services add to the lock: a limit for the wait and another one for the work, figures, and
// an answer in time (http.TimeoutHandler). production.md says when to copy it.

// Metrics go to Prometheus or OpenTelemetry. Labels: the lock and, for a count, the result.
type metrics interface {
	count(name, lock, result string)
	seconds(name, lock string, d time.Duration)
}

// doWithin is Do with a limit for the wait, that of the work being ctx. It counts and times.
func doWithin(
	ctx context.Context, l *Lock, wait time.Duration, m metrics, name string,
	work func(context.Context) error,
) error {
	start := time.Now()
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	err := l.Lock(waiting)
	m.seconds("redis_lock_wait_seconds", name, time.Since(start))
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrNotRun, err)
	} else {
		defer func() { _ = l.Unlock(ctx) }() // Do reports a loss
		start = time.Now()
		err = l.Do(ctx, work) // nested: one more pair of commands
		m.seconds("redis_lock_held_seconds", name, time.Since(start))
	}
	m.count("redis_lock_total", name, outcome(err))
	return err
}

// outcome says what came of a Do.
func outcome(err error) string {
	switch {
	case err == nil:
		return "done"
	case errors.Is(err, ErrNotRun) && errors.Is(err, ErrNotAcquired):
		return "taken"
	case errors.Is(err, ErrNotRun) && errors.Is(err, context.Canceled):
		return "cancelled" // the caller gave up
	case errors.Is(err, ErrNotRun):
		return "trouble" // with Redis, its rights or the network
	case errors.Is(err, ErrLost):
		return "lost"
	}
	return "failed" // the work did
}

// A report has the last figures.
type report struct {
	results []string
	times   map[string]time.Duration
}

func (r *report) count(name, lock, result string) {
	r.results = append(r.results, name+" "+lock+" "+result)
}
func (r *report) seconds(name, _ string, d time.Duration) { r.times[name] = d }

func TestTheWaitHasItsOwnLimit_TheWorkTakesLonger(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice, bob := lab.lock("alice"), lab.lock("bob")
			wait, said := ttl/5, &report{times: map[string]time.Duration{}}
			works := func(ctx context.Context) error {
				select {
				case <-ctx.Done():
					return context.Cause(ctx)
				case <-time.After(2 * ttl):
					return nil
				}
			}
			require.NoError(t, bob.TryLock(ctx))
			start := time.Now()
			err := doWithin(ctx, alice.lockOf, wait, said, "job", works)
			took := time.Since(start)
			require.ErrorIs(t, err, ErrNotRun, "bob holds the lock, but alice's work may have run")
			require.ErrorIs(t, err, ErrNotAcquired, "bob holds the lock, but alice's error does not say so")
			require.Less(t, took, wait+slack(100*time.Millisecond),
				"alice waits for at most %v, but she waited for %v", wait, took)
			require.GreaterOrEqual(t, said.times["redis_lock_wait_seconds"], wait, "alice waited longer than her figures say")
			require.NoError(t, bob.Unlock(ctx))

			start = time.Now()
			require.NoError(t, doWithin(ctx, alice.lockOf, wait, said, "job", works), "the limit of alice's wait ended her work")
			require.GreaterOrEqual(t, time.Since(start), 2*ttl, "alice's work was not done")
			require.GreaterOrEqual(t, said.times["redis_lock_held_seconds"], 2*ttl, "alice held the lock longer than her figures say")
			require.Less(t, said.times["redis_lock_wait_seconds"], wait, "alice did not wait, but her figures say that she did")
			require.Error(t, doWithin(ctx, alice.lockOf, wait, said, "job", func(context.Context) error { return fs.ErrExist }))
			cancelled, cancel := context.WithCancel(ctx)
			cancel()
			require.ErrorIs(t, doWithin(cancelled, alice.lockOf, wait, said, "job", works), ErrNotRun)
			require.Empty(t, lab.keys(), "alice has left, but something was left behind in Redis")
			everyNode(lab.hang)
			require.ErrorIs(t, doWithin(ctx, alice.lockOf, wait, said, "job", works), ErrNotRun)
			require.Equal(t, []string{"redis_lock_total job taken", "redis_lock_total job done", "redis_lock_total job failed",
				"redis_lock_total job cancelled", "redis_lock_total job trouble"}, said.results, "what came of alice's calls is not counted")
		})
	})
}

func TestTheWaitHasItsOwnLimit_TheWorkIsNotifiedOfALoss(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice, bob := lab.lock("alice"), lab.lock("bob")
			said := &report{times: map[string]time.Duration{}}
			err := doWithin(ctx, alice.lockOf, ttl, said, "job", func(work context.Context) error {
				lab.endLease()
				require.NoError(t, bob.TryLock(ctx))
				select {
				case <-work.Done():
				case <-time.After(ttl):
				}
				require.ErrorIs(t, context.Cause(work), ErrLost,
					"bob is inside, but the context of alice's work has not ended")
				return nil
			})
			require.ErrorIs(t, err, ErrLost, "alice lost the lock during her work, but the result does not say so")
			require.Equal(t, []string{"redis_lock_total job lost"}, said.results, "alice lost the lock, but no alert says so")
			require.NoError(t, bob.Unlock(ctx), "alice's Unlock released bob's lock")
		})
	})
}

func TestRedisHangs_AHandlerAnswersAtItsDeadline(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			ask := func(work error) (code int, took time.Duration) {
				w, start := httptest.NewRecorder(), time.Now()
				http.TimeoutHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if err := alice.Do(r.Context(), func(context.Context) error { return work }); err != nil {
						http.Error(w, "the work failed", http.StatusInternalServerError)
					}
				}), time.Second, "").ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/ready", nil))
				return w.Code, time.Since(start)
			}
			code, _ := ask(fs.ErrExist)
			require.Equal(t, http.StatusInternalServerError, code, "alice's work failed, but her handler did not say so")
			code, _ = ask(nil)
			require.Equal(t, http.StatusOK, code, "Redis answers, but alice's handler does not")
			everyNode(lab.hang)
			code, took := ask(nil)
			require.Equal(t, http.StatusServiceUnavailable, code, "Redis hung, but alice's handler did not say so")
			require.Less(t, took, time.Second+slack(100*time.Millisecond),
				"alice's handler has a deadline of 1s, but it answered after %v", took)
		})
	})
}

func TestDo_ADoInsideDidNotRun_TheOuterOneDid(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			order, stock, bob := lab.lock("alice"), lab.lockOn("alice", lab.client("alice").nodes, "stock", ttl),
				lab.lockOn("bob", lab.client("bob").nodes, "stock", ttl)
			require.NoError(t, bob.TryLock(ctx))
			soon, cancel := context.WithTimeout(ctx, slack(ttl/100))
			defer cancel()
			err := order.Do(ctx, func(context.Context) error {
				return errors.Join(&fs.PathError{Op: "pack", Err: fs.ErrExist}, stock.Do(soon, func(context.Context) error { return nil }))
			})
			var packed *fs.PathError
			require.ErrorAs(t, err, &packed)
			require.False(t, errors.As(err, new(*net.AddrError)))
			require.NotErrorIs(t, err, ErrNotHeld)
			require.ErrorIs(t, err, ErrNotAcquired, "bob has the stock, but the error of alice's order does not say so")
			require.NotErrorIs(t, err, ErrNotRun,
				"alice's order has run as far as the stock, but the error says that it has not: she would do it twice")
		})
	})
}

func TestDo_TheWorkHasUnlocked_TheErrorSaysThatTheLockWasLost(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice, bob := lab.lock("alice"), lab.lock("bob")
			err := alice.Do(ctx, func(context.Context) error {
				return errors.Join(alice.Unlock(ctx), bob.TryLock(ctx), bob.Unlock(ctx), alice.TryLock(ctx))
			})
			require.ErrorIs(t, err, ErrLost, "alice's work unlocked, bob was inside, and she locked again, but Do hid it")
			err = alice.Do(ctx, func(context.Context) error { return errors.Join(alice.Unlock(ctx), bob.TryLock(ctx)) })
			require.ErrorIs(t, err, ErrLost, "alice's work unlocked too early and bob got in, but Do hid it")
			require.ErrorIs(t, err, ErrNotHeld, "alice's work unlocked too early, but Do's error does not say so")
		})
	})
}
