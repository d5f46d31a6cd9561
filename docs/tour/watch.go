package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"maps"
	"strings"
	"time"

	"example.com/redislock-steps/docs/internal/course"
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
	keys := t.keys()
	for {
		t.complainOf(t.tryOnce(ctx, req.steps[0], req.names))
		if ctx.Err() != nil {
			break
		}
		t.printf("\nWatching %s: save a file, and it runs again. Ctrl-C ends this.\n", myDir)
		if keys != nil {
			t.printf("Or type a key, then Enter: h a hint, n the next failing story, q to end; Enter alone runs it again.\n")
		}
		if !t.wait(ctx, req.steps[0], files, keys) {
			break
		}
		if t.live {
			t.printf("\x1b[2J\x1b[3J\x1b[H") // an empty screen
		}
	}
	t.printf("\nNo longer watching. %s is as you left it.\n", myDir)
	return nil
}

func (t *tour) complainOf(err error) {
	if err != nil && !errors.Is(err, errUnsolved) {
		t.printf("%s\n", word(err.Error()))
	}
}

// keys are the lines that the user types; nil if standard input is not a terminal. A single
// key without Enter would need another way on each system.
func (t *tour) keys() <-chan string {
	if t.typed == nil {
		return nil
	}
	keys := make(chan string)
	go func() {
		for in := bufio.NewScanner(t.typed); in.Scan(); {
			keys <- strings.ToLower(strings.TrimSpace(in.Text()))
		}
	}()
	return keys
}

// wait does what the keys ask for. It returns true when the lock is to be tried again, false
// when ctx or the user ends it.
func (t *tour) wait(ctx context.Context, s course.Step, files *watched, keys <-chan string) bool {
	fails, shown := t.judged.failing(), 0
	for tick := time.Tick(watchEvery); ; {
		select {
		case <-ctx.Done():
			return false
		case <-tick:
			if files.changed() {
				return true
			}
		case key := <-keys:
			switch {
			case key == "":
				return true
			case key == "q":
				return false
			case key == "h" && len(fails) > 0:
				t.complainOf(t.runHint(s, []string{fails[shown].Name}))
			case key == "n" && len(fails) > 0:
				shown = (shown + 1) % len(fails)
				t.printf("  %d of %d failing:\n\n", shown+1, len(fails))
				t.trial(t.judged, fails[shown])
			case key == "h", key == "n":
				t.printf("No story has failed in this run.\n")
			default:
				t.printf("There is no key %s: h, n, q, or Enter alone.\n", key)
			}
		}
	}
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
