package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"golang.org/x/sync/errgroup"

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
	results := make([]timed, len(list))
	var group errgroup.Group
	for i, st := range list {
		group.Go(func() (err error) {
			if st.Name != slowest {
				free <- struct{}{}
				defer func() { <-free }()
			}
			r := &results[i]
			r.from = time.Now()
			r.Result, err = bin.Alone(ctx, story.InRealTime, env, st)
			r.to = time.Now()
			return err
		})
	}
	return func() ([]timed, error) { return results, group.Wait() }
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

// parseServer reads the URL of a server, or HOST:PORT.
func parseServer(addr string) (*redis.Options, error) {
	if !strings.Contains(addr, "://") {
		addr = "redis://" + addr
	}
	opt, err := redis.ParseURL(addr)
	if err, ok := errors.AsType[*url.Error](err); ok {
		return nil, err.Err // without the URL, which may hold a password
	}
	return opt, err
}

// hosts are the servers without their passwords.
func hosts(addrs []string) string {
	var list []string
	for _, addr := range addrs {
		opt, _ := parseServer(addr) // it has been read before
		list = append(list, opt.Addr)
	}
	return strings.Join(list, ", ")
}

// ping asks a server whether it is a Redis that takes commands, and can be one of so many.
func ping(ctx context.Context, addr string, servers int) error {
	opt, err := parseServer(addr)
	if err != nil {
		return err
	}
	logging.Disable() // the error says all
	opt.DialTimeout, opt.ReadTimeout, opt.DialerRetries, opt.MaxRetries = 3*time.Second, 3*time.Second, 1, -1
	rdb := redis.NewClient(opt)
	defer rdb.Close()
	if err := rdb.Ping(ctx).Err(); err != nil {
		return errorf("%w%s", err, advice(opt, err))
	}
	info, _ := rdb.Info(ctx, "cluster").Result()
	if servers > 1 && strings.Contains(info, "cluster_enabled:1") {
		return errorf("it is a node of a cluster. This step needs independent servers")
	}
	return nil
}

// advice says what may help after an error.
func advice(opt *redis.Options, err error) string {
	_, refused := errors.AsType[*net.OpError](err)
	_, plain := errors.AsType[tls.RecordHeaderError](err)
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	switch secure := opt.TLSConfig != nil; {
	case unknown:
		return word("\nTo trust its CA, put the CA's file into SSL_CERT_FILE. To trust any server, end the URL with ?skip_verify=true")
	case plain || secure && (errors.Is(err, io.EOF) || errors.Is(err, context.DeadlineExceeded)):
		return word("\nIt may not speak TLS: try redis:// instead of rediss://")
	case errors.Is(err, io.EOF):
		return word("\nIt may want TLS: try rediss:// instead of redis://")
	case redis.HasErrorPrefix(err, "NOAUTH"):
		return word("\nIt wants a password: redis://:PASSWORD@HOST:PORT, or redis://USER:PASSWORD@HOST:PORT")
	case refused:
		return word("\nStart one (redis-server --port 6379 --save ''), or name another")
	}
	return ""
}
