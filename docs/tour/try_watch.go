package main

import (
	"context"
	"errors"
	"time"
)

// watchEvery is how often the files are looked at. A look costs nothing, and works on file
// systems that tell of no changes: networks, containers, WSL.
const watchEvery = 150 * time.Millisecond

// runWatch tries at each save, until it is interrupted.
func (t *tour) runWatch(ctx context.Context, req request) error {
	if err := t.prepare(req); err != nil {
		return err
	}
	t.watching = true
	for now := t.digestNow(); ctx.Err() == nil; {
		if err := t.tryOnce(ctx, req.steps[0], req.names); err != nil && !errors.Is(err, errUnsolved) {
			t.printf("%s\n", word(err.Error()))
		}
		t.printf("\nWatching %s: save a file, and it runs again. Ctrl-C ends this.\n", myDir)
		now = t.saved(ctx, now)
		if t.live && ctx.Err() == nil {
			t.printf("\x1b[2J\x1b[3J\x1b[H") // an empty screen
		}
	}
	t.printf("\nNo longer watching. %s is as you left it.\n", myDir)
	return nil
}

func (t *tour) digestNow() string {
	l, _ := t.readLock(myDir)
	return l.digest()
}

// saved waits until the lock is another one than that. Many editors write a file twice, or put a
// new one in its place: what counts is what two looks have seen.
func (t *tour) saved(ctx context.Context, tried string) string {
	last := tried
	for tick := time.Tick(watchEvery); ; {
		select {
		case <-ctx.Done():
			return tried
		case <-tick:
			now := t.digestNow()
			if now == last && now != tried && t.hasLock(myDir) {
				return now
			}
			last = now
		}
	}
}
