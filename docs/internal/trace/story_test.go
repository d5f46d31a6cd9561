package trace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// tell reads a story as the test harness writes it. Words are for people: in other words, the
// same are inside, and the same is wrong.
func tell(t *testing.T, lines string) []Record {
	t.Helper()
	records, others := read(t, lines), read(t, words.ReplaceAllString(lines, `$1"other words"`))
	require.Len(t, others, len(records))
	for i, r := range records {
		other := others[i]
		if r.Kind != Command && r.Kind != Call && r.Kind != Return {
			other.Text, other.Wanted, other.Got = r.Text, r.Wanted, r.Got
		}
		require.Equal(t, r, other)
	}
	return records
}

var words = regexp.MustCompile(`("kind":"(?:note|message|fault|refused|verdict)","text":)"(?:[^"\\]|\\.)*"`)

func read(t *testing.T, lines string) []Record {
	t.Helper()
	file := filepath.Join(t.TempDir(), "trace.jsonl")
	require.NoError(t, os.WriteFile(file, []byte(lines), 0o666))
	records, err := ReadStory(file)
	require.NoError(t, err)
	return records
}

const late = `
{"at":0,"who":"alice","kind":"call","text":"TryLock","redis":[{}]}
{"at":100,"who":"alice","node":1,"kind":"command","text":"SET coupons locked EX 10 NX","reply":"OK","redis":[{"token":"locked","until":10000100}]}
{"at":100,"who":"alice","kind":"return","text":"TryLock","reply":"ok","redis":[{"token":"locked","until":10000100}]}
{"at":20000200,"who":"bob","node":1,"kind":"command","text":"SET coupons locked EX 10 NX","reply":"OK","redis":[{"token":"locked","until":30000200}]}
{"at":20000200,"who":"bob","kind":"return","text":"TryLock","reply":"ok","redis":[{"token":"locked","until":30000200}]}
{"at":20000200,"who":"alice","kind":"call","text":"Unlock","redis":[{"token":"locked","until":30000200}]}
{"at":20000300,"who":"alice","node":1,"kind":"command","text":"DEL coupons","reply":"1","redis":[{}]}
{"at":20000300,"who":"alice","kind":"return","text":"Unlock","reply":"ok","redis":[{}]}
{"at":20000300,"kind":"verdict","text":"\n\tError Trace:\tx_test.go:1\n\tError:      \tExpected error with \"lock not held\" in chain but got nil.\n\tTest:       \tTestX\n\tMessages:   \tshe was not told\n","redis":[{}]}
`

func TestALateRelease_IsTheGuiltyRow(t *testing.T) {
	records := tell(t, late)
	require.Equal(t, strings.TrimPrefix(`
      0.1ms  alice  SET coupons locked EX 10 NX -> OK
      0.1ms  alice  TryLock -> ok
  10000.1ms  Redis  the TTL expired: alice's lock is gone
  20000.2ms  bob    SET coupons locked EX 10 NX -> OK
  20000.2ms  bob    TryLock -> ok
  20000.3ms  alice  DEL coupons -> 1   <- deletes bob's lock
  20000.3ms  alice  Unlock -> ok
  20000.3ms  ** she was not told
                expected: alice Unlock -> ErrNotHeld   got: ok
`, "\n"), Text(records), "that bob got in while alice was inside is not the worst that happened")

	entered := records[5]
	require.Equal(t, "TryLock", entered.Text)
	require.Equal(t, []string{"alice", "bob"}, entered.Inside)
	require.Equal(t, []Key{{Token: "locked", Owner: "bob", Until: 30_000_200}}, entered.Redis)
	require.Equal(t, []string{"bob"}, records[len(records)-1].Inside, "alice has left")
}

