package redislock

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Which votes count, and what they decide.

func TestTheContextEndsBeforeTheVotes_NobodyHasRefused(t *testing.T) {
	each(t, func(t *testing.T) {
		for name, fail := range map[string]func(lab *lab){
			"all nodes grant it later": func(lab *lab) {
				for node := range nodes {
					lab.slow(node, 20*time.Millisecond, "alice")
				}
			},
			"two grant it, one does not, two hang": func(lab *lab) {
				bob := lab.lockOn("bob", lab.client("bob").nodes[:1], key, ttl)
				bob.TryLock(ctx)
				lab.hang(3)
				lab.hang(4)
			},
		} {
			inLab(t, func(t *T, lab *lab) {
				alice := lab.lock("alice")
				fail(lab)
				request, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
				defer cancel()
				err := alice.TryLock(request)
				require.ErrorIs(t, err, context.DeadlineExceeded,
					"%s: alice's context ended, but the error does not say so", name)
				require.NotErrorIs(t, err, ErrNotAcquired, "%s: the error says that the lock is taken", name)
			})
		}
	})
}

func TestTheHoldIsOnAMinority_NodesThatNeverHadItDoNotHelp(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice, bob := lab.lock("alice"), lab.lockOn("bob", lab.client("bob").nodes[3:], key, ttl)
			require.NoError(t, bob.TryLock(ctx), "nodes 4 and 5 are free, but bob was refused")
			require.NoError(t, alice.TryLock(ctx), "nodes 1 to 3 are free, but alice was refused")
			lab.server(0).FlushAll()
			lab.note("an operator deletes the key of node 1")
			require.ErrorIs(t, alice.Unlock(ctx), ErrNotHeld,
				"alice held nodes 2 and 3 of five, but her Unlock returned nil: nodes without her key counted")
		})
	})
}

func TestTwoNodesFailAndTwoHaveLostTheHold_TheLastVoteDecides(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			require.NoError(t, alice.TryLock(ctx))
			lab.wait()
			lab.endLease()
			lab.answerErrors(0)
			lab.answerErrors(1)
			lab.slow(4, 30*time.Millisecond, "alice")
			require.ErrorIs(t, alice.Unlock(ctx), ErrNotHeld,
				"three of five nodes said that alice's hold is gone, one of them late, but Unlock did not wait for it")
		})
	})
}

func TestTheNodesAreAwayForAMoment_LockGoesOn(t *testing.T) {
	each(t, func(t *testing.T) {
		for what, fault := range map[string]*hook{
			"accepted connections and closed them": {lose: func(*message) bool { return true }},
			"replied LOADING":                      {reply: errors.New("LOADING soon over")},
			"replied BUSY":                         {reply: errors.New("BUSY running a script")},
			"replied READONLY in a script":         {reply: errors.New(inScript + demoted)},
		} {
			inLab(t, func(t *T, lab *lab) {
				alice := lab.lock("alice")
				fault.match, fault.again = isWrite, true
				lab.inject("alice", fault)
				time.AfterFunc(150*time.Millisecond, func() { lab.removeHooks("alice") })
				require.NoError(t, alice.Lock(ctx), "the nodes %s for 150ms, but alice's Lock gave up", what)
				require.NoError(t, alice.Unlock(ctx), "alice holds the lock, but Unlock failed")
			})
		}
	})
}
