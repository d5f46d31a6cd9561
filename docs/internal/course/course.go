// Package course is the table of the course: the eight steps, what each guarantees, and
// the epilogue. What the tools say about a step they take from here.
package course

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A Step is one lock of the course, or the epilogue.
type Step struct {
	N         int    // 1 to 8; 0 has no tests: the red side of step 1 and of the epilogue
	Dir       string // its folder, from the repository's root
	Source    string // the file in Dir in which it differs from the step before
	Nodes     int    // how many servers its stories use; 0 of what has none
	Title     string //
	Problem   string // what breaks without it; it does not name the fix
	Lock      string // how it acquires and releases, in commands
	Words     string // the same in words, for a reader who has not seen the lock
	Asks      string // what its stories ask for, in words
	Fresh     string // what is new here
	File      string // the test file of the guarantee that begins here
	Guarantee string // what that file asserts
	Broken    string // what the next step is for

	label, subject string // see Label and Subject; the eight steps need none
}

// First is the lock everyone writes first. It is the red side of step 1.
var First = Step{
	label:   "before the course",
	subject: "the lock everyone writes first",
	Dir:     "docs/step00",
	Source:  LockFile,
	Lock:    "EXISTS, then SET; DEL",
	Words:   "It asks with EXISTS whether the key is there and, if it is not, writes it with SET. Unlock deletes it.",
}

