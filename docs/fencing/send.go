package fencing

// How a script is sent, what a lost reply means, and which error ends a wait. The same in steps 05
// to 08.

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// releaseTimeout replaces the caller's deadline: a request past its deadline must still
	// release its lock.
	releaseTimeout = 3 * time.Second
	quickResends   = 3 // at once, after lost replies; more of them with pauses
	releasePause   = 100 * time.Millisecond
	undoPatience   = 4 * releasePause // three pauses at most, to undo a TryLock that failed
)

// sendOnce sends a script a single time. By default, go-redis resends a command that got no
// reply, without telling its caller (MaxRetries).
func sendOnce(
	ctx context.Context, rdb redis.UniversalClient, script, key string, args ...any,
) (bool, error) {
	return send(ctx, rdb, true, script, key, args...).Bool()
}

// send sends a script through Process, where your own wrapper of a client can act on all
// scripts alike. Unless once, go-redis may resend it (from step 06 on).
func send(
	ctx context.Context, rdb redis.UniversalClient, once bool, script, key string, args ...any,
) *redis.Cmd {
	cmd := redis.NewCmd(ctx, append([]any{"eval", script, 1, key}, args...)...)
	if err := rdb.Process(ctx, &scriptCmd{cmd, once}); err != nil {
		cmd.SetErr(err) // the wrapper need not have stored it
	}
	return cmd
}

// A scriptCmd tells go-redis whether to resend it.
type scriptCmd struct {
	*redis.Cmd
	once bool
}

func (c *scriptCmd) NoRetry() bool { return c.once }

// go-redis calls NoRetry since 9.19. With an older version, this does not compile.
var _ interface{ NoRetry() bool } = (*redis.Cmd)(nil)

// mayHaveRun reports whether Redis may have run a command that failed with err. Each line
// with a ! is a case in which it has not.
func mayHaveRun(err error) bool {
	var reply redis.Error
	return err != nil &&
		!errors.As(err, &reply) && // rejected by Redis
		!isDial(err) && // not sent: no connection
		!errors.Is(err, redis.ErrPoolTimeout) && // not sent: the pool is full
		!errors.Is(err, redis.ErrPoolExhausted) && // not sent: the same, with MaxActiveConns
		!errors.Is(err, redis.ErrClosed) && // not sent: the client is closed
		!errors.Is(err, context.DeadlineExceeded) // not sent: no connection in time
}

// mayPass reports whether a release that failed with err is worth another attempt: its reply
// was lost, or the server is away for a moment.
func mayPass(err error) bool { return mayHaveRun(err) || isAway(err) }

// isAway reports whether a command has not run for a reason that may soon pass: the server
// cannot be reached, or gave a reply after which go-redis would resend the command, as
// during a restart or a failover.
func isAway(err error) bool {
	return isDial(err) || slices.ContainsFunc([]string{
		"LOADING", "READONLY", "CLUSTERDOWN", "TRYAGAIN", "MASTERDOWN", "NOREPLICAS",
		"max number of clients reached",
	}, func(reply string) bool { return redis.HasErrorPrefix(err, reply) })
}

func isDial(err error) bool {
	var network *net.OpError
	return errors.As(err, &network) && network.Op == "dial"
}

// detach returns a context that ignores the end of ctx, and ends after releaseTimeout. To
// detach it again changes nothing: all that a TryLock does after its first command shares
// one releaseTimeout.
func detach(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Value(detached{}) != nil {
		return context.WithCancel(ctx)
	}
	ctx = context.WithValue(context.WithoutCancel(ctx), detached{}, detached{})
	return context.WithTimeout(ctx, releaseTimeout)
}

type detached struct{}

// sendRelease sends the script of a release until Redis replies, even if ctx has ended. If a
// reply is lost, it resends at once, up to quickResends times. After that, and while the
// server is away, it pauses before each attempt, and begins none once patience has passed (0:
// no pauses). It never takes longer than releaseTimeout, plus one read. unsure reports that an
// attempt whose reply was lost may have run: the next one then finds no lock, although it was
// held.
func sendRelease(
	ctx context.Context, patience time.Duration, rdb redis.UniversalClient, script, key string, args ...any,
) (released, unsure bool, err error) {
	ctx, cancel := detach(ctx)
	defer cancel()
	start, resends := time.Now(), 0
	for {
		previous := err
		released, err = sendOnce(ctx, rdb, script, key, args...)
		unsure = unsure || mayHaveRun(err)
		switch {
		case previous != nil && ctx.Err() != nil && errors.Is(err, context.DeadlineExceeded):
			return released, unsure, previous // err only says that the time is up
		case mayHaveRun(err) && resends < quickResends:
			resends++ // perhaps only a connection has died
		case mayPass(err) && time.Since(start)+releasePause < patience:
			time.Sleep(releasePause)
		default:
			return released, unsure, err
		}
	}
}

// afterRefusal chooses the error of an attempt in Lock: err is its own, before that of the
// attempt before it. If ctx has cut this attempt off, and the one before found the lock taken,
// then Lock has waited for a lock that stayed taken: the result matches ErrNotAcquired. Otherwise
// it is err.
func afterRefusal(ctx context.Context, before, err error) error {
	if err == nil || ctx.Err() == nil || errors.Is(err, ErrNotAcquired) || !errors.Is(before, ErrNotAcquired) {
		return err
	}
	if errors.Is(err, ctx.Err()) {
		return before // Lock adds ctx.Err()
	}
	return fmt.Errorf("%w: %w", before, err)
}