func TestWhatIsWrong_OfAllKinds(t *testing.T) {
	for what, story := range map[string]string{
		"SETNX coupons locked -> 1   <- without a ttl": `
{"at":100,"who":"alice","node":1,"kind":"command","text":"SETNX coupons locked","reply":"1","redis":[{"token":"locked"}]}`,
		"alice  SET coupons locked -> OK   <- overwrites bob's lock": `
{"at":100,"who":"bob","node":1,"kind":"command","text":"SET coupons locked","reply":"OK","redis":[{"token":"locked"}]}
{"at":200,"who":"alice","node":1,"kind":"command","text":"SET coupons locked","reply":"OK","redis":[{"token":"locked"}]}`,
		"bob    TryLock -> ok   <- alice is inside as well": `
{"at":100,"who":"alice","kind":"return","text":"TryLock","reply":"ok","redis":[{}]}
{"at":200,"who":"bob","kind":"return","text":"TryLock","reply":"ok","redis":[{}]}`,
		"bob    SET coupons b -> OK   <- overwrites alice's lock\n      0.2ms  alice  DEL coupons -> 1   <- deletes bob's lock\n": `
{"at":100,"who":"alice","node":1,"kind":"command","text":"SET coupons a","reply":"OK","redis":[{"token":"a"}]}
{"at":200,"who":"bob","node":1,"kind":"command","text":"SET coupons b","reply":"OK","redis":[{}]}
{"at":200,"who":"alice","node":1,"kind":"command","text":"DEL coupons","reply":"1","redis":[{}]}`,
		"alice  DEL coupons -> 0   (sent again)": `
{"at":100,"who":"alice","node":1,"kind":"command","text":"DEL coupons","reply":"1","lost":true,"redis":[{}]}
{"at":200,"who":"alice","node":1,"kind":"command","text":"DEL coupons","reply":"0","redis":[{}]}`,
		"alice  release coupons -> 0\n": `
{"at":100,"who":"bob","node":1,"kind":"command","text":"acquire coupons <bob-1>","reply":"1","redis":[{"token":"<bob-1>","until":10000000}]}
{"at":200,"who":"alice","node":1,"kind":"command","text":"release coupons","reply":"0","redis":[{"token":"<bob-1>","until":20000000}]}`, // bob has renewed at once
		"alice  PEXPIRE coupons 10000 -> 1   <- extends bob's lock\n": `
{"at":100,"who":"bob","node":1,"kind":"command","text":"SET coupons b EX 1","reply":"OK","redis":[{"token":"b","until":1000100}]}
{"at":200,"who":"alice","node":1,"kind":"command","text":"PEXPIRE coupons 10000","reply":"1","redis":[{"token":"b","until":10000200}]}`,
		"0.4ms  alice  renew coupons -> (no reply)\n": `
{"at":100,"who":"alice","kind":"call","text":"TryLock","redis":[{}]}
{"at":200,"who":"alice","kind":"return","text":"TryLock","reply":"ok","redis":[{}]}
{"at":300,"who":"alice","node":1,"kind":"command","text":"renew coupons","redis":[{}]}
{"at":400,"who":"alice","node":1,"kind":"command","text":"renew coupons","redis":[{}]}
{"at":500,"who":"alice","kind":"note","text":"-","redis":[{}]}`,
		"alice  DEL coupons -> 1, but the reply is lost\n": `
{"at":100,"who":"alice","node":1,"kind":"command","text":"DEL coupons","reply":"1","lost":true,"redis":[{}]}`,
		"bob    TryLock -> ErrNotAcquired, context canceled\n": `
{"at":100,"who":"bob","kind":"return","text":"TryLock","reply":"redislock: acquire \"coupons\": lock not acquired: context canceled","err":["ErrNotAcquired","context canceled"],"redis":[{}]}`,
		"bob    TryLock -> LOADING\n": `
{"at":100,"who":"bob","kind":"return","text":"TryLock","reply":"redislock: acquire \"coupons\": LOADING","redis":[{}]}`,
	} {
		require.Contains(t, Text(tell(t, story)), what)
	}
}