// Steps is the course.
var Steps = numbered([8]Step{
	{
		Dir:       "step01_setnx",
		Title:     "SETNX",
		Problem:   "two clients are inside at once",
		Lock:      "SETNX; DEL",
		Words:     "It writes the key with SETNX, which fails if the key exists. Unlock deletes it.",
		Asks:      "Of clients that ask at the same moment, one gets the lock. Unlock lets the next one in, and Lock waits for that.",
		Fresh:     "One command decides who is in. Lock polls every 30 ms.",
		File:      "1_mutual_exclusion_test.go",
		Guarantee: "of clients that ask at the same moment, one gets in",
		Broken:    "A holder that dies leaves the key behind: locked forever.",
	},
	{
		Dir:       "step02_expire",
		Title:     "SETNX, then EXPIRE",
		Problem:   "a holder dies, and the lock stays taken forever",
		Lock:      "SETNX, then PEXPIRE; DEL",
		Words:     "It writes the key with SETNX and then sets its TTL with a second command. Unlock deletes it.",
		Asks:      "A holder that dies, or forgets to unlock, blocks no one beyond the TTL. A ttl under a millisecond is rejected with an error.",
		Fresh:     "The key gets a TTL.",
		File:      "2_crashed_holder_test.go",
		Guarantee: "a holder that dies blocks no one beyond the TTL",
		Broken:    "A client that dies between the two commands, or whose EXPIRE Redis refuses: locked forever.",
	},
	{
		Dir:       "step03_atomic_set",
		Title:     "SET key value NX EX ttl",
		Problem:   "dying between two commands locks everyone out",
		Lock:      "SET NX EX; DEL",
		Words:     "It writes the key and its TTL with one SET, unless the key exists. Unlock deletes the key.",
		Asks:      "Whatever happens to a client in its TryLock, the lock ends with its TTL.",
		Fresh:     "One command sets the key and its TTL.",
		File:      "3_atomic_acquire_test.go",
		Guarantee: "dying at any point of acquiring blocks no one beyond the TTL",
		Broken:    "A late holder's DEL, or a DEL resent after a lost reply, removes the next owner's lock.",
	},
	{
		Dir:     "step04_owner_token",
		Title:   "a random token as the value",
		Problem: "a late holder deletes the next owner's lock",
		Lock:    "SET token NX EX; GET, compare, DEL",
		Words:   "It writes a random token with one SET, unless the key exists. Unlock reads the key, and deletes it if it holds that token.",
		Asks: "Only the owner releases a lock: every acquisition has a new random " +
			"token. Unlock without the lock is ErrNotHeld. When the reply to a SET is " +
			"lost, go-redis sends it again: the owner then recognises its own lock.",
		Fresh:     "The value says whose lock it is. After a lost reply, the owner recognises its lock by it.",
		File:      "4_owner_release_test.go",
		Guarantee: "a late holder cannot delete the next owner's lock",
		Broken:    "The lock can expire between GET and DEL: the DEL then removes the next owner's lock.",
	},
	{
		Dir:     "step05_lua_release",
		Title:   "compare and delete in one Lua script",
		Problem: "the lease ends in the middle of Unlock",
		Lock:    "SET token NX EX; a script that compares and deletes",
		Words:   "It writes a random token with one SET, unless the key exists. Unlock is a script in Redis that compares the token and deletes. Lock polls every 15 to 45 ms.",
		Asks: "Nothing fits between the check and the delete. A command whose reply was " +
			"lost may have run, and go-redis silently sends it again: Unlock must not " +
			"return ErrNotHeld for a release that has run. It works with a cancelled " +
			"context, and returns within 6s. A TryLock of unknown outcome leaves " +
			"nothing behind in Redis.",
		Fresh:     "The release is atomic and works with a cancelled context. An acquire of unknown outcome is undone.",
		File:      "5_atomic_release_test.go",
		Guarantee: "nothing fits between the check and the delete",
		Broken:    "The owner blocks itself when it locks again; a lease that ends during the work lets a second holder in.",
	},
	{
		Dir:     "step06_reentrant",
		Title:   "a depth next to the token, and waiters that are woken",
		Problem: "the owner locks again and blocks itself; waiters poll",
		Lock:    "a hash {token: depth}, written by a script; the last release publishes",
		Words:   "It stores a random token and how deeply its owner has nested. The outermost Unlock deletes the key and wakes the waiters. The TTL is set once, when the lock is acquired.",
		Asks: "Each Lock value is one owner. It may lock again, and its outermost Unlock " +
			"frees the lock; what is sent twice counts once. Waiters in Lock are woken, " +
			"and do not poll. From here on a lock is a hash, so a string at its key is " +
			"another program's data: an error at once, not a holder.",
		Fresh:     "The owner may nest. Waiters are woken and do not poll.",
		File:      "6_reentrant_test.go",
		Guarantee: "the owner may nest; only the outermost Unlock frees",
		Broken:    "A lease that ends during the work: two inside, an update lost at the resource.",
	},
	{
		Dir:     "step07_watchdog",
		Title:   "a watchdog that renews",
		Problem: "the lease ends during the work, and two are inside",
		Lock:    "as step 06; renewed every ttl/3 until Unlock or loss",
		Words:   "The owner may nest, waiters are woken, and a watchdog renews the lease. The lock lives on one Redis: a master, and a replica that follows it a little later.",
		Asks: "Work that takes longer than the TTL keeps the lock. A dead holder's lock " +
			"still expires. A live holder that forgets to unlock now keeps it, unless " +
			"MaxHold limits that.",
		Fresh:     "Renewal every ttl/3, with Lost, ValidUntil, Do and MaxHold.",
		File:      "7_watchdog_test.go",
		Guarantee: "work longer than the TTL keeps the lock, but a dead holder's lock still expires",
		Broken:    "The master fails over before it has replicated the key: two inside.",
	},
	{
		Dir:     "step08_redlock",
		Nodes:   5,
		Title:   "a majority of independent masters",
		Problem: "the master fails over, and two are inside",
		Lock:    "step 06's scripts on all nodes at once; a majority decides",
		Words:   "It sends to five independent Redis masters at once, and holds the lock if at least three of them grant it.",
		Asks: "The lock lives on five independent masters. When a minority of them " +
			"fails, in any way and at any moment, it is neither lost nor blocked. Step " +
			"07's lock has one Redis, so that is the one that fails here.",
		Fresh:     "Quorum, NodeTimeout, nodes that are healed, retry after a random delay.",
		File:      "8_failover_test.go",
		Guarantee: "losing a minority of the masters neither loses nor blocks the lock",
		Broken: "Exactly three of five held and one of them restarts empty; a node's clock jumps; " +
			"a holder paused beyond its validity writes to a resource that does not check.",
	},
})

func numbered(steps [8]Step) [8]Step {
	for i := range steps {
		s := &steps[i]
		s.N, s.Source, s.Nodes = i+1, LockFile, max(1, s.Nodes)
	}
	return steps
}

// Last is step 08, whose folder has every guarantee.
var Last = Steps[len(Steps)-1]

