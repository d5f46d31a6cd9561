// Package lockhook shows what the locks of steps 05 to 08 do with a client, without a
// change to the locks: who holds which lock, and which renewals fail before a lock is
// lost. Copy it next to the lock.
//
//	rdb.AddHook(&lockhook.Hook{Log: slog.Default()})
package lockhook

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// Hook is a hook for a go-redis client. It logs the key and the token of each hold, so
// that the token in Redis leads to the process, and each renewal that failed. On step
// 08's nodes it speaks of one node, not of the majority.
type Hook struct {
	Log     *slog.Logger
	Renewed atomic.Int64 // how many renewals Redis has confirmed
	// Failed is how many have failed. One without a reply counts when go-redis gives up:
	// after ttl/10 with ContextTimeoutEnabled, otherwise after ReadTimeout.
	Failed atomic.Int64
}

func (h *Hook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *Hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h *Hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		switch key, token, what := command(cmd.Args()); {
		case what == acquisition && err == nil && confirmed(cmd):
			h.Log.InfoContext(ctx, "lock acquired", "key", key, "token", token)
		case what == renewal && err == nil && confirmed(cmd):
			h.Renewed.Add(1)
		case what == renewal && !errors.Is(err, context.Canceled) && !redis.HasErrorPrefix(err, "NOSCRIPT"):
			// The two that do not count: the hold has ended or an earlier renewal still waits for
			// a connection, and EVAL follows.
			h.Log.WarnContext(ctx, "lock not renewed", "key", key, "token", token, "err", err)
			h.Failed.Add(1) // after the log, for who reads it once this has grown
		}
		return err
	}
}

const (
	acquisition = 1
	renewal     = 2
)

// command tells the locks' commands by their arguments:
//
//	SET key token PX ttl NX                       acquisition of 05
//	EVALSHA or EVAL script 1 key token ttl depth  acquisition of 06 to 08, outermost at depth 1
//	EVALSHA or EVAL script 1 key token ttl        renewal
//	EVALSHA or EVAL script 1 key token depth      release; depth is not an int64. In 05 without
//	                                              depth, in 06 and 07 with a channel
func command(args []any) (key, token any, what int) {
	switch {
	case len(args) == 6 && args[0] == "set":
		return args[1], args[2], acquisition
	case len(args) == 7 && args[6] == 1:
		return args[3], args[4], acquisition
	case len(args) == 6 && isInt64(args[5]):
		return args[3], args[4], renewal
	}
	return nil, nil, 0
}

func isInt64(v any) bool {
	_, ok := v.(int64)
	return ok
}

// confirmed reports whether the reply is not a refusal.
func confirmed(cmd redis.Cmder) bool {
	switch cmd := cmd.(type) {
	case *redis.BoolCmd:
		return cmd.Val()
	case interface{ Val() any }: // *redis.Cmd, or what the locks wrap it in so that it is sent once
		return cmd.Val() == "OK" || cmd.Val() == int64(1)
	}
	return false
}
