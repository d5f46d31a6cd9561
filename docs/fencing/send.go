package fencing

// How a script is sent, and what a lost reply means. The same in steps 05 to 08.

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// releaseTimeout replaces the caller's deadline: a request past its deadline must still
	// release its lock.
	releaseTimeout  = 3 * time.Second
	releaseAttempts = 4 // as many as go-redis makes by default
)

// sendOnce sends a script a single time. By default, go-redis resends a command that got no
// reply, without telling its caller (MaxRetries).
func sendOnce(
	ctx context.Context, rdb redis.UniversalClient, script, key string, args ...any,
) (bool, error) {
	cmd := redis.NewCmd(ctx, append([]any{"eval", script, 1, key}, args...)...)
	rdb.Process(ctx, noRetryCmd{cmd}) // stores the reply or the error in cmd
	return cmd.Bool()
}

type noRetryCmd struct{ *redis.Cmd }

func (noRetryCmd) NoRetry() bool { return true }

// mayHaveRun reports whether Redis may have run a command that failed with err. Each line
// below is a case in which it has not.
func mayHaveRun(err error) bool {
	var reply redis.Error
	var network *net.OpError
	return err != nil && !errors.As(err, &reply) && // rejected by Redis
		!(errors.As(err, &network) && network.Op == "dial") && // not sent: no connection
		!errors.Is(err, redis.ErrPoolTimeout) && // not sent: the pool is full
		!errors.Is(err, context.DeadlineExceeded) // not sent: no connection in time
}
