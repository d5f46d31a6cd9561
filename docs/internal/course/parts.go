package course

import "strings"

// AlsoPasses begins the line of a story's comment that says why the story passes on the
// older lock as well: "Also passes on step 03, because ...".
const AlsoPasses = "Also passes on "

// HasAlsoPasses reports whether a story's comment says so.
func HasAlsoPasses(doc string) bool { return strings.Contains("\n"+doc, "\n"+AlsoPasses) }

// A Part is what a step's stories ask for first, second, third: a step that is long to
// write is solved part by part.
type Part struct {
	Name  string
	Asks  string
	Needs []string // what its stories use of the lock, besides TryLock, Lock and Unlock
	of    []string // files of tests, or beginnings of stories' names; none is all others
}

var parts = map[int][]Part{
	4: {
		{"token", "Unlock deletes the caller's own lock and no other.", nil, nil},
		{"resend", "A client that its own key refuses has the lock.", nil, []string{"TestTheReplyToTheAcquireIsLost", "TestRedisHangsInTheMiddle"}},
	},
	5: {
		{"script", "One script compares and deletes.", nil,
			[]string{"TestTheLeaseEndsDuringUnlock", "TestAScript_NamesItsKey", "TestRedisForgetsItsScripts", "TestUnlockFails"}},
		{"detach", "Unlock works with a cancelled context, and returns when Redis hangs.", nil,
			[]string{"TestTheRequestIsCancelled", "TestRedisHangs_Unlock"}},
		{"undo", "What may have run: a TryLock without a reply is undone, and a release without a reply is not a loss.", nil, nil},
	},
	6: {
		{"nest", "The owner may lock again: the key holds the depth, and what is sent twice counts once.", nil, []string{"6_reentrant_test.go", "more_6_test.go"}},
		{"wait", "Waiters are woken and do not poll; a holder that dies wakes no one.", nil, nil},
	},
	7: {
		{"renew", "The lease is renewed until Unlock.", nil, []string{"7_watchdog_test.go"}},
		{"Lost", "The holder is notified of a loss before the key can expire.", []string{"Lost", "ValidUntil", "MaxHold", "ErrLost"}, nil},
		{"Do", "Work whose context ends when the lock is lost.", []string{"Do", "ErrNotRun", "ErrLost", "Lost", "MaxHold", "ValidUntil"},
			[]string{"TestDo_", "TestTheLockIsLostDuringDo", "TestDoCannotLock", "TestALoss_SaysItsCause", "TestTheReleaseIsAnsweredAfterTheLease"}},
	},
	8: {
		{"majority", "All nodes are asked, and a majority rules.", nil,
			[]string{"8_failover_test.go", "TestTheMajority", "TestOthersHold", "TestLock_SplitVote", "TestAWaiter_Asks", "TestTwoNodesSayNoFirst", "TestANodeThatSaidNo",
				"TestThreeNodesAreDown", "TestTryLock_InvalidNodes", "TestClientsThatCannotBeCompared", "TestLockWhenAMajority", "TestTwoNodesRefuse", "TestTheContextCutsOff"}},
		{"time", "Nodes that are slow or silent cost NodeTimeout at most, and keep nothing.", []string{"NodeTimeout"}, nil},
		{"healing", "A majority renews, and a node that has lost the lock gets it again.", nil,
			[]string{"TestRenewals_", "TestThreeNodesFail", "TestTwoNodesRestartEmpty", "TestOnlyOneNodeRenews", "TestAMajorityIsLost", "TestANodeKeepsTheFirstHold", "TestSomebodyElseHoldsANode", "TestTheHoldIsLostBefore",
				"TestOneNodeIsDownAndOneHangs", "TestEveryAnswerTakes60ms"}},
	},
}

// Parts returns the parts in the order in which they are best written; none for a step
// that is short.
func (s Step) Parts() []Part { return parts[s.N] }

// PartOf returns the index in Parts of a story that begins in s.
func (s Step) PartOf(file, story string) int {
	others := 0
	for i, p := range s.Parts() {
		if p.of == nil {
			others = i
		}
		for _, of := range p.of {
			if of == file || strings.HasPrefix(story, of) {
				return i
			}
		}
	}
	return others
}
