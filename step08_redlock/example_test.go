package redislock

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

func ExampleLock_Do() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var nodes []redis.UniversalClient
	for range 5 {
		rdb := redis.NewClient(inMemory()) // yours: five independent servers
		defer rdb.Close()
		nodes = append(nodes, rdb)
	}

	lock := New(nodes, "nightly-report", 10*time.Second)
	lock.MaxHold = time.Hour // for a job that hangs
	err := lock.Do(ctx, func(ctx context.Context) error {
		fmt.Println("working")
		return ctx.Err() // this ctx ends if the lock is lost
	})
	switch {
	case errors.Is(err, ErrNotAcquired):
		fmt.Println("another client held the lock for a minute")
	case errors.Is(err, ErrLost):
		fmt.Println("the lock was lost during the work:", err)
	case err != nil:
		fmt.Println(err)
	}
	// Output: working
}

// inMemory stands in for a Redis server, so that the example runs anywhere.
func inMemory() *redis.Options {
	server := miniredis.NewMiniRedis()
	return &redis.Options{Addr: "10.0.0.1:6379", Dialer: func(context.Context, string, string) (net.Conn, error) {
		return server.Dial()
	}}
}
