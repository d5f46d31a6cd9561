package fencing

// How a script is sent, and what its error means. The same in steps 05 to 08.

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// releaseTimeout replaces the caller's deadline: a request past its deadline must still
	// release its lock.
	releaseTimeout = 3 * time.Second
	releasePause   = 100 * time.Millisecond // between two attempts
	undoPatience   = 4 * releasePause       // to undo a TryLock that failed: three pauses at most
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
	cmd := redis.NewCmd(ctx, slices.Concat([]any{"eval", script, 1, key}, args)...)
	if err := rdb.Process(ctx, &scriptCmd{cmd, once}); err != nil {
		cmd.SetErr(err) // the wrapper need not have stored it
		// Otherwise a cluster client asks a dead master for up to a minute (redis/go-redis#3979).
		if cluster, ok := rdb.(interface{ ReloadState(context.Context) }); ok {
			cluster.ReloadState(ctx)
		}
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

// A fate is what an error says about the command that failed.
type fate int

const (
	rejected fate = iota // has not run, and another attempt would not change that
	notSent              // has not run, but another attempt may
	unknown              // may have run: there was no reply
)

// fateOf returns what is certain of a command that failed with err.
func fateOf(err error) fate {
	var reply redis.Error
	var network *net.OpError
	says := func(code string) bool { return strings.Contains(reply.Error(), code) }
	isReply := errors.As(err, &reply)
	switch {
	case errors.Is(err, redis.ErrClosed), isReply && slices.ContainsFunc(lasting, says):
		return rejected
	case isReply, // any other one
		errors.As(err, &network) && network.Op == "dial",
		errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted),
		errors.Is(err, context.DeadlineExceeded): // no connection in time
		return notSent
	}
	return unknown
}

// lasting are the error replies that another attempt does not change. All others may pass: a
// restart, a failover, a full disk, a slow script. Up to Redis 6.2, the code is in the middle
// if the error is one of a command in a script.
var lasting = []string{
	"WRONGTYPE", "NOTTL", "OOM command", "NOAUTH", "WRONGPASS", "NOPERM", "NOSCRIPT", "unknown command",
}

// sendRelease sends the script of a release until Redis replies, even if ctx has ended. The
// first time that a reply is lost, it resends at once: perhaps only a connection has died.
// Otherwise it pauses before each attempt, and begins none once patience has passed (0: no
// pauses). It takes at most releaseTimeout, plus one read. unsure reports that an attempt
// without a reply may have run: the next one then finds no lock, although it was held.
func sendRelease(
	ctx context.Context, patience time.Duration, rdb redis.UniversalClient, script, key string, args ...any,
) (released, unsure bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	for start := time.Now(); ; {
		released, latest := sendOnce(ctx, rdb, script, key, args...)
		if latest == nil {
			return released, unsure, nil
		}
		if err == nil || ctx.Err() == nil { // later errors only say that the time is up
			err = latest
		}
		switch fate := fateOf(latest); {
		case fate == unknown && !unsure:
			unsure = true
		case fate != rejected && time.Since(start)+releasePause < patience:
			time.Sleep(releasePause)
		default:
			return false, unsure, err
		}
	}
}

// notCutOff returns err, the error of Lock's latest attempt; if ctx has cut that one off, the
// error of the attempt before: a lock that stayed taken is then reported as taken.
func notCutOff(ctx context.Context, before, err error) error {
	if err == nil || before == nil || ctx.Err() == nil || errors.Is(err, ErrNotAcquired) {
		return err
	}
	return before // Lock adds ctx.Err()
}
