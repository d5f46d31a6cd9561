package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"time"

	"example.com/redislock-steps/docs/internal/course"
)

// watchEvery is how often the file is looked at. A look costs nothing, and works on file
// systems that tell of no changes: networks, containers, WSL.
const watchEvery = 300 * time.Millisecond

// runWatch tries at each save, until it is interrupted.
func (t *tour) runWatch(ctx context.Context, s course.Step, names []string) error {
	if err := t.prepare(s); err != nil {
		return err
	}
	file := newWatched(t.path("", myFile))
	for ctx.Err() == nil {
		if t.live {
			t.printf("\x1b[2J\x1b[3J\x1b[H") // an empty screen
		}
		err := t.untilChanged(ctx, file, func(ctx context.Context) error { return t.tryOnce(ctx, s, names) })
		switch {
		case ctx.Err() != nil:
		case errors.Is(err, errChanged):
			continue
		case err != nil && !errors.Is(err, errUnsolved):
			t.printf("%v\n", err)
		}
		if ctx.Err() == nil {
			t.printf("\nWatching %s: save it, and it runs again. Ctrl-C ends this.\n", myFile)
			file.wait(ctx)
		}
	}
	t.printf("\nNo longer watching. %s is as you left it.\n", myFile)
	return nil
}

var errChanged = errors.New("the file has changed meanwhile")

// untilChanged runs something, and stops it when the file changes meanwhile.
func (t *tour) untilChanged(ctx context.Context, file *watched, do func(context.Context) error) error {
	running, stop := context.WithCancelCause(ctx)
	changed := make(chan bool, 1)
	go func() {
		if file.wait(running) {
			changed <- true
			stop(errChanged)
		}
		close(changed)
	}()
	err := do(running)
	stop(nil)
	if <-changed {
		return errChanged
	}
	return err
}

// A watched file tells when its content has changed.
type watched struct {
	name string
	text []byte
}

func newWatched(name string) *watched {
	w := &watched{name: name}
	w.changed()
	return w
}

// changed reports whether the content is another one than the last time. Many editors
// write a file twice, or put a new one in its place: while there is none, or an empty
// one, nothing has changed.
func (w *watched) changed() bool {
	text, err := os.ReadFile(w.name)
	if err != nil || len(text) == 0 || bytes.Equal(text, w.text) {
		return false
	}
	w.text = text
	return true
}

// wait returns true when the file has changed, false when ctx ends.
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
