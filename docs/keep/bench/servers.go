package main

import (
	"context"
	"os"
	"strconv"
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
		p, err := redisproc.Server(os.TempDir()) // leaves no files
		if err != nil {
			return servers, err
		}
		servers = append(servers, &server{p, redis.NewClient(&redis.Options{Addr: p.Addr})})
	}
	return servers, nil
}

// commandsDuring returns how many commands the servers have run while do did something,
// those called by scripts included, and how long that took.
func commandsDuring(servers []*server, do func()) (commands int, took time.Duration, err error) {
	count := func() (sum int, err error) {
		for _, s := range servers {
			info := s.admin.InfoMap(context.Background(), "stats")
			n, err := strconv.Atoi(info.Item("Stats", "total_commands_processed"))
			if err != nil {
				return 0, err
			}
			sum += n
		}
		return sum, nil
	}
	before, err := count()
	if err != nil {
		return 0, 0, err
	}
	start := time.Now()
	do()
	took = time.Since(start)
	after, err := count()
	return after - before - len(servers), took, err // the first INFO counts itself only afterwards
}
