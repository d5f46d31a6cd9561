//go:build unix

package realfaults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/keep/locks"
)

// A service sells under locks, and has a job that several of its machines start each
// second. It counts outcomes as docs/read/production.md says.
type service struct {
	step int
	ttl  time.Duration

	stock  [4]atomic.Int64 // of each of its goods, read and written under its lock
	inside [5]atomic.Int64 // works under each lock; the last one is the job's
	worked atomic.Int64    // sales that were made

	mu       sync.Mutex
	phase    string
	outcomes map[string]map[string]int
	errs     map[string]error // the last one of each outcome in each phase
}

func (s *service) count(outcome string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outcomes[s.phase][outcome]++
	s.errs[s.phase+outcome] = err
}

// begin begins a phase, and returns what came of the one before.
func (s *service) begin(phase string) (before string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before = fmt.Sprintf("%-12s %v", s.phase, s.outcomes[s.phase])
	s.phase, s.outcomes[phase] = phase, map[string]int{}
	return before
}

// sell is a request: it waits for the lock at most three seconds, and answers 200, 409 or 503.
func (s *service) sell(rdbs []redis.UniversalClient, good int) {
	l := newLock(fmt.Sprintf("goods:%d", good), s.step, rdbs, s.ttl)
	waiting, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	if s.refused(l.Lock(waiting)) {
		return
	}
	s.work(l, good, func() {
		left := s.stock[good].Load()
		time.Sleep(time.Millisecond + rand.N(2*time.Millisecond))
		s.stock[good].Store(left - 1)
		s.worked.Add(1)
	})
}

// tick is a long job of one machine: the others give up, at once or after a second.
func (s *service) tick(rdbs []redis.UniversalClient) {
	l := newLock("tick", s.step, rdbs, s.ttl)
	waiting, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	acquire := []func(context.Context) error{l.TryLock, l.Lock}[rand.N(2)]
	if !s.refused(acquire(waiting)) {
		s.work(l, len(s.stock), func() { time.Sleep(1500 * time.Millisecond) })
	}
}

func (s *service) refused(err error) bool {
	switch {
	case err == nil:
		return false
	case locks.Refused(err):
		s.count("taken", err)
	default:
		s.count("trouble", err)
	}
	return true
}

// work works under the lock, and releases it.
func (s *service) work(l locks.Lock, inside int, do func()) {
	if s.inside[inside].Add(1) > 1 {
		s.count("two inside", nil)
	}
	do()
	s.inside[inside].Add(-1)
	switch err := l.Unlock(ctx); {
	case err == nil:
		s.count("done", nil)
	case locks.NotHeld(err):
		s.count("lock was lost", err)
	default:
		s.count("not released", err)
	}
}

// run lets three machines sell and tick until ctx ends.
func (s *service) run(ctx context.Context, machines [][]redis.UniversalClient) {
	var all sync.WaitGroup
	for _, rdbs := range machines {
		for range 7 {
			all.Go(func() {
				for ctx.Err() == nil {
					s.sell(rdbs, rand.N(len(s.stock)))
					time.Sleep(rand.N(5 * time.Millisecond))
				}
			})
		}
		all.Go(func() {
			for ctx.Err() == nil {
				s.tick(rdbs)
				time.Sleep(time.Second)
			}
		})
	}
	all.Wait()
}

// A service under load, whose Redis (one of five, of step 08) hangs, continues, dies, and
// comes back empty.
func TestAServiceUnderLoad_RedisHangsDiesAndComesBack(t *testing.T) {
	eachStep(t, []int{5, 7, 8}, func(t *testing.T, step int) {
		const goods = 1_000_000
		sc := newScene(t, nodesOf(step), 3*time.Second)
		options := redis.Options{} // step 08 leaves them
		if step < 8 {
			options = redis.Options{
				DialTimeout: time.Second, DialerRetries: 1, ReadTimeout: time.Second,
				ContextTimeoutEnabled: true, ConnMaxIdleTime: 30 * time.Second,
			}
		}
		var machines [][]redis.UniversalClient
		for range 3 {
			machines = append(machines, connect(t, sc.addrs(), options))
		}
		s := &service{step: step, ttl: sc.ttl, outcomes: map[string]map[string]int{}, errs: map[string]error{}}
		for i := range s.stock {
			s.stock[i].Store(goods)
		}
		loaded, stop := context.WithCancel(ctx)
		s.begin("cold") // connections are made: on a busy machine an attempt takes half a second
		var done sync.WaitGroup
		done.Go(func() { s.run(loaded, machines) })
		t.Cleanup(func() { stop(); done.Wait() })
		redisProcess := sc.servers[0]
		phase := func(name string, takes time.Duration) {
			time.Sleep(takes)
			sc.note("%s", s.begin(name))
		}
		phase("normal", 3*time.Second)
		phase("it hangs", 2*time.Second)
		require.NoError(t, redisProcess.Signal(syscall.SIGSTOP))
		phase("it continues", 2500*time.Millisecond)
		require.NoError(t, redisProcess.Signal(syscall.SIGCONT))
		phase("it is dead", 5*time.Second)
		redisProcess.Kill()
		phase("back, empty", 2*time.Second)
		require.NoError(t, redisProcess.Start())
		phase("quiet again", 5*time.Second)
		phase("end", 2*time.Second)
		stop()
		done.Wait()

		left := int64(0)
		for i := range s.stock {
			left += s.stock[i].Load()
		}
		require.EqualValues(t, len(s.stock)*goods-int(left), s.worked.Load(), "sales were lost: two sold at once")
		for _, phase := range []string{"normal", "quiet again"} {
			for _, bad := range []string{"trouble", "lock was lost", "not released", "two inside"} {
				require.Zero(t, s.outcomes[phase][bad], "%s: %s, although Redis is well: %v; the last: %v", phase, bad, s.outcomes[phase], s.errs[phase+bad])
			}
			require.Positive(t, s.outcomes[phase]["done"], "%s: nothing is sold", phase)
		}
		for phase, outcomes := range s.outcomes {
			require.Zero(t, outcomes["two inside"], phase)
			if step == 8 && phase != "end" {
				require.Positive(t, outcomes["done"], "%s: one of five nodes stops the service", phase)
			}
		}
	})
}
