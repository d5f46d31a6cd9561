package trace

import (
	"slices"
	"testing"
)

func TestText(t *testing.T) {
	node := func(r Record) Record { r.Redis = make([]Key, 1); return r }
	three := func(n int, reply string) Record {
		return Record{At: 200, Who: "bob", Node: n, Kind: Command, Text: "DEL coupons", Reply: reply, Redis: make([]Key, 3)}
	}
	poll := func(at int64) Record {
		return node(Record{At: at, Who: "bob", Node: 1, Kind: Command, Text: "GET coupons", Reply: "nil"})
	}
	tries := func(at int64, n string) []Record {
		set := poll(at)
		set.Text, set.Reply = "SETNX coupons <bob-"+n+">", "0"
		return []Record{set, poll(at)}
	}
	for _, c := range []struct {
		records []Record
		want    string
	}{
		{[]Record{{At: 0, Who: "bob", Kind: Call, Text: "Lock"}, {At: 110, Who: "bob", Kind: Return, Text: "Lock", Reply: "nil"}},
			"      0.1ms  bob    Lock -> nil\n"},
		{[]Record{node(Record{At: 500, Who: "alice", Node: 1, Kind: Command, Text: "DEL coupons", Reply: "1", Again: true, Mark: "deletes bob's lock"})},
			"      0.5ms  alice  DEL coupons -> 1   (sent again)   <- deletes bob's lock\n"},
		{[]Record{node(Record{At: 1_000_000, Node: 1, Kind: Expire, Text: "the TTL expired"}), {At: 1_000_000, Kind: Verdict, Text: "X: two"}, {At: 1_000_000, Kind: Note, Text: "15s pass"}},
			"   1000.0ms  Redis  the TTL expired\n   1000.0ms  ** X: two\n   1000.0ms  -- 15s pass\n"},
		{[]Record{three(1, "1"), three(3, "0"), {At: 200, Node: 2, Kind: Fault, Text: "hangs", Redis: make([]Key, 3)}},
			"      0.2ms  bob    DEL coupons -> 1 (node 1), 0 (node 3)\n      0.2ms  node 2 hangs\n"},
		{[]Record{poll(100), poll(200), poll(300), poll(400), {At: 500, Who: "bob", Kind: Return, Text: "Lock", Reply: "nil"}},
			"      0.1ms  bob    GET coupons -> nil\n      0.4ms  ... the same 3 times more, until:\n      0.5ms  bob    Lock -> nil\n"},
		// Of the tokens the numbers do not count, and any rows may come again.
		{slices.Concat(tries(100, "1"), tries(200, "2"), tries(300, "3"), tries(400, "4")),
			"      0.1ms  bob    SETNX coupons <bob-1> -> 0\n      0.1ms  bob    GET coupons -> nil\n      0.4ms  ... the same 3 times more\n"},
		// Twice is not polling, and the end is not a reason to leave it out.
		{[]Record{poll(100), poll(200)},
			"      0.1ms  bob    GET coupons -> nil\n      0.2ms  bob    GET coupons -> nil\n"},
		{[]Record{{At: 200, Who: "bob", Node: 2, Kind: Command, Text: "acquire coupons <bob-1> ttl=10000 depth=1", Reply: "1", Mark: "overwrites alice's lock", Redis: make([]Key, 3)}},
			"      0.2ms  bob    acquire coupons <bob-1> ttl=10000 depth=1 -> 1 (node 2)\n                      <- overwrites alice's lock\n"},
		{[]Record{{At: 200, Kind: Note, Text: "alice works for longer than her ttl, and no one has told her that it ended"}},
			"      0.2ms  -- alice works for longer than her ttl, and no one has told her\n                that it ended\n"},
		// With the margin of the tour, 80 columns are not exceeded.
		{[]Record{{At: 200, Who: "alice", Node: 1, Kind: Command, Text: "acquire coupons <alice-1> ttl=10000 depth=10", Reply: "1", Redis: make([]Key, 1)}},
			"      0.2ms  alice  acquire coupons <alice-1> ttl=10000 depth=10 -> 1\n"},
		{[]Record{{At: 200, Who: "alice", Kind: Return, Text: "TryLock", Reply: "redislock: acquire: ERR value is not an integer or out of the range that is"}},
			"      0.2ms  alice  TryLock\n                      -> redislock: acquire: ERR value is not an integer or\n                      out of the range that is\n"},
	} {
		if got := Text(c.records); got != c.want {
			t.Errorf("got\n%swant\n%s", got, c.want)
		}
	}
}
