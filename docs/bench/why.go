package main

// Why a goal is missed: found with pprof, INFO commandstats and variants of the locks. Printed only beside a miss.
const (
	whyStep05 = `The goroutine in which Unlock runs its script, with a channel and a select: by them, Unlock ends by itself when Redis hangs,
which go-redis does not offer by default (ContextTimeoutEnabled). They are 4 of the allocations. Starting it and answering from it wakes
other threads, and so the client and its server do not stay on one processor, as they otherwise often do (see below). The row
"` + unbounded + `" is the same lock with the release in the caller's goroutine. The bound is kept: a request that hangs in its Unlock
is worse than some microseconds.`

	whyStep07 = `As the kernel places client and server, the goroutine of step 05 is the larger part, again. The rest, which shows apart, is that step
07 does more: a hash with a depth, a message at the release, a watchdog with two contexts and two timers, where bsm/redislock stores a
string and leaves the rest to its user. Beside bsm/redislock with the watchdog of its README, compare the rows below.`

	whyStep08 = `On this machine, ten commands on five servers and their client share two CPUs: what counts is the work, not the waiting that
step 08 saves by going on at the majority. The row "` + rawFive + `" is the least that a majority can cost here. Beyond it, step 08 runs
scripts with a depth and a message (8 commands on each node, redsync 4), bounds its wait for each node, and starts a watchdog.`

	whyHung = `The commands to the nodes that hang wait in go-redis for their time-out, each with a goroutine and a connection; one pair right
after the other piles them up.`

	whyTrips = `Step 04 reads the token, compares it in the client and then deletes: three round trips, and the window between the last
two is what step 05 closes with a script. It is that step's bug, not its price.`

	whyWaiting = `A waiter asks when its subscription stands, when the holder releases, and when the holder's lease ends; in between it
sleeps.`

	whyHandoff = `Both wake all ten waiters, and all ten ask. No single cause was found: neither a release in the caller's goroutine nor a read of the
subscription without go-redis's goroutine changes it measurably. rueidislock asks with a shorter script, on the connection that brings the
message; steps 06 and 07 ask on another one, and step 07 starts a watchdog before it is in.`
)
