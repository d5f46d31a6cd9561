package main

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strconv"
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
)

// atOnce is how many stories play at once on real servers, each in its own process:
// they sleep most of the time.
const atOnce = 16

// slowest works for a hundred ttl, 150 s. It plays at the same time as these, and waits for none.
const slowest = "TestWorkOfAHundredTTLs_BobIsRefusedThroughout"

// runReal plays all stories of the steps.
func (t *tour) runReal(ctx context.Context, req request) (err error) {
	addrs := req.names[:serversFor(req.steps)]
	for _, addr := range addrs {
		if err := ping(ctx, addr, len(addrs)); err != nil {
			return errorf("cannot play on %s: %w", hosts([]string{addr}), err)
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
	var wait []func() ([]story.Result, error)
	free := make(chan struct{}, atOnce)
	for i, s := range req.steps {
		wait = append(wait, apart(ctx, bins[i], realServers(addrs, s), stories[i], free))
	}
	played := make([][]story.Result, len(req.steps))
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
		errs = append(errs, t.realReport(s, addrs[:s.Nodes], played[i]))
	}
	return errors.Join(errs...)
}

// realServers is how a story learns where its servers are.
func realServers(addrs []string, s course.Step) []string {
	return []string{realEnv + "=" + strings.Join(addrs[:s.Nodes], ",")}
}

// apart starts each story in its own process, as many at once as free has room for. What
// it returns waits for all of them.
func apart(ctx context.Context, bin story.Binary, env []string, list []story.Story, free chan struct{}) func() ([]story.Result, error) {
	results, errs := make([]story.Result, len(list)), make([]error, len(list))
	var group sync.WaitGroup
	for i, st := range list {
		group.Go(func() {
			if st.Name != slowest {
				free <- struct{}{}
				defer func() { <-free }()
			}
			results[i], errs[i] = bin.Alone(ctx, story.InRealTime, env, st)
		})
	}
	return func() ([]story.Result, error) {
		group.Wait()
		return results, cmp.Or(errs...)
	}
}

// realReport shows a line per story, and what failed in full.
func (t *tour) realReport(s course.Step, addrs []string, results []story.Result) error {
	t.heading("real: the stories of %s on %s", s.Label(), hosts(addrs))
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

// hosts are the servers without their passwords.
func hosts(addrs []string) string {
	var list []string
	for _, addr := range addrs {
		if u, err := parseServer(addr); err == nil {
			addr = u.Host
		}
		list = append(list, addr)
	}
	return strings.Join(list, ", ")
}

// ping asks a server whether it is a Redis that takes commands, and can be one of so many. It
// does so without go-redis, which is not there where a module cannot be fetched.
func ping(ctx context.Context, addr string, servers int) error {
	u, err := parseServer(addr)
	if err != nil {
		return err
	}
	secure := u.Scheme == "rediss"
	info, err := askInfo(ctx, u, secure)
	if err != nil {
		return errorf("%w%s", err, advice(secure, err))
	}
	if servers > 1 && strings.Contains(info, "cluster_enabled:1") {
		return errorf("it is a node of a cluster. This step needs independent servers")
	}
	return nil
}

// askInfo returns what a server that takes commands replies to INFO cluster.
func askInfo(ctx context.Context, u *url.URL, secure bool) (info string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	dial := new(net.Dialer).DialContext
	if secure {
		skip := u.Query().Get("skip_verify") == "true"
		dial = (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: skip}}).DialContext
	}
	conn, err := dial(ctx, "tcp", u.Host)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	end, _ := ctx.Deadline()
	conn.SetDeadline(end)
	commands := [][]string{{"PING"}, {"INFO", "cluster"}}
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
		if info, err = readReply(replies); err != nil && args[0] != "INFO" {
			return "", err
		}
	}
	return info, nil // without INFO, it is not taken for a node of a cluster
}

// readReply reads a status, an error, or a string.
func readReply(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimRight(line, "\r\n")
	switch line[:min(1, len(line))] {
	case "+":
		return line[1:], nil
	case "-":
		return "", errors.New(line[1:])
	case "$":
		n, _ := strconv.Atoi(line[1:])
		text := make([]byte, max(0, n))
		_, err = io.ReadFull(r, text)
		return string(text), err
	}
	return "", io.EOF // it does not speak Redis's protocol
}

// advice says what may help after an error.
func advice(secure bool, err error) string {
	_, refused := errors.AsType[*net.OpError](err)
	_, plain := errors.AsType[tls.RecordHeaderError](err)
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	switch {
	case unknown:
		return word("\nTo trust its CA, put the CA's file into SSL_CERT_FILE. To trust any server, end the URL with ?skip_verify=true")
	case plain || secure && (errors.Is(err, io.EOF) || errors.Is(err, context.DeadlineExceeded)):
		return word("\nIt may not speak TLS: try redis:// instead of rediss://")
	case errors.Is(err, io.EOF):
		return word("\nIt may want TLS: try rediss:// instead of redis://")
	case strings.HasPrefix(err.Error(), "NOAUTH"):
		return word("\nIt wants a password: redis://:PASSWORD@HOST:PORT, or redis://USER:PASSWORD@HOST:PORT")
	case refused:
		return word("\nStart one (redis-server --port 6379 --save ''), or name another")
	}
	return ""
}
