package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/story"
)

// On real servers a file is laid over a step's folder that plays the test harness's stories
// there. The addresses reach it in the environment.
const (
	realDir  = "docs/tour/testdata"
	realFile = "lab_real_test.go"
)

// atOnce is how many stories play at once on real servers, each in its own process:
// they sleep most of the time.
const atOnce = 16

// slowest works for a hundred ttl, 150 s. It plays at the same time as these, and waits for none.
const slowest = "TestWorkOfAHundredTTLs_BobIsRefusedThroughout"

// runReal plays all stories of the steps.
func (t *tour) runReal(ctx context.Context, req request) error {
	addrs := req.names[:serversFor(req.steps)]
	for _, addr := range addrs {
		if err := ping(ctx, addr); err != nil {
			return errorf("no Redis at %s: %w\nStart one (redis-server --port 6379 --save ''), or name another", addr, err)
		}
	}
	var builds []story.Build
	var stories [][]story.Story
	for _, s := range req.steps {
		list, err := t.Tests(s.Dir)
		if err != nil {
			return err
		}
		b := greenBuild(s)
		b.Replace[realFile] = realDir + "/" + realFile
		builds, stories = append(builds, b), append(stories, list)
	}
	// They go by the clock: the first one plays when all have been compiled.
	var bins []story.Binary
	for _, on := range t.Ahead(ctx, builds...) {
		bin, err := t.await(on)
		if err != nil {
			return err
		}
		bins = append(bins, bin)
	}
	var played []func() ([]story.Result, error) // they wait for the end
	free := make(chan struct{}, atOnce)
	for i, s := range req.steps {
		env := realEnv + "=" + strings.Join(addrs[:s.Nodes], ",")
		played = append(played, apart(ctx, bins[i], env, stories[i], free))
	}
	var errs []error
	for i, s := range req.steps {
		done := t.progress(say("playing %s in real time, which takes minutes", s.Label()))
		results, err := played[i]()
		done()
		if err == nil {
			err = t.realReport(s, addrs[:s.Nodes], results)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// apart starts each story in its own process, as many at once as free has room for. What
// it returns waits for all of them.
func apart(ctx context.Context, bin story.Binary, env string, list []story.Story, free chan struct{}) func() ([]story.Result, error) {
	results := make([]story.Result, len(list))
	var group errgroup.Group
	for i, st := range list {
		group.Go(func() (err error) {
			if st.Name != slowest {
				free <- struct{}{}
				defer func() { <-free }()
			}
			log, err := bin.Run(ctx, story.InRealTime, []string{env}, st)
			results[i] = log.Judge(st)
			return err
		})
	}
	return func() ([]story.Result, error) { return results, group.Wait() }
}

// realReport shows a line per story, and what failed in full.
func (t *tour) realReport(s course.Step, addrs []string, results []story.Result) error {
	t.heading("real: the stories of %s on %s", s.Label(), strings.Join(addrs, ", "))
	var wrong []string
	left := 0
	for _, r := range results {
		r.Control = false // on the lock before
		switch r.Verdict {
		case story.Passed:
			t.line(r)
		case story.Skipped:
			left++
			t.line(r)
			t.printf("%s", indent(margin, strings.Split(whyNot(r), "\n")))
		default:
			wrong = append(wrong, r.Name)
			t.failure(r, whole)
		}
	}
	ok := held(results)
	if ok == 0 && wrong == nil {
		wrong = append(wrong, word("no test ran"))
	}
	t.printf("\n  %d passed, %d skipped, %d failed\n\n", ok, left, len(wrong))
	return unless(wrong, "real %s failed:\n  %s", s)
}

// ping asks a server whether it is a Redis that takes commands.
func ping(ctx context.Context, addr string) error {
	const patience = 3 * time.Second
	conn, err := (&net.Dialer{Timeout: patience}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(patience))
	io.WriteString(conn, "PING\r\n")
	reply, _ := bufio.NewReader(conn).ReadString('\n')
	if reply = strings.TrimSpace(reply); reply != "+PONG" {
		return errorf("it answers PING with %q", reply)
	}
	return nil
}