// Epilogue follows the eight locks. It is not a ninth lock: its stories are about the
// resource, and red is the resource without the check. Its number is its place behind the
// steps.
var Epilogue = Step{
	N:       len(Steps) + 1,
	label:   "the epilogue",
	subject: "the resources that check",
	Dir:     "docs/fencing",
	Source:  "check.go",
	Nodes:   1,
	Title:   "fencing tokens",
	Problem: "a paused holder wakes up, and writes",
	Lock:    "step 05, with a number for each acquisition",
	Words:   "They compare the number of a write with the highest they have seen, and reject an older one.",
	Fresh: "What no step gives: a holder that is paused for long (a GC pause, a stopped " +
		"process, a moved virtual machine) does not know that its lock has ended, and " +
		"writes when it wakes up. No lock can prevent that. The resource has to: it " +
		"takes a fencing token, a number that grows with every acquisition, and rejects " +
		"a write that carries an older one.",
	File:      "fencing_test.go",
	Guarantee: "a paused holder's stale write is rejected",
	Broken:    "A counter on a Redis that fails over can give a number twice; a resource that cannot compare cannot be fenced.",
}

// Unfenced is the red side of the epilogue: its resources without the check.
var Unfenced = Step{
	label:   "before the course",
	subject: "the resources without the check",
	Dir:     "docs/fencing/unfenced",
	Source:  "check.go",
	Lock:    "docs/fencing/unfenced/check.go",
	Words:   "The lock gives every acquisition a number, and the writes carry it. The resources accept every write.",
}

// Files of a step's folder that are not guarantees.
const (
	LockFile    = "lock.go"
	LabFile     = "lab_test.go"     // of the test harness, what authors of stories read
	NetFile     = "lab_net_test.go" // what is below it: the network, the timeline
	NewFile     = "new_test.go"     // how the test harness calls New
	BugFile     = "bug_test.go"     // what is still broken, weaker variants, common mistakes: for its own step only
	ExampleFile = "example_test.go" // for go doc, from step 05 on
)

// A File is what a step guarantees: the guarantee itself, or what has its own
// file next to it. The files with a number are a first reading: they hold the fix.
type File struct {
	Name      string
	Guarantee string
	From, To  int      // the steps that have it
	Needs     []string // methods, fields and variables that older locks lack
}

// besides are the other files, in the order of the course. Those of the second reading ("more_")
// are what a lock with the fix must survive as well. Those that end before the last step, because
// it gives them up, and those that need a newer API are not run against every lock.
var besides = []File{
	{Name: "more_1_test.go", From: 1, To: 8},
	{Name: "more_2_test.go", From: 2, To: 8},
	{Name: "more_4_test.go", From: 4, To: 8},
	{Name: "more_5_test.go", From: 5, To: 8},
	{Name: "6_waiting_test.go", Guarantee: "waiters are woken and do not poll", From: 6, To: 7},
	{Name: "more_6_test.go", From: 6, To: 8},
	{Name: "more_6_waiting_test.go", From: 6, To: 7},
	{"7_lost_test.go", "the holder is notified that it lost the lock", 7, 8, newer},
	{Name: "more_7_lost_test.go", From: 7, To: 8, Needs: newer},
	{"8_validity_test.go", "how long a node may take, and what a node is sent", 8, 8, []string{"NodeTimeout"}},
	{Name: "more_8_test.go", From: 8, To: 8},
	{Name: "more_8_validity_test.go", From: 8, To: 8, Needs: slices.Concat(newer, []string{"NodeTimeout"})},
}

var newer = []string{"Lost", "ValidUntil", "Do", "MaxHold", "ErrLost", "ErrNotRun"}

// IsSecond tells the files of the second reading from those with a number.
func IsSecond(file string) bool { return strings.HasPrefix(file, "more_") }

// Hardening is what callers, clients and servers have done to other locks. Only a step's own
// lock has to survive it: red, try and the matrix leave these tests out, why does not.
var Hardening = []File{
	{Name: "more_5_client_test.go", From: 5, To: 8},
	{Name: "more_5_evalsha_test.go", From: 5, To: 8},
	{Name: "more_5_single_test.go", From: 5, To: 7},
	{Name: "more_6_proxy_test.go", From: 6, To: 7},
	{Name: "more_7_holders_test.go", From: 7, To: 8},
	{Name: "more_7_wait_test.go", From: 7, To: 8},
	{Name: "more_8_client_test.go", From: 8, To: 8},
	{Name: "more_8_votes_test.go", From: 8, To: 8},
	{Name: "rounds_test.go", From: 8, To: 8}, // looks inside, and so stands in the folder
}

// NotAsked are the files of tests that only a step's own lock has to pass.
func NotAsked() []string {
	names := []string{BugFile, ExampleFile}
	for _, f := range Hardening {
		names = append(names, f.Name)
	}
	return names
}

