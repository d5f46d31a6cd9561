package main

import "regexp"

// A column is a library as it is used, in a folder of this name.
type column struct {
	dir, name, zh string
	nodes         int
}

var columns = []column{
	{"redsync", "redsync, one Redis", "redsync，一台 Redis", 1},
	{"redsync5", "redsync, five, extended every half expiry", "redsync，五台，每隔一半过期时间续期", 5},
	{"bsm", "bsm/redislock with its README's watchdog", "bsm/redislock，加上其 README 的看门狗", 1},
	{"rueidis", "rueidislock, one key", "rueidislock，一个 key", 1},
}

// A row is a story, and why it has no verdict on some libraries.
type row struct {
	title, zh, story string
	none             []string // columns
	why              string
}

var rows = []row{
	{"Two arrive at once: one gets it", "两个客户端同时到达：只有一个拿到锁",
		"TestTwoClientsComeAtOnce_OneGetsIn", nil, ""},
	{"A late holder leaves the next owner's lock alone", "迟到的持锁者不会删掉别人的锁",
		"TestALateHolder_CannotDeleteTheNextOwnersLock", []string{"rueidis"}, alwaysRenews},
	{"Unlock after the request was cancelled releases the lock", "请求已取消，Unlock 仍然释放锁",
		"TestTheRequestIsCancelled_UnlockStillReleases", nil, ""},
	{"A cancelled TryLock leaves nothing behind", "被取消的 TryLock 不留下任何东西",
		"TestTryLock_CancelledInFlight_ReleasesKey", []string{"rueidis"}, errorDiffers},
	{"An acquisition resent after a lost reply locks no one out", "加锁命令因响应丢失而重发：没有人被锁在外面",
		"TestTheReplyToTheAcquireIsLost_NobodyIsLockedOut", nil, ""},
	{"A TryLock without a reply leaves nothing behind", "TryLock 始终收不到响应，也不留下任何东西",
		"TestTheReplyToTheAcquireNeverComes_NothingStaysBehind", nil, ""},
	{"A release resent after a lost reply is not an error", "释放命令因响应丢失而重发：不报错",
		"TestTheReplyToTheReleaseIsLost_UnlockReturnsNil", []string{"rueidis"}, returnsNothing},
	{"Work of a hundred TTLs keeps the lock", "业务长达一百个过期时间，锁仍在",
		"TestWorkOfAHundredTTLs_BobIsRefusedThroughout", []string{"redsync"}, doesNotRenew},
	{"A master fails over: there is no second holder", "主从切换：不会有第二个持锁者",
		"TestAMasterFailsOverBeforeReplicating_TheLockIsNotGivenTwice", onOne, "they are on one Redis"},
	{"Three of five fail and return, one after the other: the lock is kept", "五台中有三台先后故障又恢复：锁仍在",
		"TestThreeNodesFailOneAfterTheOtherAndComeBack_TheLockIsKept", onOne, "they are on one Redis"},
}

const (
	alwaysRenews   = "it renews for as long as its process lives, so its holder is never late"
	errorDiffers   = "nothing stays behind, but the story also asks for the context's error, and gets the connection's"
	returnsNothing = "its cancel function returns nothing"
	doesNotRenew   = "it leaves renewals to its user"
)

var onOne = []string{"redsync", "bsm", "rueidis"}

// leave leaves stories out, of all libraries or of some: matched in "file story".
type leave struct {
	stories *regexp.Regexp
	only    []string
	Why     string
}

var leftOut = []leave{
	{regexp.MustCompile(`6_test|6_reentrant|TheOwnerNests`), nil,
		"Nesting: none of the four offers it."},
	{regexp.MustCompile(`BadInput|InvalidTTL|TTLOfAMillisecond|WithoutAHold|TakenWithOneCommand`), nil,
		"Bad input, an `Unlock` without a hold that sends nothing, the number of commands: no library promises these."},
	{regexp.MustCompile(`ContextEndsTheWait|LockDoesNotSayThatTheLockIsTaken|LockSaysThatTheLockIsTaken|IsNotErrNotAcquired|ThatIsAnErrorAndNoAnswer|TheErrorSaysThatTheLockIsTaken`), nil,
		"What exactly an error says, and that it wraps the context's: the adapter would have to guess."},
	{regexp.MustCompile(`HasATokenOfItsOwn|NeverHaveTheSameToken|NamesItsKey|RefusesTheTTL|ForgetsItsScripts`), nil,
		"The token in Redis, the scripts and their keys: these look at how a lock is stored, not at what it does."},
	{regexp.MustCompile(`LeaksNoGoroutine`), nil,
		"Leaked goroutines: the story finds only those of the eight steps, so any library would pass."},
	{regexp.MustCompile(`GoroutinesShareAHandle|AnotherGoroutineLocks`), nil,
		"Several goroutines with one handle: a Mutex of redsync and a Lock of bsm/redislock belong to one."},
	{regexp.MustCompile(`RedisHangs`), nil,
		"How long a release may take while Redis hangs: all four take a context with a deadline, and leave it to the caller."},
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
