package main

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.com/redislock-steps/docs/internal/course"
)

// On real servers a file is laid over a step's folder that plays the test harness's stories
// there. The addresses reach it in the environment.
const (
	realDir  = "docs/tour/testdata"
	realFile = "lab_real_test.go"
	realEnv  = "REDIS_ADDRS"
)

func parseReal(req request, args []string) (request, error) {
	if len(args) == 0 || len(args) > 2 {
		return request{}, wrongUsage("real needs a step and your Redis: real N host:port[,host:port...], or real all and five of them")
	}
	req.steps = course.Steps[:]
	if args[0] != "all" {
		s, err := stepOf(args[0])
		if err != nil {
			return request{}, err
		}
		req.steps = []course.Step{s}
	}
	list := os.Getenv(realEnv)
	if len(args) == 2 {
		list = args[1]
	}
	if list == "" {
		return request{}, wrongUsage("where is your Redis? go run ./docs/tour real %s localhost:6379", args[0])
	}
	req.addrs = strings.Split(list, ",")
	need := serversFor(req.steps)
	if len(req.addrs) < need {
		return request{}, wrongUsage("real %s needs %d independent servers (host:port,host:port,...), not %d", args[0], need, len(req.addrs))
	}
	for i, addr := range req.addrs {
		if _, _, err := net.SplitHostPort(addr); err != nil {
			return request{}, wrongUsage("%q is not a host:port", addr)
		}
		if slices.Contains(req.addrs[:i], addr) {
			return request{}, wrongUsage("%s is there twice: the servers must be independent", addr)
		}
	}
	return req, nil
}

func serversFor(list []course.Step) int {
	need := 0
	for _, s := range list {
		need = max(need, s.Nodes)
	}
	return need
}

// atOnce is how many stories play at once on real servers, each in its own process:
// they sleep most of the time.
const atOnce = 8

// runReal plays all stories of the steps.
func (t *tour) runReal(ctx context.Context, list []course.Step, addrs []string) error {
	addrs = addrs[:serversFor(list)]
	for _, addr := range addrs {
		if err := ping(ctx, addr); err != nil {
			return errorf("no Redis at %s: %w\nStart one (redis-server --port 6379 --save ''), or name another", addr, err)
		}
	}
	var builds []build
	for _, s := range list {
		b, err := t.realBuild(s)
		if err != nil {
			return err
		}
		builds = append(builds, b)
	}
	done := t.compileAhead(ctx, builds)
	type run struct {
		log transcript
		err error
	}
	played := make([]chan run, len(list))
	free := make(chan struct{}, atOnce)
	for i, s := range list {
		played[i] = make(chan run, 1)
		t.jobs.Go(func() {
			c := <-done[i]
			if c.err != nil {
				played[i] <- run{err: c.err}
				return
			}
			log, err := c.runApart(ctx, inRealTime, []string{realEnv + "=" + strings.Join(addrs[:s.Nodes], ",")}, free)
			played[i] <- run{log, err}
		})
	}
	var errs []error
	for i, s := range list {
		stop := t.progress(say("playing %s in real time, which takes minutes", s.Label()))
		r := <-played[i]
		stop()
		if r.err == nil {
			r.err = t.realReport(s, addrs[:s.Nodes], r.log)
		}
		errs = append(errs, r.err)
	}
	return errors.Join(errs...)
}

// realBuild is a step as it is, and the file for real servers.
func (t *tour) realBuild(s course.Step) (build, error) {
	b := greenBuild(s)
	b.replace[realFile] = realDir + "/" + realFile
	if !s.IsEpilogue() {
		return b, nil
	}
	text, err := os.ReadFile(t.path(realDir, realFile))
	if err != nil {
		return build{}, err
	}
	b.replace[realFile] = filepath.Join(t.tmp, realFile) // the same in the package of the epilogue
	return b, os.WriteFile(b.replace[realFile], []byte(strings.Replace(string(text), "package redislock\n", "package fencing\n", 1)), 0o666)
}

// realReport shows a line per story, and what failed in full.
func (t *tour) realReport(s course.Step, addrs []string, log transcript) error {
	t.heading("real: the stories of %s on %s", s.Label(), strings.Join(addrs, ", "))
	var wrong []string
	ok, left := 0, 0
	for _, ts := range log.tests {
		if ts.name != storyOf(ts.name) {
			continue
		}
		switch r := log.judge(story{name: ts.name}); r.verdict {
		case passed:
			ok++
			t.line(r)
		case skipped:
			left++
			t.line(r)
			t.printf("%s", indent(margin, strings.Split(r.why, "\n")))
		default:
			wrong = append(wrong, r.name)
			t.failure(r, whole)
		}
	}
	if log.exit != 0 && wrong == nil {
		wrong = append(wrong, say("the test process ended with exit status %d", log.exit))
	}
	if ok == 0 && wrong == nil {
		wrong = append(wrong, word("no test ran"))
	}
	t.printf("\n  %d passed, %d skipped, %d failed\n\n", ok, left, len(wrong))
	return unless(wrong, "real %s failed:\n  %s", s)
}

// ping asks a server whether it is a Redis that takes commands.
func ping(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	conn.SetDeadline(deadline)
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return err
	}
	reply, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return errorf("it does not answer PING: %w", err)
	}
	if reply = strings.TrimSpace(reply); reply != "+PONG" {
		return errorf("it answers PING with %s", reply)
	}
	return nil
}
