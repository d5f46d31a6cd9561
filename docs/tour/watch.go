package main

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"time"
)

// watchEvery is how often the files are looked at. A look costs nothing, and works on file
// systems that tell of no changes: networks, containers, WSL.
const watchEvery = 300 * time.Millisecond

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
	for again := true; again; again = files.wait(ctx) {
		if t.live {
			t.printf("\x1b[2J\x1b[3J\x1b[H") // an empty screen
		}
		err := t.tryOnce(ctx, req.steps[0], req.names)
		if ctx.Err() != nil {
			break
		}
		if err != nil && !errors.Is(err, errUnsolved) {
			t.printf("%s\n", word(err.Error()))
		}
		t.printf("\nWatching %s: save a file, and it runs again. Ctrl-C ends this.\n", myDir)
		if t.moved != "" {
			t.printf("%s\n", t.moved)
		}
	}
	t.printf("\nNo longer watching. %s is as you left it.\n", myDir)
	return nil
}

// A watched lock tells when its content has changed.
type watched struct {
	read  func() lock
	files lock
	gone  bool // a file was missing at the last look
}

func newWatched(read func() lock) *watched {
	w := &watched{read: read}
	w.changed()
	return w
}

// changed reports whether the content is another one than the last time. Many editors
// write a file twice, or put a new one in its place: one that is missing, or empty, has
// only gone if it still is at the next look, and without any file nothing has changed.
func (w *watched) changed() bool {
	now := w.read()
	maps.DeleteFunc(now, func(_ string, text []byte) bool { return len(text) == 0 })
	missing := slices.ContainsFunc(w.files.names(), func(name string) bool { return now[name] == nil })
	wait := missing && !w.gone
	w.gone = missing
	if wait || len(now) == 0 || maps.EqualFunc(now, w.files, bytes.Equal) {
		return false
	}
	w.files, w.gone = now, false
	return true
}

// wait returns true when the lock has changed, false when ctx ends.
func (w *watched) wait(ctx context.Context) bool {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
			if w.changed() {
				return true
			}
		}
	}
}
