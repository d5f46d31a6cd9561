package sync

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var shared Mutex // of two bubbles

func TestWaitingDoesNotStopTheClock(t *testing.T) {
	for range 2 {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			inside, done := 0, make(chan bool)
			for range 3 {
				go func() {
					shared.Lock()
					defer shared.Unlock()
					inside++
					assert.Equal(t, 1, inside)
					time.Sleep(time.Second) // Redis answers
					inside--
					done <- true
				}()
			}
			for range 3 {
				<-done
			}
			require.Equal(t, 3*time.Second, time.Since(start))
		})
	}
}

func TestRWMutex(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m RWMutex
		m.RLock()
		require.True(t, m.TryRLock(), "readers share it")
		require.False(t, m.TryLock(), "a writer does not")
		got := make(chan string, 3)
		go func() { m.Lock(); got <- "writer"; m.Unlock() }()
		synctest.Wait()
		require.False(t, m.TryRLock(), "a writer waits, and goes first")
		go func() { m.RLocker().Lock(); got <- "reader"; m.RLocker().Unlock() }()
		synctest.Wait()
		m.RUnlock()
		m.RUnlock()
		require.Equal(t, "writer", <-got)
		require.Equal(t, "reader", <-got)
		synctest.Wait()
		require.True(t, m.TryLock())
		m.Unlock()
		require.PanicsWithValue(t, "sync: unlock of unlocked mutex", m.Unlock)
		require.PanicsWithValue(t, "sync: unlock of unlocked mutex", m.RUnlock)
	})
}

func TestOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		value := OnceValue(func() int { time.Sleep(time.Second); n++; return n })
		go value()
		synctest.Wait()
		require.Equal(t, 1, value(), "the second one waits for the first")
		two := OnceValues(func() (int, error) { n++; return n, nil })
		two()
		got, err := two()
		require.NoError(t, err)
		require.Equal(t, 2, got)
		once := OnceFunc(func() { n++ })
		once()
		once()
		require.Equal(t, 3, n)
	})
}
