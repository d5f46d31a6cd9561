package schedule

import (
	"context"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"example.com/redislock-steps/docs/internal/course"
)

// lines is a hook of go-redis that notes which line of the lock sends a command.
type lines struct{ client *Client }

func (lines) DialHook(next redis.DialHook) redis.DialHook { return next }

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
	if line == "" {
		return
	}
	words := strings.TrimSuffix(fmt.Sprintln(cmd.Args()...), "\n")
	l.client.s.mu.Lock()
	defer l.client.s.mu.Unlock()
	l.client.lines[words] = line
}

// packages are those of the locks, as the names of their functions begin.
var packages = func() (list []string) {
	for _, s := range course.Entries() {
		list = append(list, course.Module+"/"+s.Dir+".")
	}
	return list
}()

// callerInLock is the line of the innermost function of a lock on the stack, "" if there
// is none. The functions in send.go send for all of them: their caller says more.
func callerInLock() string {
	var callers [64]uintptr
	n := runtime.Callers(3, callers[:])
	if line, known := linesOf.Load(callers); known {
		return line.(string)
	}
	line := ""
	frames := runtime.CallersFrames(callers[:n])
	for f, more := frames.Next(); more; f, more = frames.Next() {
		if !slices.ContainsFunc(packages, func(p string) bool { return strings.HasPrefix(f.Function, p) }) {
			continue
		}
		file := path.Base(f.File)
		line = fmt.Sprintf("%s:%d", file, f.Line)
		if file != "send.go" {
			break
		}
	}
	linesOf.Store(callers, line)
	return line
}

// linesOf are the results of callerInLock by stack: a search meets few stacks, and each of
// them many times.
var linesOf sync.Map
