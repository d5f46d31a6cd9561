package main

import (
	"context"
	"strconv"
	"strings"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/story"
)

// What only the commands need that move to docs/keep: why and matrix.

// lockBuild is the guarantees of one step's folder with the lock of another step.
func (t *tour) lockBuild(tests, lock course.Step) story.Build {
	b := t.WithLock(tests, lock)
	b.Name = say("the tests of %s with %s", tests.Label(), lock.Subject())
	return b
}

func whyCommand(t *tour, ctx context.Context, req request) (err error) {
	if req.has("-all") {
		course.Chinese = false
	}
	if req.names == nil {
		return t.runWhy(ctx, req)
	}
	file, line, ok := strings.Cut(req.names[0], ":")
	if !ok {
		file, line = course.LockFile, req.names[0]
	}
	if req.line, err = strconv.Atoi(line); err != nil || req.line < 1 {
		return wrongUsage("a line is LINE of lock.go, or FILE:LINE: %s", req.names[0])
	}
	req.file = file
	return t.runWhy(ctx, req)
}

func matrixCommand(t *tour, ctx context.Context, req request) error {
	course.Chinese = false
	return t.runMatrix(ctx, req)
}
