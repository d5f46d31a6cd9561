package redislock

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// "try" lays this file over a step's folder. It ends the process when a story hangs, and
// prints where every goroutine is. It looks for progress, not at how long a story takes:
// on a busy machine all take longer.

// watchRounds is how often it looks in the time that it waits for progress.
const watchRounds = 50

// watchMost is how many messages no story needs.
const watchMost = 100_000

var (
	watchBusy  atomic.Bool  // a story is played
	watchMoves atomic.Int64 // messages to and from Redis, and beginnings of stories
	watchStory atomic.Int64 // watchMoves when the story began
)

func init() {
	patience, err := time.ParseDuration(os.Getenv("TOUR_PATIENCE"))
	if err != nil {
		return
	}
	inMemory, inBubble := newRedis, play
	newRedis = func(node int) backend { return watchedRedis{inMemory(node)} }
	play = func(t *testing.T, story func(*testing.T)) {
		watchStory.Store(watchMoves.Add(1))
		watchBusy.Store(true)
		defer watchBusy.Store(false)
		inBubble(t, story)
	}
	go watchProgress(patience / watchRounds)
}

// watchProgress counts how often it has looked without anything having moved, not the
// time: when the machine stands still, it does so as well.
func watchProgress(round time.Duration) {
	still, rounds, moves, story := 0, 0, int64(0), int64(0)
	for {
		time.Sleep(round)
		now, began := watchMoves.Load(), watchStory.Load()
		if !watchBusy.Load() || began != story {
			still, rounds, moves, story = 0, 0, now, began
			continue
		}
		if rounds++; now != moves {
			still, moves = 0, now
		} else {
			still++
		}
		switch {
		case still >= watchRounds:
			watchEnd("no progress")
		case rounds >= watchRounds && now-began > watchMost:
			watchEnd("no end")
		}
	}
}

func watchEnd(why string) {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	fmt.Printf("\ntour: %s\n\n%s\n", why, stacks)
	os.Exit(3)
}

type watchedRedis struct{ backend }

func (r watchedRedis) Dial() (net.Conn, error) {
	conn, err := r.backend.Dial()
	if err != nil {
		return nil, err
	}
	return watchedConn{conn}, nil
}

type watchedConn struct{ net.Conn }

func (c watchedConn) Read(b []byte) (int, error)  { watchMoves.Add(1); return c.Conn.Read(b) }
func (c watchedConn) Write(b []byte) (int, error) { watchMoves.Add(1); return c.Conn.Write(b) }
