// Package redislock is the second reading: what a lock with the fix must survive as well.
// Each story stands here once, and is played on every step that has to pass it:
//
//	go test ./docs/stories                                    all of them
//	go test ./docs/stories -run /step05                       all that step 05 has to pass
//	go test ./docs/stories -run TestAScript_NamesItsKey       one, on steps 05 to 08
//	go test ./docs/stories -run TestAScript_NamesItsKey -on 4 one, on a step that need not pass it
//
// Laid over a step's folder, the same files are what go run ./docs/tour plays on other locks.
package redislock

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/redislock-steps/docs/internal/course"
	step01 "example.com/redislock-steps/step01_setnx"
	step02 "example.com/redislock-steps/step02_expire"
	step03 "example.com/redislock-steps/step03_atomic_set"
	step04 "example.com/redislock-steps/step04_owner_token"
	step05 "example.com/redislock-steps/step05_lua_release"
	step06 "example.com/redislock-steps/step06_reentrant"
	step07 "example.com/redislock-steps/step07_watchdog"
	step08 "example.com/redislock-steps/step08_redlock"
)

// What stories and the lab must know of a step is in a folder's new_test.go. Here it is that
// of the step that is played: stories play one after the other.
var (
	step     int
	nodes    int
	minority int // of the nodes may fail

	ErrNotAcquired, ErrNotHeld, ErrLost, ErrNotRun error
)

var on = flag.Int("on", 0, "the one step to play the stories on")

// each plays a story on all steps that its file belongs to, or on that of -on.
func each(t *testing.T, story func(t *testing.T)) {
	_, file, _, _ := runtime.Caller(1)
	played := false
	for _, s := range course.Steps {
		if s.N == *on || *on == 0 && slices.Contains(course.Second(s.Dir), filepath.Base(file)) {
			played = true
			t.Run(fmt.Sprintf("step%02d", s.N), func(t *testing.T) {
				enter(s.N)
				story(t)
			})
		}
	}
	if !played {
		t.Fatalf("no step plays this: -on takes 1 to %d, and docs/internal/course must name %s", len(course.Steps), filepath.Base(file))
	}
}

// locks make a lock of each step.
var locks = [...]func(rdbs []redis.UniversalClient, key string, ttl time.Duration) *lockOf{
	1: func(rdbs []redis.UniversalClient, key string, _ time.Duration) *lockOf {
		return &lockOf{anyLock: step01.New(rdbs[0], key)}
	},
	2: onOne(step02.New),
	3: onOne(step03.New),
	4: onOne(step04.New),
	5: onOne(step05.New),
	6: onOne(step06.New),
	7: func(rdbs []redis.UniversalClient, key string, ttl time.Duration) *lockOf {
		l := step07.New(rdbs[0], key, ttl)
		return &lockOf{anyLock: l, later: l, maxHold: &l.MaxHold}
	},
	8: func(rdbs []redis.UniversalClient, key string, ttl time.Duration) *lockOf {
		l := step08.New(rdbs, key, ttl)
		if realTime {
			l.NodeTimeout = slack(0) // a node on a busy machine has not failed
		}
		return &lockOf{anyLock: l, later: l, NodeTimeout: l.NodeTimeout, maxHold: &l.MaxHold, nodeTimeout: &l.NodeTimeout}
	},
}

func onOne[L anyLock](of func(redis.UniversalClient, string, time.Duration) L) func([]redis.UniversalClient, string, time.Duration) *lockOf {
	return func(rdbs []redis.UniversalClient, key string, ttl time.Duration) *lockOf {
		return &lockOf{anyLock: of(rdbs[0], key, ttl)}
	}
}

func newLock(rdbs []redis.UniversalClient, key string, ttl time.Duration) *lockOf {
	return locks[step](rdbs, key, ttl)
}

