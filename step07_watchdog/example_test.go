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
	rdb := redis.NewClient(inMemory()) // yours: &redis.Options{Addr: "localhost:6379"}
	defer rdb.Close()

	lock := New(rdb, "nightly-report", 10*time.Second)
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

// Without Do, the work asks for a loss itself.
func ExampleLock_Lost() {
	ctx := context.Background() // yours: with a deadline
	rdb := redis.NewClient(inMemory())
	defer rdb.Close()
	lock := New(rdb, "orders", 10*time.Second)
	if err := lock.Lock(ctx); err != nil {
		fmt.Println(err)
		return
	}
	for _, order := range []int{7, 8} {
		select {
		case <-lock.Lost():
			fmt.Println("lost: stop here")
			return
		default:
			fmt.Println("order", order)
		}
	}
	if time.Now().Before(lock.ValidUntil()) { // right before what must not start late
		fmt.Println("charge the card")
	}
	if err := lock.Unlock(ctx); err != nil {
		fmt.Println(err) // ErrNotHeld: it was lost, and the work may have overlapped another's
	}
	// Output:
	// order 7
	// order 8
	// charge the card
}

// inMemory stands in for a Redis server, so that the example runs anywhere.
func inMemory() *redis.Options {
	server := miniredis.NewMiniRedis()
	return &redis.Options{Addr: "10.0.0.1:6379", Dialer: func(context.Context, string, string) (net.Conn, error) {
		return server.Dial()
	}}
}
