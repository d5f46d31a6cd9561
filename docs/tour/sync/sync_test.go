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

func TestWhoIsInside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m RWMutex
		m.RLock()
		require.True(t, m.TryRLock(), "readers share it")
		require.False(t, m.TryLock(), "a writer does not")
		go m.Lock()
		synctest.Wait()
		require.False(t, m.TryRLock(), "a writer waits, and goes first")
		m.RUnlock()
		m.RUnlock()
		synctest.Wait()
		m.Unlock()
		require.PanicsWithValue(t, "sync: unlock of unlocked mutex", m.Unlock)
		require.PanicsWithValue(t, "sync: unlock of unlocked mutex", m.RUnlock)

		var once Once
		start := time.Now()
		go once.Do(func() { time.Sleep(time.Second) })
		synctest.Wait()
		once.Do(func() { t.Error("twice") })
		require.Equal(t, time.Second, time.Since(start), "the second one waits for the first")
	})
}
