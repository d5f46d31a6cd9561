package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/redislock-steps/docs/realfaults/redisproc"
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

// signal sends the server a signal: STOP hangs it, CONT lets it go on. Windows has neither, and package syscall there has
// no names for them.
func (s *server) signal(name string) error {
	return exec.Command("kill", "-"+name, strconv.Itoa(s.Pid())).Run()
}

// info returns one field of INFO.
func (s *server) info(section, field string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	text, err := s.admin.Info(ctx, section).Result()
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(text) {
		if name, value, _ := strings.Cut(strings.TrimSpace(line), ":"); name == field {
			return value, nil
		}
	}
	return "", fmt.Errorf("INFO %s has no %s", section, field)
}

// flush empties the servers and sets their counts to 0.
func flush(servers []*server) error {
	for _, s := range servers {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		err := s.admin.FlushAll(ctx).Err()
		cancel()
		if err != nil {
			return err
		}
	}
	return resetCounts(servers)
}

func resetCounts(servers []*server) error {
	for _, s := range servers {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		err := s.admin.ConfigResetStat(ctx).Err()
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}

// commandsRun returns how many commands the servers have run since resetCounts, those called by scripts included, those of this
// program's own bookkeeping not.
func commandsRun(servers []*server) (int, error) {
	sum := 0
	for _, s := range servers {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		text, err := s.admin.Info(ctx, "commandstats").Result()
		cancel()
		if err != nil {
			return 0, err
		}
		sum += sumCalls(text)
	}
	return sum, nil
}

// sumCalls adds up INFO commandstats, whose lines look like cmdstat_set:calls=3,usec=21,...
func sumCalls(commandstats string) int {
	sum := 0
	scanner := bufio.NewScanner(strings.NewReader(commandstats))
	for scanner.Scan() {
		name, fields, ok := strings.Cut(scanner.Text(), ":")
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
