package schedule

import (
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"

	"example.com/redislock-steps/docs/internal/course"
)

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
