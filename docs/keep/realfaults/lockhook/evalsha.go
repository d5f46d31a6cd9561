package lockhook

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// EvalSHA is a hook for a go-redis client, for many locks a second: it sends the hash of a
// script, and the script itself only to a Redis that does not know it. Its user needs the
// right +evalsha.
//
//	rdb.AddHook(lockhook.EvalSHA{})
type EvalSHA struct{}

func (EvalSHA) DialHook(next redis.DialHook) redis.DialHook { return next }

func (EvalSHA) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

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
			cmd.SetErr(nil)
			err = next(ctx, cmd)
		}
		return err
	}
}
