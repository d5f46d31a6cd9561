package main

// A red is what is expected to go wrong in some steps, and why. Every other cell is
// expected to be green.
type red struct {
	from, to int
	kinds    string
	why      string
}

const (
	noOwner   = "DEL asks nobody: a late or repeated one takes the next owner's lock"
	gap       = "the lock changes hands between GET and DEL"
	endsEarly = "the lease ends while its holder is at work, and nothing renews it"
	noExpiry  = "the key has no ttl, and its holder can or will not delete it"
	halfDone  = "between SETNX and PEXPIRE the key has no ttl"
	lost      = "the only copy of the lock is gone, and its holder hears of it at the next renewal at best"
	counter   = "the counter is lost with the lock, and a number comes twice; docs/fencing has the ways out"
	paused    = "no lock can stop a holder that does not know that time has passed; the resource can"
	only1     = "there is only one node"
	ownKey    = "a resent SETNX is refused by its own key, which nobody deletes then"
	again     = "a release that is sent again finds nothing, and says that the lock was not held"
	nesting   = "the owner's second TryLock is refused like anybody else's"
)

// reds is the matrix as it should be.
var reds = map[string][]red{
	"nested":        {{1, 5, "B", nesting}, {9, 9, "B", nesting}},
	"twice":         {{1, 3, "D", noOwner}},
	"crash-waits":   {{1, 1, "K", noExpiry}},
	"crash-acquire": {{2, 2, "K", halfDone}},
	"crash-hold":    {{1, 1, "K", noExpiry}},
	"crash-release": {{1, 1, "K", noExpiry}},
	"slow":          {{2, 3, "XLD", endsEarly + "; " + noOwner}, {4, 4, "XLD", endsEarly + "; " + gap}, {5, 6, "XL", endsEarly}},
	"resent":        {{1, 2, "DKN", noOwner + "; " + ownKey + "; " + again}, {3, 3, "DN", noOwner + "; " + again}, {4, 4, "DN", "the DEL is sent again, without the GET; " + again}, {9, 9, "N", again}},
	"resent-waits":  {{1, 2, "KN", ownKey + "; " + again}, {3, 4, "N", again}, {9, 9, "N", again}},
	"unsent":        {{1, 1, "K", noExpiry}, {2, 2, "K", halfDone}},
	"nested-resent": {{9, 9, "BN", nesting + "; " + again}},
	"slow-answer":   {{9, 9, "N", "Unlock does not wait so long; " + again}},
	"deadline":      {{1, 1, "K", noExpiry}, {2, 2, "K", halfDone}},
	"late-set":      {{1, 1, "K", noExpiry}, {2, 2, "K", halfDone}},
	"late-reply":    {{2, 3, "XLD", "the lease counts from the reply, not from the request; " + noOwner}, {4, 4, "XLD", "as step 03; " + gap}, {5, 6, "XL", "nobody asks how long the reply took"}},
	"pause":         {{2, 3, "XLD", paused + "; " + noOwner}, {4, 4, "XLD", paused + "; " + gap}, {5, 8, "XL", paused}},
	"pause-waits":   {{2, 3, "XLD", paused + "; " + noOwner}, {4, 4, "XLD", paused + "; " + gap}, {5, 7, "XL", paused}},
	"late-write":    {{1, 8, "L", "the write is on its way when the lock is released; only the resource sees it arrive"}},
	"dead":          {{1, 1, "K", noExpiry}},
	"stolen":        {{1, 3, "D", noOwner}, {4, 4, "D", gap}},
	"deleted":       {{1, 3, "XLD", "nothing protects a key from DEL by hand; " + noOwner}, {4, 4, "XLD", "as step 03; " + gap}, {5, 8, "XL", "nothing protects a key from DEL by hand"}},
	"failover":      {{1, 3, "XLD", lost + "; " + noOwner}, {4, 4, "XLD", lost + "; " + gap}, {5, 7, "XL", lost}, {8, 8, "XL", "the holder had exactly a majority, and one of it is empty now"}, {9, 9, "L", counter}},
	"restart":       {{1, 3, "XLD", lost + "; " + noOwner}, {4, 4, "XLD", lost + "; " + gap}, {5, 7, "XL", lost}, {8, 8, "XL", "the holder had exactly a majority, and one of it is empty now"}, {9, 9, "L", counter}},
	"restart-waits": {{1, 3, "XLD", lost + "; " + noOwner}, {4, 4, "XLD", lost + "; " + gap}, {5, 7, "XL", lost}},
	"healing":       {{8, 8, "XLT", "the holder had exactly a majority, and one of it is empty now; a node that gets the lock again after that makes up a majority, as if nothing had happened"}},
	"restart-late":  {{1, 3, "XLD", lost + "; " + noOwner}, {4, 6, "XL", endsEarly}, {9, 9, "L", counter}},
	"clock":         {{2, 3, "XLD", "Redis ends the lease too early; " + noOwner}, {4, 4, "XLD", "as step 03; " + gap}, {5, 7, "XL", "Redis ends the lease too early"}, {8, 8, "XL", "the holder had exactly a majority, and on one of it the lease is over"}},
	"down-1":        {{1, 1, "KU", only1 + "; " + noExpiry}, {2, 2, "KU", only1 + "; " + halfDone}, {3, 7, "U", only1}, {9, 9, "U", only1}},
	"hung-1":        {{1, 1, "KU", only1 + "; " + noExpiry}, {2, 2, "DKU", only1 + "; the DEL is sent again; " + halfDone}, {3, 3, "DU", only1 + "; the DEL is sent again, and runs when the node goes on"}, {4, 4, "DU", only1 + "; the DEL is sent again, without the GET"}, {5, 7, "U", only1}, {9, 9, "U", only1}},
}

// expected returns what should go wrong in a cell; no kinds are green.
func expected(j job) red {
	for _, r := range reds[j.Fault] {
		if r.from <= j.Step && j.Step <= r.to {
			return r
		}
	}
	return red{}
}
