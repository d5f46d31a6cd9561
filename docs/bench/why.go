package main

// Why a goal is missed: found with pprof, INFO commandstats and variants of the locks. Printed only beside a miss.
const (
	whyStep05 = `The goroutine in which Unlock runs its script, with a channel and a select: by them, Unlock ends by itself when Redis hangs,
which go-redis does not offer by default (ContextTimeoutEnabled). Starting it and answering from it wakes other threads, and so the client
and its server do not stay on one processor, as they otherwise often do (see below). The row "` + unbounded + `" is the same
lock with the release in the caller's goroutine. The bound is kept: a request that hangs in its Unlock is worse than some microseconds.`

	whyAllocs05 = `go-redis needs 17 for the raw pair. The rest is the handle, the token, the context with a bound for Unlock, and the goroutine in which
Unlock runs its script.`

	whyStep07 = `Both renew. Step 07 does more: its scripts keep a depth and publish the release, and its Unlock ends by itself when Redis hangs, by a
goroutine. The watchdog of bsm/redislock's README starts its goroutine after the lock is taken and does not wait for it.`

	whyAllocs07 = `The watchdog takes 5 of them, Unlock's goroutine and its bound 9; bsm/redislock sends its release in the caller's goroutine, without
a bound.`

	whyStep08 = `On this machine, ten commands on five servers and their client share two CPUs: what counts is the work, not the waiting that
step 08 saves by going on at the majority. The row "` + rawFive + `" is the least that a majority can cost here. Beyond it, step 08 runs
scripts with a depth (7 commands on each node, redsync 4), bounds its wait for each node, waits at its release for the rest of the nodes
as well, and starts a watchdog.`

	whyHung = `The commands to the nodes that hang wait in go-redis for their time-out, each with a goroutine and a connection. And Unlock waits for
a node that it expects to answer, up to NodeTimeout.`

	whyTrips = `Step 04 reads the token, compares it in the client and then deletes: three round trips, and the window between the last
two is what step 05 closes with a script. It is that step's bug, not its price.`

	whyWaiting = `A waiter asks when its subscription stands, when the holder releases, and when the holder's lease ends; in between it
sleeps.`

	whyHandoff = `Both wake all ten waiters, and all ten ask. No single cause was found: neither a release in the caller's goroutine nor a read of the
subscription without go-redis's goroutine changes it measurably. rueidislock asks with a shorter script, on the connection that brings the
message; steps 06 and 07 ask on another one, and step 07 starts a watchdog before it is in.`
)
