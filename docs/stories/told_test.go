package redislock

import (
	"context"
	"fmt"
	"time"

	"github.com/stretchr/testify/require"
)

// What the second reading uses of the numbered files: the same text.

// inBackground runs fn in a goroutine and returns the channel that gets its result.
func inBackground(fn func() error) <-chan result {
	done := make(chan result, 1)
	go func() {
		err := fn()
		done <- result{err, time.Now()}
	}()
	return done
}

// requireEntered fails unless bob got in soon after the lock was free.
func requireEntered(t *T, entry result, free time.Time, soon time.Duration, why string) {
	t.Helper()
	require.NoError(t, entry.err, "%s, but bob did not get in", why)
	late := entry.at.Sub(free)
	require.Less(t, late, slack(soon),
		"%s, but bob did not get in until %v later", why, late.Round(100*time.Microsecond))
}

type result struct {
	err error
	at  time.Time
}

func requireFreeAfter(t *T, ttl time.Duration, bob *handle, story string) {
	t.Helper()
	time.Sleep(ttl - slack(10*time.Millisecond))
	require.ErrorIs(t, bob.TryLock(ctx), ErrNotAcquired,
		"%s, her ttl of %v has not passed yet, but bob was not refused", story, ttl)
	time.Sleep(2 * slack(10*time.Millisecond))
	require.NoError(t, bob.TryLock(ctx), "%s, her ttl of %v has passed, but bob is still locked out", story, ttl)
}

func requireNotLost(t *T, l *handle, why string) {
	t.Helper()
	select {
	case <-l.Lost():
		require.Fail(t, "notified of a loss that did not happen", why)
	default:
	}
}

// faults are the ways in which a node fails. Each returns a function that heals the node.
var faults = []struct {
	name string
	fail func(lab *lab, node int) (heal func())
}{
	{"restarted empty", (*lab).restartEmpty},
	{"went down", (*lab).stop},
	{"hung", (*lab).hang},
	{"answered errors", (*lab).answerErrors},
}

// nodeNames names nodes in a message, counted from 1.
func nodeNames(some []int) string {
	switch {
	case nodes == 1:
		return "the only Redis"
	case len(some) == 1:
		return fmt.Sprintf("node %d of %d", some[0], nodes)
	}
	return fmt.Sprintf("nodes %v of %d", some, nodes)
}

// restartEmpty restarts a node that has no persistence.
func (l *lab) restartEmpty(node int) (nothing func()) {
	l.replace(node, "it restarts without its data")
	return func() {}
}

func (l *lab) answerErrors(node int) (stop func()) {
	s := l.server(node)
	s.SetError("MISCONF Errors writing to the AOF file: No space left on device")
	l.fault("%s answers errors", s.name)
	return func() {
		s.SetError("")
		l.fault("%s answers again", s.name)
	}
}

func requireLost(t *T, l *handle, within time.Duration, format string, args ...any) {
	t.Helper()
	if within > 0 {
		select {
		case <-l.Lost():
		case <-time.After(slack(within)):
		}
	}
	select {
	case <-l.Lost():
		l.lab.trace.add(record{Kind: "note", Text: l.who + "'s Lost is closed", Gone: l.who})
	default:
		require.Failf(t, "not notified of a loss", format, args...)
	}
}

// Do is defined here and not in new_test.go, because a learner may try a lock that has no
// Do yet. It does not wait forever for a broken lock.
func (h *handle) Do(ctx context.Context, fn func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, 100*ttl)
	defer cancel()
	return h.lab.call(h.who, "Do", func() error { return h.lockOf.Do(ctx, fn) })
}

// requireRefused fails unless a client is refused because another one is inside; inside says
// what it means if the client gets in.
func requireRefused(t *T, l *handle, inside string, args ...any) {
	t.Helper()
	err := l.TryLock(ctx)
	if err != nil {
		inside, args = "another client is inside, but %s's error does not match ErrNotAcquired", []any{l.who}
	}
	require.ErrorIsf(t, err, ErrNotAcquired, inside, args...)
}
