package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/redislock-steps/docs/keep/realfaults/redisproc"
)

// A server is a redis-server of our own.
type server struct {
	*redisproc.Process
	admin *redis.Client
}

// startServers starts n servers, or none.
func startServers(n int) ([]*server, error) {
	var servers []*server
	for range n {
		p, err := redisproc.Server(os.TempDir(), "--logfile", "") // leaves no files
		if err != nil {
			stopServers(servers)
			return nil, err
		}
		servers = append(servers, &server{p, redis.NewClient(&redis.Options{Addr: p.Addr})})
	}
	return servers, nil
}

func stopServers(servers []*server) {
	for _, s := range servers {
		s.admin.Close()
		s.Kill()
	}
}

// signal sends the server a signal: STOP hangs it, CONT resumes it. Windows has
// neither, and package syscall there has no names for them.
func (s *server) signal(name string) error {
	return exec.Command("kill", "-"+name, strconv.Itoa(s.Pid())).Run()
}

// each does something with all servers.
func each(servers []*server, do func(ctx context.Context, admin *redis.Client) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for _, s := range servers {
		if err := do(ctx, s.admin); err != nil {
			return err
		}
	}
	return nil
}

// flush empties the servers and sets their counts to 0.
func flush(servers []*server) error {
	return errors.Join(
		each(servers, func(ctx context.Context, admin *redis.Client) error { return admin.FlushAll(ctx).Err() }),
		resetCounts(servers))
}

func resetCounts(servers []*server) error {
	return each(servers, func(ctx context.Context, admin *redis.Client) error { return admin.ConfigResetStat(ctx).Err() })
}

// commandsRun returns how many commands the servers have run since resetCounts, those
// called by scripts included, those of this program's own bookkeeping not.
func commandsRun(servers []*server) (sum int, err error) {
	err = each(servers, func(ctx context.Context, admin *redis.Client) error {
		text, err := admin.Info(ctx, "commandstats").Result()
		sum += sumCalls(text)
		return err
	})
	return sum, err
}

// commandsDuring returns how many commands the servers have run, as commandsRun counts
// them, while do did something, and how long that took.
func commandsDuring(servers []*server, do func() error) (commands float64, took time.Duration, err error) {
	before, err := commandsRun(servers)
	if err != nil {
		return 0, 0, err
	}
	start := time.Now()
	if err := do(); err != nil {
		return 0, 0, err
	}
	took = time.Since(start)
	after, err := commandsRun(servers)
	return float64(after - before), took, err
}

// sumCalls adds up INFO commandstats, whose lines look like cmdstat_set:calls=3,usec=21,...
func sumCalls(commandstats string) int {
	sum := 0
	for line := range strings.Lines(commandstats) {
		name, fields, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok || name == "cmdstat_info" || name == "cmdstat_config|resetstat" || name == "cmdstat_flushall" {
			continue
		}
		for field := range strings.SplitSeq(fields, ",") {
			if calls, ok := strings.CutPrefix(field, "calls="); ok {
				n, _ := strconv.Atoi(calls)
				sum += n
			}
		}
	}
	return sum
}
