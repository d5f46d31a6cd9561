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
	if err := lock.TryLock(ctx); errors.Is(err, ErrNotAcquired) {
		fmt.Println("another client is working on this invoice")
		return
	} else if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("the invoice is sent by this client only")
	if err := lock.Unlock(ctx); errors.Is(err, ErrNotHeld) {
		fmt.Println("the lease expired before the work was done: another client may have sent it too")
	}
	// Output: the invoice is sent by this client only
}

// inMemory stands in for a Redis server, so that the example runs anywhere.
func inMemory() *redis.Options {
	server := miniredis.NewMiniRedis()
	return &redis.Options{Addr: "10.0.0.1:6379", Dialer: func(context.Context, string, string) (net.Conn, error) {
		return server.Dial()
	}}
}
