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

// newScript returns the command that sends a whole script: EVAL.
func newScript(ctx context.Context, script, key string, args ...any) *redis.Cmd {
	return redis.NewCmd(ctx, slices.Concat([]any{"eval", script, 1, key}, args)...)
}

// process sends a script through Process, where your own wrapper of a client can act on all
// scripts alike. The result is in cmd.
func process(ctx context.Context, rdb redis.UniversalClient, cmd redis.Cmder) {
	if err := rdb.Process(ctx, cmd); err != nil {
		cmd.SetErr(err) // the wrapper need not have stored it
		// Otherwise a cluster client asks a dead master for up to a minute (redis/go-redis#3979).
		if cluster, ok := rdb.(interface{ ReloadState(context.Context) }); ok {
			cluster.ReloadState(ctx)
		}
	}
}

// sendOnce sends a script a single time. By default, go-redis resends a command that got no
// reply, without telling its caller (MaxRetries).
func sendOnce(
	ctx context.Context, rdb redis.UniversalClient, script, key string, args ...any,
) (bool, error) {
	cmd := newScript(ctx, script, key, args...)
	process(ctx, rdb, &onceCmd{cmd})
	return cmd.Bool()
}

// A onceCmd is not resent by go-redis, since its version 9.19. With an older one, this does
// not compile.
type onceCmd struct{ *redis.Cmd }

func (*onceCmd) NoRetry() bool { return true }

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
	var network *net.OpError
	var reply redis.Error
	isReply := errors.As(err, &reply)
	says := func(code string) bool { return strings.Contains(reply.Error(), code) }
	switch {
	case errors.Is(err, redis.ErrClosed), isReply && slices.ContainsFunc(lasting, says):
		return rejected
	case isReply, // any other: Redis has not run the command
		errors.As(err, &network) && network.Op == "dial",
		errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted),
		errors.Is(err, context.DeadlineExceeded): // no connection; a read ends with the error of os
		return notSent
	}
	return unknown
}

// lasting are the error replies after which another attempt within seconds is pointless. All
// others may pass: a restart, a failover, a full disk, a slow script. Up to Redis 6.2, the code
// is in the middle if the error is one of a command in a script.
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
		f := fateOf(latest)
		if f == unknown && !unsure {
			unsure = true
			continue
		}
		if f == rejected || time.Since(start)+releasePause >= patience {
			return false, unsure, err
		}
		time.Sleep(releasePause)
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
