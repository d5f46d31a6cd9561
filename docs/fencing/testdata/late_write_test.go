package redislock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The story of ../fencing_test.go with a lock that gives no numbers and a resource that
// checks none. The tour adds this file to step 08's tests and runs it on each of the
// eight locks: the last row of docs/read/how-we-know.md.

func TestKleppmannsFigure_TheLateWriteIsRefused(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		limitHold(alice, time.Millisecond) // a watchdog is paused with the rest
		stock := 100
		require.NoError(t, alice.TryLock(ctx))
		left := stock
		lab.note("alice reads stock -> %d", left)
		lab.note("alice is paused") // a garbage collection, a page fault, SIGSTOP
		time.Sleep(2 * ttl)

		require.NoError(t, bob.TryLock(ctx), "alice has been paused for two ttls, but bob is refused: a lock without a ttl has no late writer, and no next owner either")
		lab.note("bob reads stock -> %d", stock)
		stock--
		lab.note("bob writes stock = %d", stock)
		stock = left - 10 // she has sold ten of those that she saw 20 seconds ago
		lab.note("alice writes stock = %d", stock)

		require.Equal(t, 99, stock, "alice wrote late and overwrote what bob had written: his sale is lost")
	})
}