// The lock of step 08 lists what nodes said as they have said it: in any order.
func TestNodesThatFail_AreNamedInTheirOrder(t *testing.T) {
	require.Equal(t, "ok", Outcome(nil))
	const want = "0 of 3 nodes said yes, 2 failed [node 1: dial tcp: connection refused node 3: EOF]"
	for _, text := range []string{want, "0 of 3 nodes said yes, 2 failed [node 3: EOF node 1: dial tcp: connection refused]"} {
		require.Equal(t, want, Outcome(errors.New(`redislock: acquire "coupons": `+text)))
	}
}

// Neither is there with bob: alice is dead, or knows of her loss, or has another lock.
func TestWhoHasLeft_IsNotInside(t *testing.T) {
	const alice, bob = `{"at":100,"who":"alice","kind":"return","text":"TryLock","reply":"ok","redis":[{}]}`, `{"at":300,"who":"bob","kind":"return","text":"TryLock","reply":"ok","redis":[{}]}`
	for _, story := range []string{
		alice + `{"at":200,"kind":"fault","text":"alice dies","gone":"alice","redis":[{}]}` + bob,
		alice + `{"at":200,"kind":"note","text":"alice's Lost is closed","gone":"alice","redis":[{}]}` + bob,
		strings.Replace(alice, `TryLock"`, `TryLock on another lock"`, 1) + bob,
	} {
		records := tell(t, story)
		last := records[len(records)-1]
		require.Empty(t, last.Mark, story)
		require.Equal(t, []string{"bob"}, last.Inside, story)
	}
}

func TestSeveralNodes_AreOneRow(t *testing.T) {
	require.Equal(t, strings.TrimPrefix(`
      0.1ms  bob    acquire coupons <bob-1> -> 1 (nodes 1 3), 0 (node 2)
      0.1ms  bob    TryLock -> ok
`, "\n"), Text(tell(t, `
{"at":100,"who":"bob","node":3,"kind":"command","text":"acquire coupons <bob-1>","reply":"1","redis":[{},{},{}]}
{"at":100,"who":"bob","kind":"return","text":"TryLock","reply":"ok","redis":[{},{},{}]}
{"at":100,"who":"bob","node":1,"kind":"command","text":"acquire coupons <bob-1>","reply":"1","redis":[{},{},{}]}
{"at":100,"who":"bob","node":2,"kind":"command","text":"acquire coupons <bob-1>","reply":"0","redis":[{},{},{}]}`)),
		"the call returns after the commands of the same moment, however they arrived")
}

func TestCommandsRunAtOnce_WhatOneSawOfAnotherNodeIsNotBelieved(t *testing.T) {
	records := tell(t, `
{"at":100,"who":"alice","node":1,"kind":"command","text":"renew coupons <alice-1>","reply":"1","redis":[{"token":"<alice-1>","until":20000000},{"token":"<alice-1>","until":10000000}]}
{"at":100,"who":"alice","node":2,"kind":"command","text":"renew coupons <alice-1>","reply":"1","redis":[{"token":"<alice-1>","until":10000000},{"token":"<alice-1>","until":20000000}]}
{"at":15000000,"kind":"note","text":"later","redis":[{"token":"<alice-1>","until":20000000},{"token":"<alice-1>","until":20000000}]}`)
	require.NotContains(t, Text(records), "the TTL expired", "both nodes were renewed: node 2 saw node 1 before that")
	require.Equal(t, int64(20_000_000), records[1].Redis[0].Until)
}

func TestACallThatDoesNotReturn_HasARow(t *testing.T) {
	const calls = `{"at":100,"who":"bob","kind":"call","text":"Lock","redis":[{}]}`
	require.Contains(t, Text(tell(t, calls)), "bob    calls Lock\n")
	require.NotContains(t, Text(tell(t, calls+`{"at":200,"who":"bob","kind":"return","text":"Lock","reply":"ok","redis":[{}]}`)), "calls")
	require.NotContains(t, Text(tell(t, calls+`{"at":200,"kind":"fault","text":"bob dies","gone":"bob","redis":[{}]}`)), "calls")
	require.Contains(t, Text(tell(t, calls+`{"at":200,"kind":"fault","text":"alice dies","gone":"alice","redis":[{}]}`)), "bob    calls Lock\n", "it is alice who died")
}

