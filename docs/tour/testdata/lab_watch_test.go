package redislock

import (
	"fmt"
	"os"
	"runtime"
	"sync"
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
	watchMu      sync.Mutex
	watchStories int                  // how many have begun
	watchLabs    int                  // test harnesses of this story
	watchServers []*miniserver.Server // of this story
)

func init() {
	patience, err := time.ParseDuration(os.Getenv("TOUR_PATIENCE"))
	if err != nil {
		return
	}
	inMemory, inBubble := newRedis, play
	newRedis = func(node int) backend {
		redis := inMemory(node)
		watchMu.Lock()
		defer watchMu.Unlock()
		// The first story of a process has two test harnesses: in the first one, Redis
		// learns the lock's scripts. What the lock prints there is not about the story.
		if node == 0 {
			if watchLabs++; watchStories == 1 && watchLabs == 2 {
				fmt.Println("tour: the story begins")
			}
		}
		if memory, ok := redis.(*miniredis.Miniredis); ok {
			watchServers = append(watchServers, memory.Server())
		}
		return redis
	}
	play = func(t *testing.T, story func(*testing.T)) {
		watchMu.Lock()
		watchStories, watchLabs, watchServers = watchStories+1, 0, nil
		watchMu.Unlock()
		ended := make(chan bool)
		defer close(ended)
		go watchStory(patience/watchRounds, ended)
		inBubble(t, story)
	}
}

// watchStory counts how often it has looked without anything having moved, not the time:
// when the machine stalls, it stalls as well.
func watchStory(round time.Duration, ended chan bool) {
	still, moves := 0, 0
	for rounds := 1; ; rounds++ {
		select {
		case <-ended:
			return
		case <-time.After(round):
		}
		still++
		if now := watchMoves(); now != moves {
			still, moves = 0, now
		}
		if still >= watchRounds || rounds >= watchRounds && moves > watchMost {
			watchEnd()
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

func watchEnd() {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	fmt.Printf("\ntour: no end\n\n%s\n", stacks)
	os.Exit(3)
}
