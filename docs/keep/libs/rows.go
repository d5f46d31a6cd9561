package main

import "regexp"

// A column is a library as it is used, in a folder of this name.
type column struct {
	dir, name string
	nodes     int
}

var columns = []column{
	{"redsync", "redsync, one Redis", 1},
	{"redsync5", "redsync, five", 5},
	{"bsm", "bsm/redislock", 1},
	{"rueidis", "rueidislock", 1},
}

// A row is a story, and the columns that have no verdict of it: the page says why.
type row struct {
	title, story string
	none         []string // columns; only rueidis: the question does not arise
}

var rows = []row{
	{"Two arrive at once: one gets it",
		"TestTwoClientsComeAtOnce_OneGetsIn", nil},
	{"A late holder leaves the next owner's lock alone",
		"TestALateHolder_CannotDeleteTheNextOwnersLock", rueidis},
	{"Unlock after the request was cancelled releases the lock",
		"TestTheRequestIsCancelled_UnlockStillReleases", nil},
	{"A cancelled TryLock leaves nothing behind",
		"TestTryLock_CancelledInFlight_ReleasesKey", rueidis},
	{"An acquisition resent after a lost reply locks no one out",
		"TestTheReplyToTheAcquireIsLost_NobodyIsLockedOut", nil},
	{"A TryLock without a reply leaves nothing behind",
		"TestTheReplyToTheAcquireNeverComes_NothingStaysBehind", nil},
	{"A release resent after a lost reply is not an error",
		"TestTheReplyToTheReleaseIsLost_UnlockReturnsNil", rueidis},
	{"Work of a hundred TTLs keeps the lock",
		"TestWorkOfAHundredTTLs_BobIsRefusedThroughout", []string{"redsync"}},
	{"A master fails over: there is no second holder",
		"TestAMasterFailsOverBeforeReplicating_TheLockIsNotGivenTwice", onOne},
	{"Three of five fail and return, one after the other: the lock is kept",
		"TestThreeNodesFailOneAfterTheOtherAndComeBack_TheLockIsKept", onOne},
}

var onOne = []string{"redsync", "bsm", "rueidis"}

// leave leaves stories out, of all libraries or of some: matched in "file story".
type leave struct {
	stories *regexp.Regexp
	only    []string
	Why     string
}

var leftOut = []leave{
	{regexp.MustCompile(`6_test|6_reentrant|TheOwnerNests`), nil,
		"Nesting: none of the four adapters offers it."},
	{regexp.MustCompile(`BadInput|InvalidTTL|TTLOfAMillisecond|WithoutAHold|TakenWithOneCommand`), nil,
		"Bad input, an `Unlock` without a hold, which must send nothing, the number of commands: no library promises these."},
	{regexp.MustCompile(`ContextEndsTheWait|LockDoesNotSayThatTheLockIsTaken|LockSaysThatTheLockIsTaken|IsNotErrNotAcquired|ThatIsAnErrorAndNoAnswer|TheErrorSaysThatTheLockIsTaken`), nil,
		"What exactly an error says, and that it wraps the context's: the adapter would have to guess."},
	{regexp.MustCompile(`HasATokenOfItsOwn|NeverHaveTheSameToken|NamesItsKey|RefusesTheTTL|ForgetsItsScripts`), nil,
		"The token in Redis, the scripts and their keys: these look at how a lock is stored, not at what it does."},
	{regexp.MustCompile(`LeaksNoGoroutine`), nil,
		"Leaked goroutines: the story finds only those of the eight steps, so any library would pass."},
	{regexp.MustCompile(`GoroutinesShareAHandle|AnotherGoroutineLocks`), nil,
		"Several goroutines with one handle: a Mutex of redsync and a Lock of bsm/redislock belong to one."},
	{regexp.MustCompile(`RedisHangs`), nil,
		"How long a release may take while Redis hangs: all four adapters take a context with a deadline, and leave it to the caller."},
	{regexp.MustCompile(`ErrNotHeld|UnlockSays|TheNextOneGetsIn|WhoWasRefused|LeaseEarly|ALateHolder|TestUnlock|TestATryLockFails`), rueidis,
		"rueidislock: errors of a release. Its cancel function returns nothing."},
	{regexp.MustCompile(`ForgetsToUnlock|NoWholeNumber`), rueidis,
		"rueidislock: a holder that forgets to unlock. It renews for as long as its process lives."},
	{regexp.MustCompile(`TheContextOfTryLockEnds`), []string{"redsync"},
		"redsync on one Redis: renewals. It leaves them to its user."},
	{regexp.MustCompile(`8_`), onOne,
		"The three on one Redis: servers that fail."},
}

var rueidis = []string{"rueidis"}
