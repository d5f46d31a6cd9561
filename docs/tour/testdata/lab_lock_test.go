package redislock

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"
)

// "try" lays this file over a step's folder, where the handle's own TryLock is then called tryLock. In
// the second pass of a try, a story that calls TryLock gets one attempt of Lock: what holds for TryLock
// holds for Lock.

var throughLock = os.Getenv("TOUR_THROUGH") == "Lock"

// oneAttempt is shorter than a poll. It is not a multiple of the latency: no attempt begins when it ends.
const oneAttempt = 9950 * time.Microsecond

// aloneInTryLock are stories in which one attempt takes longer than that, and not because it is refused.
var aloneInTryLock = []string{
	// It waits for another call on the same handle.
	"TestAnotherGoroutineLocksDuringUnlock_ItsHoldCanBeReleased",
	"TestAReplyIsLostAndAnotherGoroutineLocksWithTheHandle_UnlockReturnsNil",
	"TestUnlockDuringATryLock_ItCounts",
	"TestSlowNodes_TheNextAttemptWaitsForTheLastRelease",
	// The answers are late: Lock may give up first if it has several nodes to ask.
	"TestTheAnswerToTheAcquireTakesMostOfTheTTL_TheHoldIsKept",
	"TestRepliesAreLate_TheLeaseCountsFromTheSend",
	"TestTryLock_NestedReplyAtExpiry_ReturnsErrNotHeld",
	"TestTheNestedTryLockIsAnsweredLate_TheHoldIsKept",
	"TestARefusalComesLate_NothingIsSentAfterIt",
	"TestTheRepliesComeAfterTheValidity_TheLockIsNotAcquired",
	// It measures how long an attempt waits for nodes that hang.
	"TestTwoNodesHangAndOneRefuses_ThatTakesOneNodeTimeout",
	"TestThreeNodesHang_NodeTimeoutLimitsTheWait",
	"TestTheContextEndsWhileNodesHang_NothingStays",
	"TestNodeTimeout_IsATenthOfTheTTLAndAtMost50msByDefault",
}

func (h *handle) TryLock(ctx context.Context) error {
	if story, _, _ := strings.Cut(h.lab.t.Name(), "/"); !throughLock || slices.Contains(aloneInTryLock, story) {
		return h.tryLock(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, oneAttempt)
	defer cancel()
	return h.Lock(ctx)
}
