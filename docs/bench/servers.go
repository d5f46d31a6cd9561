package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

var errNoRedis = errors.New(`redis-server is not installed. It is needed to run the benchmarks.
  Debian, Ubuntu: apt install redis-server
  macOS:          brew install redis`)

// The supervisor starts a server and kills it when its standard input ends: when we close it, and also when we die of
// whatever cause, a SIGKILL included. SIGKILL ends a stopped server, too.
const supervisor = `redis-server "$@" >/dev/null 2>&1 & server=$!; trap '' INT TERM HUP; cat >/dev/null; kill -KILL $server; wait`

// A server is a redis-server of our own: on a free loopback port, without persistence.
type server struct {
	addr  string
	admin *redis.Client
	pid   string
	alive interface{ Close() error } // the supervisor's standard input
	cmd   *exec.Cmd
}

// startServers starts n servers, or none.
func startServers(n int) ([]*server, error) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		return nil, errNoRedis
	}
	var servers []*server
	for range n {
		s, err := startServer()
		if err != nil {
			stopServers(servers)
			return nil, err
		}
		servers = append(servers, s)
	}
	return servers, nil
}

func startServer() (*server, error) {
	// Between our look for a free port and the server's bind, somebody else may take it: try again.
	var err error
	for range 5 {
		var s *server
		if s, err = tryStartServer(); err == nil {
			return s, nil
		}
	}
	return nil, fmt.Errorf("redis-server does not start: %w", err)
}

func tryStartServer() (*server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addr := l.Addr().String()
	l.Close()
	_, port, _ := net.SplitHostPort(addr)

	cmd := exec.Command("sh", "-c", supervisor, "sh", "--port", port, "--bind", "127.0.0.1", "--save", "",
		"--appendonly", "no", "--dir", os.TempDir())
	alive, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &server{addr: addr, alive: alive, cmd: cmd, admin: redis.NewClient(&redis.Options{Addr: addr})}
	for range 200 {
		if s.pid, err = s.info("server", "process_id"); err == nil {
			return s, nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.stop()
	return nil, err
}

func (s *server) stop() {
	s.admin.Close()
	s.alive.Close()
	s.cmd.Wait()
}

func stopServers(servers []*server) {
	for _, s := range servers {
		s.stop()
	}
}

// signal sends the server a signal: STOP hangs it, CONT lets it go on.
func (s *server) signal(name string) error {
	return exec.Command("kill", "-"+name, s.pid).Run()
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
