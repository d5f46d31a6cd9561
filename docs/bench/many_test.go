package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

// asked is a locker that counts who asks at the same time.
type asked struct {
	locker
	now, most, all atomic.Int32
	err            error
}

func (a *asked) lock(context.Context, string) (hold, error) {
	a.all.Add(1)
	if a.err != nil {
		return hold{}, a.err
	}
	a.most.Store(max(a.most.Load(), a.now.Add(1)))
	return hold{unlock: func() error { a.now.Add(-1); return nil }}, nil
}

func TestInTurns_OneOfTheProcessAsksAtATime(t *testing.T) {
	a := &asked{}
	l, _ := openInTurns(func(network) (locker, error) { return a, nil })(network{})
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			h, err := l.lock(t.Context(), "many")
			if err != nil {
				t.Error(err)
				return
			}
			h.unlock()
		})
	}
	wg.Wait()
	if a.all.Load() != 50 || a.most.Load() != 1 {
		t.Errorf("%d of 50 asked, up to %d at a time", a.all.Load(), a.most.Load())
	}
}

func TestInTurns_WhoFailsLetsTheNextOneAsk(t *testing.T) {
	a := &asked{err: errors.New("no connection")}
	l, _ := openInTurns(func(network) (locker, error) { return a, nil })(network{})
	for range 2 {
		if _, err := l.lock(t.Context(), "many"); err != a.err {
			t.Fatalf("the lock failed, and the waiter is told %v", err)
		}
	}
	a.err = nil
	if _, err := l.lock(t.Context(), "many"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.lock(ctx, "many"); !errors.Is(err, context.Canceled) {
		t.Errorf("somebody is inside, the context has ended, and the waiter is told %v", err)
	}
}