// errs are the errors of each step, in this order: ErrNotAcquired, ErrNotHeld, ErrLost, ErrNotRun.
var errs = [...][4]error{
	1: {step01.ErrNotAcquired, step01.ErrNotHeld},
	2: {step02.ErrNotAcquired, step02.ErrNotHeld},
	3: {step03.ErrNotAcquired, step03.ErrNotHeld},
	4: {step04.ErrNotAcquired, step04.ErrNotHeld},
	5: {step05.ErrNotAcquired, step05.ErrNotHeld},
	6: {step06.ErrNotAcquired, step06.ErrNotHeld},
	7: {step07.ErrNotAcquired, step07.ErrNotHeld, step07.ErrLost, step07.ErrNotRun},
	8: {step08.ErrNotAcquired, step08.ErrNotHeld, step08.ErrLost, step08.ErrNotRun},
}

// enter makes n the step that is played.
func enter(n int) {
	if step == n {
		return
	}
	learnt[step] = maps.Collect(scripts.Range) // the lab has learnt the scripts of that step's lock
	scripts.Clear()
	learnScripts = sync.Once{}
	if known, ok := learnt[n]; ok {
		learnScripts.Do(func() {})
		for sha, source := range known {
			scripts.Store(sha, source)
		}
	}
	step, nodes = n, course.Steps[n-1].Nodes
	minority = max(1, (nodes-1)/2)
	ErrNotAcquired, ErrNotHeld, ErrLost, ErrNotRun = errs[n][0], errs[n][1], errs[n][2], errs[n][3]
	lockErrors = []named{{"ErrNotAcquired", ErrNotAcquired}, {"ErrNotHeld", ErrNotHeld}, {"ErrLost", ErrLost}}
	lockErrors = slices.DeleteFunc(lockErrors, func(e named) bool { return e.err == nil })
}

var learnt = map[int]map[any]any{}

// anyLock is what all locks have, and later what they have from step 07 on.
type (
	anyLock interface {
		TryLock(ctx context.Context) error
		Lock(ctx context.Context) error
		Unlock(ctx context.Context) error
	}
	later interface {
		Lost() <-chan struct{}
		ValidUntil() time.Time
		Do(ctx context.Context, fn func(context.Context) error) error
	}
)

// Lock is what a folder calls it.
type Lock = lockOf

// A lockOf is a lock of any step. Each call first gives the lock the fields that a story has set.
type lockOf struct {
	MaxHold, NodeTimeout time.Duration
	maxHold, nodeTimeout *time.Duration // of the lock; nil if it has none

	anyLock
	later
}

func (l *lockOf) the() *lockOf {
	give(l.maxHold, l.MaxHold)
	give(l.nodeTimeout, l.NodeTimeout)
	return l
}

func give(to *time.Duration, d time.Duration) {
	if to != nil && *to != d { // otherwise several goroutines may be using the lock
		*to = d
	}
}

func (l *lockOf) TryLock(ctx context.Context) error { return l.the().anyLock.TryLock(ctx) }
func (l *lockOf) Lock(ctx context.Context) error    { return l.the().anyLock.Lock(ctx) }
func (l *lockOf) Unlock(ctx context.Context) error  { return l.the().anyLock.Unlock(ctx) }
func (l *lockOf) Do(ctx context.Context, fn func(context.Context) error) error {
	return l.the().later.Do(ctx, fn)
}

// A handle is a lock whose calls appear in the timeline.
type handle struct {
	*lockOf
	lab *lab
	who string
}

// set sets a field of the lock, and reports whether it has one.
func (h *handle) set(field string, d time.Duration) bool {
	switch {
	case field == "MaxHold" && h.maxHold != nil:
		h.MaxHold = d
	case field == "NodeTimeout" && h.nodeTimeout != nil:
		h.NodeTimeout = d
	default:
		return false
	}
	return true
}

func (h *handle) TryLock(ctx context.Context) error {
	return h.lab.call(h.who, "TryLock", func() error { return h.lockOf.TryLock(ctx) })
}

// Lock does not wait forever, as a broken lock might: that of step 08 retries when no node replies.
func (h *handle) Lock(ctx context.Context) error {
	if step == 8 {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, 100*ttl)
		defer cancel()
	}
	return h.lab.call(h.who, "Lock", func() error { return h.lockOf.Lock(ctx) })
}

func (h *handle) Unlock(ctx context.Context) error {
	return h.lab.call(h.who, "Unlock", func() error { return h.lockOf.Unlock(ctx) })
}
