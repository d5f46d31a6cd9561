package redislock

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// What happens when many locks are held on one client: renewals share its connections with
// each other and with all other commands. One command takes 60 ms, and one connection carries 16
// a second, of which the renewals of 30 locks need 9.

func TestManyHoldersOnOneClient_TwoSlowSecondsCostNoLock(t *testing.T) {
	each(t, func(t *testing.T) {
		needsVirtualTime(t, "on a busy machine, it is the client that is slow")
		manyHolders(t, 30, func(lab *lab, holds []*handle) {
			goOn := everyNode(lab.hang)
			time.Sleep(2 * time.Second)
			goOn()
			for range 15 {
				time.Sleep(time.Second)
				for i, h := range holds {
					select {
					case <-h.Lost():
						require.Failf(lab.t, "a lock is lost",
							"Redis was slow for 2s and has recovered, but alice lost lock %d of %d", i+1, len(holds))
					default:
					}
				}
			}
		})
	})
}

func TestManyHoldersOnOneClient_TheQueueOfRenewalsEndsWithItsCause(t *testing.T) {
	each(t, func(t *testing.T) {
		needsVirtualTime(t, "on a busy machine, it is the client that is slow")
		manyHolders(t, 10, func(lab *lab, holds []*handle) {
			goOn := everyNode(lab.hang)
			time.Sleep(4 * time.Second)
			waiting := 0
			for range 10 {
				time.Sleep(100 * time.Millisecond)
				waiting += attempts(lab)
			}
			require.LessOrEqual(lab.t, waiting/10, len(holds),
				"Redis has hung for 5s, and %d attempts to renew %d locks wait", waiting/10, len(holds))
			goOn()
			time.Sleep(2 * ttl)
			require.Less(lab.t, attempts(lab), len(holds),
				"Redis was slow for 5s and recovered 20s ago, but alice's renewals still queue for a connection")
			other := aliceLocks(lab, "other")
			start := time.Now()
			require.NoError(lab.t, other.TryLock(ctx), "Redis recovered 20s ago, but alice cannot acquire another lock")
			took := time.Since(start)
			require.Less(lab.t, took, time.Second, "Redis recovered 20s ago, but alice's next TryLock took %v", took)
		})
	})
}

func TestOthersFillThePool_TheLockIsKept(t *testing.T) {
	each(t, func(t *testing.T) {
		needsVirtualTime(t, "on a busy machine, it is the client that is slow")
		manyHolders(t, 1, func(lab *lab, holds []*handle) {
			var over atomic.Bool
			var others sync.WaitGroup
			for range 10 { // the last one waits for 540 ms, longer than until a renewal's next attempt
				others.Go(func() {
					for !over.Load() {
						everyNode(func(node int) func() {
							lab.client("alice").nodes[node].Get(ctx, key+"-stock")
							return func() {}
						})
					}
				})
			}
			time.Sleep(3 * ttl)
			over.Store(true)
			others.Wait()
			select {
			case <-holds[0].Lost():
				require.Fail(lab.t, "a lock is lost",
					"others use alice's connections as well, and her renewals do not wait until one is free")
			default:
			}
		})
	})
}

func TestTheOnlyConnectionHangs_TheLossSaysThat(t *testing.T) {
	each(t, func(t *testing.T) {
		needsVirtualTime(t, "go-redis waits 5s for a reply, longer than the ttl there")
		manyHolders(t, 1, func(lab *lab, holds []*handle) {
			goOn := everyNode(lab.hang)
			time.Sleep(ttl - 100*time.Millisecond)
			select {
			case <-holds[0].Lost():
			default:
				require.Fail(lab.t, "not notified of a loss",
					"Redis hangs and alice's key is about to expire, but her Lost is not closed")
			}
			err := holds[0].Unlock(ctx)
			require.ErrorIs(lab.t, err, ErrLost, "Redis hung for a ttl, but alice's Unlock does not match ErrLost")
			require.NotContains(lab.t, err.Error(), "canceled",
				"Redis hung, but alice's Unlock names an attempt that gave up waiting for a connection")
			goOn()
			require.NoError(lab.t, holds[0].TryLock(ctx), "Redis works again, but alice cannot acquire the lock")
		})
	})
}

func TestAllConnectionsDieSilently_ManyHoldersLoseNoLock(t *testing.T) {
	each(t, func(t *testing.T) {
		needsVirtualTime(t, "on a busy machine, it is the client that is slow")
		manyHolders(t, 30, func(lab *lab, holds []*handle) {
			time.Sleep(ttl)
			dead := map[*wire]bool{}
			for _, w := range lab.client("alice").wires {
				dead[w] = true
			}
			for node := range nodes {
				lab.server(node).intercept(func(m *message) bool { return dead[m.wire] })
			}
			lab.fault("all of alice's connections are dead, and new ones work")
			time.Sleep(2 * ttl)
		})
	})
}

func TestLimit_OneConnectionMoreHasDied_TheLockIsLost(t *testing.T) {
	each(t, func(t *testing.T) {
		needsVirtualTime(t, "renewals follow each other, and each waits for seconds")
		for _, story := range deadConnections {
			require.False(t, story.play(t, story.survived+1),
				"%+v: one more had died, but the lock was kept: the limit is gone", story)
		}
	})
}

// manyHolders plays a story in which alice holds n locks on one client, and then releases
// them.
func manyHolders(t *testing.T, n int, story func(lab *lab, holds []*handle)) {
	// go-redis keeps the timers of those who wait for a connection, and one from an earlier
	// bubble must not be used in this one. A sync.Pool forgets in two collections.
	runtime.GC()
	runtime.GC()
	inLab(t, func(t *T, lab *lab) {
		lab.trace.untold = true
		lab.client("alice", func(opt *redis.Options) { opt.PoolSize = 1 })
		lab.far("alice", 60*time.Millisecond)
		var holds []*handle
		for i := range n {
			h := aliceLocks(lab, i)
			require.NoError(t, h.TryLock(ctx))
			holds = append(holds, h)
		}
		story(lab, holds)
		for _, h := range holds {
			require.NoError(t, h.Unlock(ctx))
		}
	})
}

// aliceLocks returns a handle on another of her locks.
func aliceLocks(lab *lab, which any) *handle {
	h := lab.lockOn("alice", lab.client("alice").nodes, fmt.Sprintf("%s-%v", key, which), ttl)
	h.set("NodeTimeout", time.Second) // a node that takes 60 ms has not failed
	return h
}

// attempts counts the renewals in progress.
func attempts(lab *lab) int {
	lab.wait()
	stacks := make([]byte, 1<<24)
	return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), ".(*Lock).renew(")
}
