package redislock

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	miniserver "github.com/alicebob/miniredis/v2/server"
)

// "try" lays this file over a step's folder. It ends the process when a story hangs, and
// prints where every goroutine is. It looks for progress, not at how long a story takes:
// on a busy machine all take longer.

// watchRounds is how often it looks in the time that it waits for progress.
const watchRounds = 50

// watchMost is how many commands no story needs.
const watchMost = 50_000

var (
	watchBusy  atomic.Bool  // a story is played
	watchStory atomic.Int64 // the how manieth it is

	watchMu      sync.Mutex
	watchServers []*miniserver.Server // of the story
)

func init() {
	patience, err := time.ParseDuration(os.Getenv("TOUR_PATIENCE"))
	if err != nil {
		return
	}
	inMemory, inBubble := newRedis, play
	labs := 0
	newRedis = func(node int) backend {
		// The first story of a process has two test harnesses: in the first one, Redis
		// learns the lock's scripts. What the lock prints there is not about the story.
		if node == 0 && watchStory.Load() == 1 {
			if labs++; labs == 2 {
				fmt.Println("tour: the story begins")
			}
		}
		redis := inMemory(node)
		if memory, ok := redis.(*miniredis.Miniredis); ok {
			watchMu.Lock()
			defer watchMu.Unlock()
			watchServers = append(watchServers, memory.Server())
		}
		return redis
	}
	play = func(t *testing.T, story func(*testing.T)) {
		watchMu.Lock()
		watchServers = nil
		watchMu.Unlock()
		watchStory.Add(1)
		watchBusy.Store(true)
		defer watchBusy.Store(false)
		inBubble(t, story)
	}
	go watchProgress(patience / watchRounds)
}

// watchProgress counts how often it has looked without anything having moved, not the
// time: when the machine stalls, it stalls as well.
func watchProgress(round time.Duration) {
	still, rounds, moves, story := 0, 0, 0, int64(0)
	for {
		time.Sleep(round)
		now, this := watchMoves(), watchStory.Load()
		if !watchBusy.Load() || this != story {
			still, rounds, moves, story = 0, 0, now, this
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
		case rounds >= watchRounds && now > watchMost:
			watchEnd("no end")
		}
	}
}

// watchMoves counts the commands that Redis has run in the story.
func watchMoves() (n int) {
	watchMu.Lock()
	defer watchMu.Unlock()
	for _, s := range watchServers {
		n += s.TotalCommands()
	}
	return n
}

func watchEnd(why string) {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	fmt.Printf("\ntour: %s\n\n%s\n", why, stacks)
	os.Exit(3)
}
