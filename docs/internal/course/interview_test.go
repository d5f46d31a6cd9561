package course

import (
	"cmp"
	"context"
	"errors"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	miniserver "github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

var errNotHeld = errors.New("the lock is not held")

// releaseWatched deletes the key if its value is the token, without a script.
func releaseWatched(ctx context.Context, rdb *redis.Client, key, token string) error {
	return rdb.Watch(ctx, func(tx *redis.Tx) error {
		value, err := tx.Get(ctx, key).Result()
		if err != nil || value != token {
			return cmp.Or(err, errNotHeld) // redis.Nil: there is no key
		}
		_, err = tx.TxPipelined(ctx, func(multi redis.Pipeliner) error {
			return multi.Del(ctx, key).Err()
		})
		return err // redis.TxFailedErr: the key has changed since WATCH
	}, key)
}

// The interview's release with WATCH deletes its own lock, and no other: not even one that is
// acquired between its GET and its EXEC. A transaction on another connection deletes that one.
func TestInterview_AReleaseWithWatchDeletesOnlyItsOwnLock(t *testing.T) {
	ctx, server := context.Background(), miniredis.RunT(t)
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer rdb.Close()
	other := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer other.Close()
	var act func() // once, between the GET and the transaction
	server.Server().SetPreHook(func(_ *miniserver.Peer, command string, _ ...string) bool {
		if do := act; do != nil && command == "MULTI" {
			act = nil
			do()
		}
		return false
	})

	require.ErrorIs(t, releaseWatched(ctx, rdb, "lock", "alice"), redis.Nil)
	server.Set("lock", "alice")
	require.ErrorIs(t, releaseWatched(ctx, rdb, "lock", "bob"), errNotHeld)
	require.NoError(t, releaseWatched(ctx, rdb, "lock", "alice"))
	require.False(t, server.Exists("lock"))

	bobGetsIn := func() { other.Set(ctx, "lock", "bob", time.Minute) }
	server.Set("lock", "alice")
	act = bobGetsIn
	require.ErrorIs(t, releaseWatched(ctx, rdb, "lock", "alice"), redis.TxFailedErr)
	server.CheckGet(t, "lock", "bob")

	server.Set("lock", "alice")
	act = func() { other.SetNX(ctx, "lock", "bob", time.Minute) }
	require.NoError(t, releaseWatched(ctx, rdb, "lock", "alice"), "a refused client changes nothing")

	server.Set("lock", "alice")
	act = func() { other.PExpire(ctx, "lock", time.Minute) }
	require.ErrorIs(t, releaseWatched(ctx, rdb, "lock", "alice"), redis.TxFailedErr, "a renewal")

	act = bobGetsIn
	require.NoError(t, rdb.Watch(ctx, func(tx *redis.Tx) error {
		_, err := rdb.TxPipelined(ctx, func(multi redis.Pipeliner) error {
			return multi.Del(ctx, "lock").Err()
		})
		return err
	}, "lock"))
	require.False(t, server.Exists("lock"), "on another connection nothing is watched")
}

// The interview's read/write lock keeps readers and writers apart, lets readers in together, and
// lets no reader overtake a writer that waits. The part of a client that dies ends at its deadline.
func TestInterview_AReadWriteLock(t *testing.T) {
	page, err := os.ReadFile("../../read/interview/nesting.md")
	require.NoError(t, err)
	scripts := regexp.MustCompile("(?s)```lua\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	require.Len(t, scripts, 2)
	ctx, server := context.Background(), miniredis.RunT(t)
	now := time.Now()
	server.SetTime(now)
	pass := func(d time.Duration) {
		now = now.Add(d)
		server.SetTime(now)
		server.FastForward(d)
	}
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer rdb.Close()
	run := func(script int, token string) bool {
		got, err := rdb.Eval(ctx, scripts[script][1], []string{"readers:{7}", "writer:{7}"}, token, 10_000).Bool()
		require.NoError(t, err)
		return got
	}
	read := func(token string) bool { return run(0, token) }
	write := func(token string) bool { return run(1, token) }

	require.True(t, read("r1"))
	require.True(t, read("r2"), "readers are inside together")
	require.True(t, read("r2"), "sent twice")
	require.False(t, write("w1"), "readers are inside")
	require.False(t, read("r3"), "no reader overtakes a writer that waits")
	require.False(t, write("w2"), "one writer waits at a time")
	rdb.ZRem(ctx, "readers:{7}", "r1")
	require.False(t, write("w1"), "a reader is left")
	rdb.ZRem(ctx, "readers:{7}", "r2")
	require.True(t, write("w1"))
	require.True(t, write("w1"), "sent twice")
	require.False(t, read("r3"))
	require.False(t, write("w2"))
	pass(10 * time.Second)
	require.True(t, read("r3"), "the writer died")
	pass(9 * time.Second)
	require.True(t, read("r4"))
	pass(time.Second)
	require.False(t, write("w2"), "r4 is left")
	pass(9 * time.Second)
	require.True(t, write("w2"), "both readers died, each at its own deadline")
}
