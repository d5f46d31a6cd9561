package redislock

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// For many locks a second: docs/read/client.md shows this hook.

// EvalSHA is a hook that sends the hash of a script instead of the script, which it sends
// only to a Redis that does not know it.
type EvalSHA struct{}

func (EvalSHA) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		args := cmd.Args()
		if args[0] != "eval" {
			return next(ctx, cmd)
		}
		script := args[1].(string)
		args[0], args[1] = "evalsha", redis.NewScript(script).Hash()
		err := next(ctx, cmd)
		if redis.HasErrorPrefix(err, "NOSCRIPT") { // it has not run; from EVAL on, Redis knows it
			args[0], args[1] = "eval", script
			err = next(ctx, cmd)
		}
		return err
	}
}

func (EvalSHA) DialHook(next redis.DialHook) redis.DialHook { return next }

func (EvalSHA) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// A counter is a hook that counts the scripts that are sent in full.
type counter struct {
	EvalSHA
	scripts atomic.Int64
}

func (c *counter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Args()[0] == "eval" {
			c.scripts.Add(1)
		}
		return next(ctx, cmd)
	}
}

func TestAHookSendsTheHashOfAScript_TheLockWorks(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			join := func(name string) (*handle, *counter) {
				counter := &counter{}
				for _, rdb := range lab.client(name).nodes {
					rdb.AddHook(EvalSHA{})
					rdb.AddHook(counter) // sees what the first one sends
				}
				return lab.lock(name), counter
			}
			alice, sent := join("alice")
			bob, _ := join("bob")
			forget := func() {
				for _, rdb := range lab.client("bob").nodes {
					require.NoError(t, rdb.ScriptFlush(ctx).Err())
				}
				lab.fault("Redis has lost its scripts, as after a failover")
			}
			forget()
			require.NoError(t, alice.TryLock(ctx), "Redis does not know the script, and alice was refused")
			forget()
			time.Sleep(ttl / 2) // a renewal, if the lock has them
			requireRefused(t, bob, "alice is inside, but bob is inside with her")
			forget()
			require.NoError(t, alice.Unlock(ctx), "Redis does not know the script, and alice cannot unlock")

			require.NoError(t, bob.TryLock(ctx), "alice has left, but bob was refused")
			require.NoError(t, bob.Unlock(ctx), "bob holds the lock, but Unlock failed")
			lab.wait() // a majority is enough for bob: the last nodes may not have heard from him yet
			before := sent.scripts.Load()
			require.NoError(t, alice.TryLock(ctx), "bob has left, but alice was refused")
			require.NoError(t, alice.Unlock(ctx), "alice holds the lock, but Unlock failed")
			require.Equal(t, before, sent.scripts.Load(), "Redis knows the scripts, but alice's client sends them in full")
			require.Empty(t, lab.keys(), "all have left, but something was left behind in Redis")
		})
	})
}
