package main

import (
	"context"
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

// startServers starts n servers, or fewer and an error.
func startServers(n int) (servers []*server, err error) {
	for range n {
		p, err := redisproc.Server(os.TempDir(), "--logfile", "") // leaves no files
		if err != nil {
			return servers, err
		}
		servers = append(servers, &server{p, redis.NewClient(&redis.Options{Addr: p.Addr})})
	}
	return servers, nil
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

// commandsDuring returns how many commands the servers have run while do did something,
// those called by scripts included, and how long that took.
func commandsDuring(servers []*server, do func()) (commands float64, took time.Duration, err error) {
	run := 0
	count := func(sign int) error {
		return each(servers, func(ctx context.Context, admin *redis.Client) error {
			text, err := admin.Info(ctx, "commandstats").Result()
			run += sign * sumCalls(text)
			return err
		})
	}
	if err := count(-1); err != nil {
		return 0, 0, err
	}
	start := time.Now()
	do()
	took = time.Since(start)
	err = count(1)
	return float64(run), took, err
}

// sumCalls adds up INFO commandstats, whose lines look like cmdstat_set:calls=3,usec=21,...
// It leaves out INFO, which only this program sends.
func sumCalls(commandstats string) int {
	sum := 0
	for line := range strings.Lines(commandstats) {
		name, fields, ok := strings.Cut(line, ":")
		if !ok || name == "cmdstat_info" {
			continue
		}
		calls, _, _ := strings.Cut(strings.TrimPrefix(fields, "calls="), ",")
		n, _ := strconv.Atoi(calls)
		sum += n
	}
	return sum
}
