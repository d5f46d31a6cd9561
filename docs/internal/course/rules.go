package course

// A Rule is what a step's stories ask of a lock and its signatures do not say.
type Rule struct {
	From, To int // the steps that have it
	Text     string
}

var rules = []Rule{
	{1, 8, `Every error begins with "redislock: " and names the key in quotes. errors.Is finds ErrNotAcquired, ErrNotHeld, or the error of go-redis or of the context behind it.`},
	{1, 8, "ErrNotAcquired means \"another client has it\". Redis being down, a lost reply or an ended context is another error."},
	{1, 8, "Unlock without the lock is ErrNotHeld."},
	{1, 5, "The lock is one key: the one that New gets, or one that ends in it (a prefix is fine)."},
	{1, 8, "TryLock and Lock whose context has ended before the call return its error, and send nothing."},
	{1, 8, "If Lock has been refused and its context ends during the wait, the error matches both ErrNotAcquired and the context's error."},
	{1, 8, "An empty key, a nil client (a nil *redis.Client as well) and a Ring are rejected before any command is sent: validate does that already, keep it."},
	{1, 5, "Lock retries soon: as long as Redis answers, it acquires the lock at most 1s after the holder has left, and returns at most 1s after its context has ended or its client was closed."},
	{1, 8, "A Lock value may be used by several goroutines at once. While one waits in Lock, the others do not have to."},
	{2, 6, "A ttl under 1ms is rejected before any command."},
	{2, 6, "A ttl may be any number of milliseconds: 500ms is not 0, and 1.9s is not 1s."},
	{3, 8, "A free lock is taken with one command to each Redis. MULTI and EXEC are several."},
	{4, 8, "Every acquisition has a new token from crypto/rand, with at least 100 random bits (a UUID of version 4 has 122, one of version 7 only 74)."},
	{4, 8, "An Unlock without the lock sends nothing: the handle knows."},
	{4, 8, "An error reply of Redis ends the attempt: TryLock and Unlock return it. What may pass, a release may try again."},
	{4, 5, "If a refused TryLock asks whose key it is, it asks under its own context, which ends after 3s: the answer is owed even if ctx ends in the meantime."},
	{5, 8, "Unlock returns within 6s, even when Redis hangs, and works with a cancelled context. From step 06 on, it may first wait for another call on the same Lock. go-redis does not interrupt a read for a context: it waits for its ReadTimeout, 5s, and then resends."},
	{5, 8, "A release whose reply was lost may have run. One that was never sent has not: the connection was refused (*net.OpError, Op \"dial\"), or there was none in time (redis.ErrPoolTimeout, or the context ended). If you must know: go-redis sends a command once if it has a method NoRetry() bool that returns true: embed *redis.Cmd in your type."},
	{5, 8, "After an Unlock of unknown outcome, Unlock may be called again (from step 06 on the outermost one). The next TryLock has a new token anyway."},
	{5, 7, "If Lock has been refused and its context cuts off a later attempt, the error matches ErrNotAcquired as well."},
	{5, 8, "A script takes its key in KEYS, not in ARGV and not in its text: a cluster finds the server by KEYS."},
	{6, 8, "Each Lock value is one owner. If it has lost the lock, a nested TryLock is ErrNotHeld and does not acquire it anew."},
	{6, 8, "An inner lock never shortens the remaining TTL."},
	{6, 8, "The key, exactly the one that New gets, is a hash with one field, the token. Its value is the depth. A command that was sent twice counts once."},
	{6, 7, "Rights may forbid PUBLISH or SUBSCRIBE: then a release still releases, and a waiter gets in when the lease ends."},
	{6, 8, "A key of another type, or without a ttl and without your token, is another program's data: an error at once, and it stays as it is."},
	{6, 7, "A client that waits in Lock sends nothing for 6s or more, not even go-redis's PING (redis.WithChannelHealthCheckInterval(0)), and gets in within a millisecond of the release. A holder that dies wakes no one: then the waiter gets in when the TTL expires."},
	{6, 7, "When the subscription has broken, or Redis was away, a waiter gets in at most 200ms after the lock is free."},
	{6, 7, "A remaining TTL may be longer than a time.Duration holds (292 years), and no reason to ask again at once."},
	{6, 7, "A subscription can die without an error: a waiter gets in at most 10s after the release anyway. So it asks by itself every 6 to 10s, but not sooner."},
	{6, 7, "2,000 messages of a stranger on the channel cost a waiter fewer than 100 commands. When no one waits, no subscription and no goroutine is left."},
	{7, 8, "Renew every ttl/3. A renewal that fails is tried again every ttl/20 to ttl/30, over another connection if need be, as long as the lease is valid. Its context ends after ttl/10: with ContextTimeoutEnabled, go-redis then gives up on a reply. It is sent once: go-redis does not resend it."},
	{7, 8, "The watchdog ends by itself when the lock is no longer valid, even if no one calls Unlock: its client may be closed or cut off."},
	{7, 8, "The lock is valid for ttl - (ttl/100 + 2ms), counted from before the command was sent that acquired or renewed it. ValidUntil returns that time, or the zero time if the lock is not held."},
	{7, 8, "Lost is closed when the lock is no longer valid, or at the renewal or call that finds it gone. A successful Unlock does not close it. Lost is nil before the first hold; after a hold it stays until the next."},
	{7, 8, "Lost is closed in time even while a nested TryLock waits for its reply."},
	{7, 8, "When Lost is closed, Unlock still sends the release, and returns ErrNotHeld with ErrLost and the cause, whatever Redis replies. If the release fails, its error is named as well."},
	{7, 8, "When Lost is closed, a nested TryLock or Lock returns at once and sends nothing. Its error matches ErrNotHeld and ErrLost."},
	{7, 8, `Every error about a loss says its cause: "not held" if Redis said so (of Do's errors, only these match ErrNotHeld), MaxHold, or why the last renewals failed (os.ErrDeadlineExceeded if they got no reply).`},
	{7, 8, "A reply to the acquire that comes after the lease does not count: TryLock returns an error, and Lock tries again."},
	{7, 8, "A ttl of 5ms or more, whole seconds or not, is accepted, and renewed in time. A shorter one may be rejected. One of which the drift leaves nothing, such as 2ms, must be, before any command, with an error that names the ttl as time.Duration prints it."},
	{7, 8, "MaxHold is how long the lock is renewed; 0 means forever, and a negative one is rejected before any command. Then the last renewal expires and the lock is lost. Nesting does not change that."},
	{7, 8, "Do returns ErrNotRun if the work did not begin, and ErrLost if the lock was lost under it. The work's context ends with the cause ErrLost."},
	{7, 8, "Otherwise Do returns what the work returned, not wrapped. Do does not report a release without a reply."},
	{7, 8, "Do ends the work's context before it frees the lock."},
	{7, 8, "Unlock stops the watchdog first: it does not wait for a renewal (it returns within 4s), nothing is sent afterwards, and no goroutine is left."},
	{8, 8, "The commands go to all nodes at once. A node that hangs costs NodeTimeout at most; 0 means min(50ms, ttl/10)."},
	{8, 8, "A majority counts all configured nodes, not only those that answer. On a failure every node is released, except those that said no. An error about a node names it: node 2."},
	{8, 8, "After an Unlock of unknown outcome, the next TryLock is not refused because of the handle's own old key."},
	{8, 8, "A waiter need no longer be woken. It asks 10 to 20 times a second, after random delays: two that split the votes must not meet again and again."},
	{8, 8, `ErrNotAcquired: a majority has answered, and too few said yes in time. If too few answer, the error is another one, and counts the votes: "1 of 5 nodes said yes, 1 no". Then Lock asks again, unless that cannot help (NOPERM, a closed client).`},
	{8, 8, "A renewal needs a majority. Then a node that has lost the lock gets it again; it counts from the next renewal on."},
}

// Rules returns what is asked of the lock of s: the new rules first.
func (s Step) Rules() (fresh, older []Rule) {
	for _, r := range rules {
		switch {
		case s.N < r.From || s.N > r.To:
		case r.From == s.N:
			fresh = append(fresh, r)
		default:
			older = append(older, r)
		}
	}
	return fresh, older
}
