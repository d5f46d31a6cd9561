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

func ExampleLock() {
	ctx := context.Background()
	rdb := redis.NewClient(inMemory()) // yours: &redis.Options{Addr: "localhost:6379"}
	defer rdb.Close()

	lock := New(rdb, "invoice:42", 10*time.Second)
	send := func() error { // also called where the lock is not held yet
		if err := lock.Lock(ctx); err != nil {
			return err
		}
		defer lock.Unlock(ctx)
		fmt.Println("sent")
		return nil
	}

	if err := lock.Lock(ctx); err != nil {
		fmt.Println(err)
		return
	}
	if err := send(); err != nil { // nested: the lock is held until the outer Unlock
		fmt.Println(err)
	}
	if err := lock.Unlock(ctx); errors.Is(err, ErrNotHeld) {
		fmt.Println("the lease expired before the work was done")
	}
	// Output: sent
}

// inMemory stands in for a Redis server, so that the example runs anywhere.
func inMemory() *redis.Options {
	server := miniredis.NewMiniRedis()
	return &redis.Options{Addr: "10.0.0.1:6379", Dialer: func(context.Context, string, string) (net.Conn, error) {
		return server.Dial()
	}}
}
