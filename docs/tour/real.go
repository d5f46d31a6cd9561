package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/stall"
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

// runReal plays all stories of the steps. What failed while the machine stalled it plays
// again, alone.
func (t *tour) runReal(ctx context.Context, req request) (err error) {
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
	meter := stall.Start(stall.Late)
	var wait []func() ([]timed, error)
	free := make(chan struct{}, atOnce)
	for i, s := range req.steps {
		wait = append(wait, apart(ctx, bins[i], realServers(addrs, s), stories[i], free))
	}
	played := make([][]timed, len(req.steps))
	for i, s := range req.steps {
		done := t.progress(say("playing %s in real time, which takes minutes", s.Label()))
		played[i], err = wait[i]()
		done()
		if err != nil {
			return err
		}
	}
	var errs []error
	for i, s := range req.steps {
		var results []story.Result
		for _, r := range played[i] {
			if r.Verdict != story.Passed && r.Verdict != story.Skipped {
				meter.Again(t.err, s.Label()+", "+r.Name, r.from, r.to, func() bool {
					r.Result, err = bins[i].Alone(ctx, story.InRealTime, realServers(addrs, s), r.Story)
					return err == nil && r.Verdict == story.Passed
				})
			}
			results = append(results, r.Result)
		}
		errs = append(errs, err, t.realReport(s, addrs[:s.Nodes], results))
	}
	return errors.Join(errs...)
}

// realServers is how a story learns where its servers are.
func realServers(addrs []string, s course.Step) []string {
	return []string{realEnv + "=" + strings.Join(addrs[:s.Nodes], ",")}
}

// timed is a result, and when it came about.
type timed struct {
	story.Result
	from, to time.Time
}

// apart starts each story in its own process, as many at once as free has room for. What
// it returns waits for all of them.
func apart(ctx context.Context, bin story.Binary, env []string, list []story.Story, free chan struct{}) func() ([]timed, error) {
	results, errs := make([]timed, len(list)), make([]error, len(list))
	var group sync.WaitGroup
	for i, st := range list {
		group.Go(func() {
			if st.Name != slowest {
				free <- struct{}{}
				defer func() { <-free }()
			}
			r := &results[i]
			r.from = time.Now()
			r.Result, errs[i] = bin.Alone(ctx, story.InRealTime, env, st)
			r.to = time.Now()
		})
	}
	return func() ([]timed, error) {
		group.Wait()
		return results, cmp.Or(errs...)
	}
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
