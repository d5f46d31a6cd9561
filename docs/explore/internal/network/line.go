package network

import (
	"context"
	"fmt"
	"net"
	"path"
	"runtime"
	"strings"

	"github.com/redis/go-redis/v9"
)

// lines is a hook of go-redis that notes which line of lock.go sends a command.
type lines struct{ host *Host }

// Lines returns the hook for a host's clients.
func (h *Host) Lines() redis.Hook { return lines{h} }

func (l lines) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (l lines) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		l.note(cmd)
		return next(ctx, cmd)
	}
}

func (l lines) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			l.note(cmd)
		}
		return next(ctx, cmds)
	}
}

func (l lines) note(cmd redis.Cmder) {
	line := callerInLock()
	if line == 0 {
		return
	}
	words := strings.TrimSuffix(fmt.Sprintln(cmd.Args()...), "\n")
	l.host.net.mu.Lock()
	defer l.host.net.mu.Unlock()
	l.host.lines[words] = line
}

// callerInLock is the line of the innermost function of a lock.go on the stack, 0 if there is none.
func callerInLock() int {
	var callers [64]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(3, callers[:])])
	for {
		f, more := frames.Next()
		if path.Base(f.File) == "lock.go" {
			return f.Line
		}
		if !more {
			return 0
		}
	}
}
