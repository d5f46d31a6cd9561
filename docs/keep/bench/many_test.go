package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// asked is a locker that counts who asks at the same time.
type asked struct {
	locker
	now, most, all atomic.Int32
	err            error
}

func (a *asked) lock(context.Context, string) (unlock, error) {
	a.all.Add(1)
	if a.err != nil {
		return nil, a.err
	}
	a.most.Store(max(a.most.Load(), a.now.Add(1)))
	return func() error { a.now.Add(-1); return nil }, nil
}

func TestInTurns_OneOfTheProcessAsksAtATime(t *testing.T) {
	a := &asked{}
	l, _ := openInTurns(func(network) (locker, error) { return a, nil })(network{})
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			release, err := l.lock(t.Context(), "many")
			if assert.NoError(t, err) {
				release()
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 50, a.all.Load())
	require.EqualValues(t, 1, a.most.Load(), "so many asked at a time")
}

func TestInTurns_WhoFailsLetsTheNextOneAsk(t *testing.T) {
	a := &asked{err: errors.New("no connection")}
	l, _ := openInTurns(func(network) (locker, error) { return a, nil })(network{})
	for range 2 {
		_, err := l.lock(t.Context(), "many")
		require.Equal(t, a.err, err)
	}
	a.err = nil
	_, err := l.lock(t.Context(), "many")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = l.lock(ctx, "many")
	require.ErrorIs(t, err, context.Canceled, "a client is inside, and the context has ended")
}
