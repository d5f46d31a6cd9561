package main

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/story"
)

// On real servers a file is laid over a step's folder that plays the test harness's stories
// there. The addresses reach it in the environment.
const (
	realDir  = "docs/tour/testdata"
	realFile = "lab_real_test.go"
	realEnv  = "REDIS_ADDRS" // names the servers also where the command does not
)

// atOnce is how many stories play at once on real servers, each in its own process:
// they sleep most of the time.
const atOnce = 16

// slowest works for a hundred ttl, 150 s. It plays at the same time as these, and waits for none.
const slowest = "TestWorkOfAHundredTTLs_BobIsRefusedThroughout"

// runReal plays all stories of the steps at once, when all are compiled: they go by the clock.
func (t *tour) runReal(ctx context.Context, req request) error {
	servers, err := readServers(req)
	if err != nil {
		return err
	}
	for _, u := range servers {
		if err := ping(ctx, u, len(servers)); err != nil {
			return errorf("cannot play on %s: %w\nStart one (redis-server --port 6379 --save ''), or say how to reach it: HOST:PORT, "+
				"redis://USER:PASSWORD@HOST:PORT, with TLS rediss://HOST:PORT, and ?skip_verify=true behind that trusts any certificate", u.Host, err)
		}
	}
	bins := make([]story.Binary, len(req.steps))
	for i, s := range req.steps {
		b := greenBuild(s)
		b.Replace[realFile] = realDir + "/" + realFile
		if bins[i], err = t.build(ctx, b); err != nil {
			return err
		}
		defer bins[i].Remove()
	}
	var wait []func() ([]story.Result, error)
	free := make(chan struct{}, atOnce)
	for i, s := range req.steps {
		list, err := t.Tests(s.Dir)
		if err != nil {
			return err
		}
		wait = append(wait, playReal(ctx, bins[i], servers[:s.Nodes], list, free))
	}
	var wrong []error
	for i, s := range req.steps {
		done := t.progress(say("playing %s in real time, which takes minutes", s.Label()))
		results, err := wait[i]()
		if done(); err != nil {
			return err
		}
		wrong = append(wrong, t.realReport(s, servers[:s.Nodes], results))
	}
	return errors.Join(wrong...)
}

// playReal starts each story in its own process, as many at once as free has room for. What it
// returns waits for all of them.
func playReal(ctx context.Context, bin story.Binary, servers []*url.URL, list []story.Story, free chan struct{}) func() ([]story.Result, error) {
	var addrs []string
	for _, u := range servers {
		addrs = append(addrs, u.String())
	}
	results, errs := make([]story.Result, len(list)), make([]error, len(list))
	var group sync.WaitGroup
	for i, st := range list {
		group.Go(func() {
			if st.Name != slowest {
				free <- struct{}{}
				defer func() { <-free }()
			}
			results[i], errs[i] = bin.Alone(ctx, story.InRealTime, []string{realEnv + "=" + strings.Join(addrs, ",")}, st)
		})
	}
	return func() ([]story.Result, error) {
		group.Wait()
		return results, cmp.Or(errs...)
	}
}

// realReport shows a line per story, and what failed in full.
func (t *tour) realReport(s course.Step, servers []*url.URL, results []story.Result) error {
	var hosts []string // without their passwords
	for _, u := range servers {
		hosts = append(hosts, u.Host)
	}
	t.heading("real: the stories of %s on %s", s.Label(), strings.Join(hosts, ", "))
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

// readServers returns as many as the steps need, of those that the command or the
// environment names.
func readServers(req request) (servers []*url.URL, err error) {
	need := 0
	for _, s := range req.steps {
		need = max(need, s.Nodes)
	}
	list := append(req.names, os.Getenv(realEnv))[0]
	if list == "" {
		return nil, wrongUsage("where is your Redis? go run ./docs/tour real %s localhost:6379", req.steps[0].Arg())
	}
	for addr := range strings.SplitSeq(list, ",") {
		u, err := parseServer(addr)
		if err != nil {
			return nil, wrongUsage("a server is HOST:PORT, or a URL (redis://, rediss://): %v", err)
		}
		if slices.ContainsFunc(servers, func(other *url.URL) bool { return other.Host == u.Host }) {
			return nil, wrongUsage("%s is there twice: the servers must be independent", u.Host)
		}
		servers = append(servers, u)
	}
	if len(servers) < need {
		return nil, wrongUsage("%d independent servers are needed (URL,URL,...), not %d", need, len(servers))
	}
	return servers[:need], nil
}

// parseServer reads the URL of a server, or HOST:PORT. What is in its query, the stories read.
func parseServer(addr string) (*url.URL, error) {
	if !strings.Contains(addr, "://") {
		addr = "redis://" + addr
	}
	u, err := url.Parse(addr)
	if err, ok := errors.AsType[*url.Error](err); ok {
		return nil, err.Err // without the URL, which may hold a password
	}
	if u.Scheme != "redis" && u.Scheme != "rediss" {
		return nil, net.UnknownNetworkError(u.Scheme)
	}
	u.Host = net.JoinHostPort(cmp.Or(u.Hostname(), "localhost"), cmp.Or(u.Port(), "6379"))
	return u, nil
}

// ping asks a server whether it is a Redis that takes commands, and can be one of so many. It
// does so without go-redis, which is not there where a module cannot be fetched.
func ping(ctx context.Context, u *url.URL, servers int) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	dial := new(net.Dialer).DialContext
	if u.Scheme == "rediss" {
		skip := u.Query().Get("skip_verify") == "true"
		dial = (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: skip}}).DialContext
	}
	conn, err := dial(ctx, "tcp", u.Host)
	if err != nil {
		return err
	}
	defer conn.Close()
	end, _ := ctx.Deadline()
	conn.SetDeadline(end)
	commands := [][]string{{"PING"}, {"CLUSTER", "INFO"}} // the latter is an error where there is none
	if password, ok := u.User.Password(); ok {
		auth := slices.DeleteFunc([]string{"AUTH", u.User.Username(), password}, func(arg string) bool { return arg == "" })
		commands = slices.Insert(commands, 0, auth)
	}
	replies := bufio.NewReader(conn)
	for _, args := range commands {
		fmt.Fprintf(conn, "*%d\r\n", len(args))
		for _, arg := range args {
			fmt.Fprintf(conn, "$%d\r\n%s\r\n", len(arg), arg)
		}
		reply, err := replies.ReadString('\n')
		switch {
		case err != nil:
			return err
		case args[0] == "CLUSTER" && reply[0] == '$' && servers > 1:
			return errorf("it is a node of a cluster. This step needs independent servers")
		case args[0] == "CLUSTER":
		case reply[0] == '-':
			return errors.New(strings.TrimSpace(reply[1:]))
		case reply[0] != '+':
			return io.EOF // it does not speak Redis's protocol
		}
	}
	return nil
}
