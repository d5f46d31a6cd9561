package redislock

// What a lost reply means for TryLock and Unlock, and how waiters get out of step. Only step 05
// has this file, so that its lock.go shows the fix alone.

import (
	"context"
	"errors"
	mathrand "math/rand/v2"
	"time"
)

// undo releases what an acquisition that failed with err may have acquired.
func (l *Lock) undo(ctx context.Context, token string, err error) {
	if !errors.Is(err, ErrNotAcquired) {
		// Even if err says that it was not sent: that is only go-redis's last attempt.
		_, _, _ = sendRelease(ctx, undoPatience, l.rdb, releaseScript, l.key, token)
	}
}

// untilAnswered sends the script of a release until Redis replies, and reports whether token was
// released. An attempt whose reply was lost counts, even for a repeated Unlock: the next one finds
// no key, and "not held" would be a false alarm.
func (l *Lock) untilAnswered(ctx context.Context, script string, token *string) (bool, error) {
	released, unsure, err := sendRelease(ctx, releaseTimeout, l.rdb, script, l.key, *token)
	if unsure {
		l.maybeReleased.Store(token)
	}
	return released || l.maybeReleased.Load() == token, err
}

// around returns a random duration between d/2 and 3d/2.
func around(d time.Duration) time.Duration { return d/2 + mathrand.N(d) }