func TestWhatComesInAnyOrderInAMoment_IsOneTimeline(t *testing.T) {
	const call = `{"at":100,"who":"alice","kind":"call","text":"TryLock","redis":[{},{}]}`
	refused := func(node string) string {
		return `{"at":100,"who":"alice","node":` + node + `,"kind":"refused","text":"cannot reach node ` + node + `","redis":[{},{}]}`
	}
	const heard, returned = `{"at":100,"who":"bob","kind":"message","text":"hears: released","redis":[{}]}`, `{"at":100,"who":"alice","kind":"return","text":"Unlock","reply":"ok","redis":[{}]}`
	require.Equal(t, Text(tell(t, call+refused("1")+refused("2"))), Text(tell(t, call+refused("2")+refused("1"))))
	require.Equal(t, Text(tell(t, heard+returned)), Text(tell(t, returned+heard)), "what a subscriber hears comes last")
}

// Another lock's name, and a counter that a refused client counts up and down, take no lock away.
func TestWhatTakesNoLockAway_IsNotMarked(t *testing.T) {
	held := `{"at":0,"who":"alice","node":1,"kind":"command","text":"%s","reply":"%s","redis":[{"token":"%s"}]}` + "\n"
	for _, story := range [][][3]string{
		{{"SETNX coupons locked", "1", "locked"}, {"SET coupons-tea locked NX", "OK", "locked"}, {"DEL coupons", "1", ""}},
		{{"INCR coupons", "1", "1"}, {"INCR coupons", "2", "2"}, {"DECR coupons", "1", "1"}, {"DEL coupons", "1", ""}},
		{{"SETNX coupons locked", "1", "locked"}, {"PEXPIRE coupons 10000", "0", ""}},
		{{"SETNX coupons locked", "1", "locked"}, {"EXISTS coupons", "1", "another"}, {"SET coupons locked NX", "(nil)", "another"}, {"GET coupons", "locked", ""}}, // at once with a SET, a DEL
	} {
		lines := ""
		for i, row := range story {
			line := fmt.Sprintf(held, row[0], row[1], row[2])
			if i > 0 && row[0] != "DEL coupons" {
				line = strings.Replace(line, "alice", "bob", 1)
			}
			lines += line
		}
		for _, r := range read(t, lines)[1:] {
			require.Empty(t, r.Mark, r.Text)
		}
	}
}

func TestWhatATimelineShows(t *testing.T) {
	const s = 1_000_000
	row := func(kind Kind, text, mark string, until int64) Record {
		return Record{Who: "alice", Kind: kind, Text: text, Mark: mark, Redis: []Key{{Token: "a", Owner: "bob", Until: until}}}
	}
	called, returned, set := row(Call, "TryLock", "", 0), row(Return, "TryLock", "", 0), row(Command, "PEXPIRE coupons", "extends bob's lock", 9*s)
	out := Record{Kind: Verdict, Text: "her ttl of 10s has passed", Wanted: "bob TryLock -> ok", Got: "ErrNotAcquired", Redis: []Key{{Token: "a"}}}
	long := out
	long.Redis = []Key{{Token: "a", Until: 9 * s}}
	for want, records := range map[string][]Record{
		"":                                    {called, row(Command, "SET coupons a", "without a ttl", 0)},
		"a key without a ttl":                 {called, row(Command, "SET coupons a", "without a ttl", 0), out},
		"another ttl":                         {called, long},
		"a TryLock that deletes":              {called, row(Command, "DEL coupons", "deletes bob's lock", 0), out},
		"an Unlock that deletes":              {row(Call, "Unlock", "", 0), row(Command, "DEL coupons", "deletes bob's lock", 0), out},
		"a renewal of another's lock":         {called, returned, set, out},
		"an inner Unlock that frees the lock": {row(Call, "Unlock", "", 0), {Who: "alice", Kind: Command, Redis: []Key{{}}, Inside: []string{"alice"}}, out},
	} {
		require.Equal(t, want, Shows(records))
	}
}
