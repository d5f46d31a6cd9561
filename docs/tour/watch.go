package main

import (
	"bytes"
	"context"
	"errors"
	"maps"
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
	files := newWatched(func() lock {
		l, _ := t.readLock(myDir)
		return l
	})
	for {
		err := t.tryOnce(ctx, req.steps[0], req.names)
		if ctx.Err() != nil {
			break
		}
		if err != nil && !errors.Is(err, errUnsolved) {
			t.printf("%s\n", word(err.Error()))
		}
		t.printf("\nWatching %s: save a file, and it runs again. Ctrl-C ends this.\n", myDir)
		if !files.wait(ctx) {
			break
		}
		if t.live {
			t.printf("\x1b[2J\x1b[3J\x1b[H") // an empty screen
		}
	}
	t.printf("\nNo longer watching. %s is as you left it.\n", myDir)
	return nil
}

// A watched lock tells when its content has changed.
type watched struct {
	read        func() lock
	last, tried lock // at the last look, and when it has changed
}

func newWatched(read func() lock) *watched {
	w := &watched{read: read}
	w.changed()
	w.tried = w.last
	return w
}

// changed reports whether the content is another one than when it last was. Many editors
// write a file twice, or put a new one in its place: what counts is what two looks have seen.
func (w *watched) changed() bool {
	now := w.read()
	maps.DeleteFunc(now, func(_ string, text []byte) bool { return len(text) == 0 })
	same := func(l lock) bool { return maps.EqualFunc(now, l, bytes.Equal) }
	settled := same(w.last)
	w.last = now
	if !settled || len(now) == 0 || same(w.tried) {
		return false
	}
	w.tried = now
	return true
}

// wait returns true when the lock has changed, false when ctx ends.
func (w *watched) wait(ctx context.Context) bool {
	for tick := time.Tick(watchEvery); ; {
		select {
		case <-ctx.Done():
			return false
		case <-tick:
			if w.changed() {
				return true
			}
		}
	}
}