// SecondDir has the second reading, once for all steps. Laid over a step's folder, its files
// are played on the lock there; HereFile says so to them.
const (
	SecondDir = "docs/stories"
	HereFile  = "here_test.go"
)

// Home is the folder of a file of s's tests.
func (s Step) Home(file string) string {
	if IsSecond(file) {
		return SecondDir
	}
	return s.Dir
}

// Second returns the files of the second reading that the step in a folder has to pass.
func Second(dir string) (names []string) {
	for _, f := range append(Files(), Hardening...) {
		if IsSecond(f.Name) && slices.ContainsFunc(Steps[f.From-1:f.To], func(s Step) bool { return s.Dir == dir }) {
			names = append(names, f.Name)
		}
	}
	return names
}

// Files returns what all steps guarantee, in the order of the course.
func Files() []File {
	var list []File
	for _, s := range Steps {
		list = append(list, File{s.File, s.Guarantee, s.N, len(Steps), nil})
		for _, f := range besides {
			if f.From == s.N {
				list = append(list, f)
			}
		}
	}
	return list
}

// Guarantees returns what s guarantees: what begins in it, and what stays of the steps before.
func (s Step) Guarantees() []File {
	if s.IsEpilogue() {
		return []File{ // the first is its red side; the other is about the lock, which red keeps
			{s.File, s.Guarantee, s.N, s.N, nil},
			{"lock_test.go", "each hold has a higher number than those before it", s.N, s.N, nil},
		}
	}
	return slices.DeleteFunc(Files(), func(f File) bool { return s.N < f.From || s.N > f.To })
}

// Beginning returns what begins in s.
func (s Step) Beginning() []File {
	return slices.DeleteFunc(s.Guarantees(), func(f File) bool { return f.From != s.N })
}

// Red returns what begins in s and can be run on the lock before it.
func (s Step) Red() []File {
	if s.IsEpilogue() {
		return s.Guarantees()[:1]
	}
	return slices.DeleteFunc(s.Beginning(), func(f File) bool { return f.Needs != nil })
}

// Kept returns what begins in s, and can be run on every lock.
func (s Step) Kept() []File {
	return slices.DeleteFunc(s.Red(), func(f File) bool { return f.To < Last.N })
}

// IsEpilogue tells the epilogue from the steps.
func (s Step) IsEpilogue() bool { return s.N == Epilogue.N }

// Before returns the step before s, of the epilogue its red side.
func (s Step) Before() Step {
	switch {
	case s.IsEpilogue():
		return Unfenced
	case s.N == 1:
		return First
	}
	return Steps[s.N-2]
}

// Entries returns the steps and the epilogue.
func Entries() []Step { return append(Steps[:len(Steps):len(Steps)], Epilogue) }

// Path is the file in which s and the step before it differ, from the repository's root.
func (s Step) Path() string { return s.Dir + "/" + s.Source }

// Label is how messages name a step: "step 04".
func (s Step) Label() string { return cmp.Or(s.label, fmt.Sprintf("step %02d", s.N)) }

// Arg is how a command line names a step: "4", "fencing".
func (s Step) Arg() string {
	if s.IsEpilogue() {
		return epilogueArg
	}
	return strconv.Itoa(s.N)
}

const epilogueArg = "fencing"

// Of is how messages name the owner of a lock: "of step 04".
func (s Step) Of() string {
	if s.N == 0 {
		return "from " + s.Label()
	}
	return "of " + s.Label()
}

// Subject is what stories are run on: "the lock of step 04".
func (s Step) Subject() string { return cmp.Or(s.subject, "the lock "+s.Of()) }

// Parse reads a step as Arg writes it.
func Parse(arg string) (Step, error) {
	if arg == epilogueArg {
		return Epilogue, nil
	}
	n, err := strconv.Atoi(arg)
	if err != nil || n < 1 || n > len(Steps) {
		return Step{}, fmt.Errorf("no such step: %s (there are 1 to %d)", arg, len(Steps))
	}
	return Steps[n-1], nil
}

// Module is how the repository's root is recognised.
const Module = "example.com/redislock-steps"

var errNoModule = errors.New("no go.mod of module " + Module + " here or in a folder above: change into the repository and try again")

// Root walks up from the working directory to the go.mod of this module.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		mod, _ := os.ReadFile(filepath.Join(dir, "go.mod"))
		if first, _, _ := strings.Cut(string(mod), "\n"); strings.TrimSpace(first) == "module "+Module {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errNoModule
		}
		dir = parent
	}
}
