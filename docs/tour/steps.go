package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// modulePath is how the repository's root is recognised.
const modulePath = "example.com/redislock-steps"

// A step is one lock of the course.
type step struct {
	n         int    // 1 to 8; 0 is the lock before the course, which has no tests
	dir       string // its folder, from the repository's root
	title     string
	lock      string // how it acquires and releases
	fresh     string // what is new here
	file      string // the test file of the guarantee that begins here
	guarantee string // what that file asserts
	broken    string // what the next step is for
}

// step0 is the lock that everybody writes first. It is the red side of step 1.
var step0 = step{
	dir:  "docs/step00_exists_set",
	lock: "EXISTS, then SET; DEL",
}

// steps is the course. Nothing else in this program knows a folder or a guarantee file by name.
var steps = [...]step{
	{
		n:         1,
		dir:       "step01_setnx",
		title:     "SETNX",
		lock:      "SETNX; DEL",
		fresh:     "One command decides who is in. Lock polls every 30 ms.",
		file:      "1_mutual_exclusion_test.go",
		guarantee: "two clients never hold it at once",
		broken:    "A holder that dies leaves the key behind: locked for ever.",
	},
	{
		n:         2,
		dir:       "step02_expire",
		title:     "SETNX, then EXPIRE",
		lock:      "SETNX, then EXPIRE; DEL",
		fresh:     "The key gets a ttl.",
		file:      "2_crashed_holder_test.go",
		guarantee: "a holder that dies blocks nobody beyond the ttl",
		broken:    "A client that dies between the two commands, or whose EXPIRE Redis refuses: locked for ever.",
	},
	{
		n:         3,
		dir:       "step03_atomic_set",
		title:     "SET key value NX PX ttl",
		lock:      "SET NX PX; DEL",
		fresh:     "One command sets the key and its ttl.",
		file:      "3_atomic_acquire_test.go",
		guarantee: "dying at any point of acquiring blocks nobody beyond the ttl",
		broken:    "A late holder's DEL, or a DEL resent after a lost reply, removes the next owner's lock.",
	},
	{
		n:         4,
		dir:       "step04_owner_token",
		title:     "a random token as the value",
		lock:      "SET token NX PX; GET, compare, DEL",
		fresh:     "The value says whose lock it is. A lost reply to the acquire is recognised by it.",
		file:      "4_owner_release_test.go",
		guarantee: "a late holder cannot delete the next owner's lock",
		broken:    "The lock can expire between GET and DEL: the DEL then removes the next owner's lock.",
	},
	{
		n:         5,
		dir:       "step05_lua_release",
		title:     "compare and delete in one Lua script",
		lock:      "SET token NX PX; a script that compares and deletes",
		fresh:     "The release is atomic, survives an ended context, and takes back an acquire of unknown outcome.",
		file:      "5_atomic_release_test.go",
		guarantee: "nothing fits between the check and the delete",
		broken: "The owner blocks itself when it locks again; " +
			"a lease that ends during the work lets a second holder in.",
	},
	{
		n:         6,
		dir:       "step06_reentrant",
		title:     "a depth beside the token, and waiters that are woken",
		lock:      "hash {token: depth} in Lua; depth - 1, at 0 DEL and PUBLISH",
		fresh:     "The owner may nest. Waiters are woken and do not poll.",
		file:      "6_reentrant_test.go",
		guarantee: "the owner may nest; only the outermost Unlock frees",
		broken:    "A lease that ends during the work: two inside, an update lost at the resource.",
	},
	{
		n:         7,
		dir:       "step07_watchdog",
		title:     "a watchdog that renews",
		lock:      "as step 06; renewed every ttl/3 until Unlock or loss",
		fresh:     "Renewal every ttl/3, with Lost, ValidUntil, Do and MaxHold.",
		file:      "7_watchdog_test.go",
		guarantee: "work longer than the ttl keeps the lock; a dead holder's lock still expires",
		broken:    "The master fails over before it has replicated the key: two inside.",
	},
	{
		n:         8,
		dir:       "step08_redlock",
		title:     "a majority of independent masters",
		lock:      "the scripts of step 06 on all nodes at once, by majority; all nodes",
		fresh:     "Quorum, NodeTimeout, nodes that are healed, retry after a random delay.",
		file:      "8_failover_test.go",
		guarantee: "losing a minority of the masters neither loses nor blocks the lock",
		broken: "Exactly three of five held and one of them restarts empty; a node's clock jumps; " +
			"a holder paused beyond its validity writes to a resource that does not check.",
	},
}

// epilogue follows the eight locks. It is no ninth lock: its stories are about the resource, and red is the resource
// without the check. Its number is its place behind the steps.
var epilogue = step{
	n:     len(steps) + 1,
	dir:   "docs/fencing",
	title: "fencing tokens",
	lock:  "step 05, with a number for each hold",
	fresh: "What no step gives: a holder that is paused for long (a GC pause, a stopped process, a moved virtual machine) does not\n" +
		"know that its lock has ended, and writes when it wakes up. No lock can prevent that. The resource has to: it takes a\n" +
		"fencing token, a number that grows with every acquisition, and refuses a write that carries an older one.",
	file:      "fencing_test.go",
	guarantee: "a paused holder's late write is refused",
	broken:    "A counter on a Redis that fails over can give a number twice; a resource that cannot compare cannot be fenced.",
}

// unfenced is the red side of the epilogue: its resources without the check.
var unfenced = step{
	dir:  "docs/fencing/unfenced",
	lock: "docs/fencing/unfenced/check.go",
}

// epilogueArg is how the command line names the epilogue.
const epilogueArg = "fencing"

// epilogueFiles are what the epilogue guarantees. The first is its red side; the other is about the lock, which red keeps.
var epilogueFiles = [...]testFile{
	{epilogue.file, epilogue.guarantee, epilogue.n, epilogue.n, nil},
	{"lock_test.go", "each hold has a higher number than those before it", epilogue.n, epilogue.n, nil},
}

func (s step) isEpilogue() bool {
	return s.dir == epilogue.dir
}

// entries returns the steps and the epilogue.
func entries() []step {
	return append(steps[:len(steps):len(steps)], epilogue)
}

// A testFile is what a step guarantees: the guarantee itself, and what stands in a file of its own beside it.
type testFile struct {
	name      string
	guarantee string
	from, to  int      // the steps that have it
	needs     []string // methods and fields of Lock and variables of the package that older locks have not
}

// besides are the test files that are not run against every lock, because a step gives them up or because they need
// a newer API than TryLock, Lock and Unlock.
var besides = [...]testFile{
	{"6_waiting_test.go", "waiters are woken and do not poll", 6, 7, nil},
	{"7_lost_test.go", "the holder learns that it has lost the lock", 7, 8, []string{"Lost", "ValidUntil", "Do", "MaxHold", "ErrLost", "ErrNotRun"}},
	{"8_validity_test.go", "how long a node may take, and what a node is asked", 8, 8, []string{"NodeTimeout"}},
}

// testFiles returns what all steps guarantee, in the order of the course.
func testFiles() []testFile {
	var list []testFile
	for _, s := range steps {
		list = append(list, testFile{s.file, s.guarantee, s.n, len(steps), nil})
		for _, f := range besides {
			if f.from == s.n {
				list = append(list, f)
			}
		}
	}
	return list
}

// guarantees returns what step s guarantees: its own and those of the steps before.
func guarantees(s step) []testFile {
	if s.isEpilogue() {
		return epilogueFiles[:]
	}
	return slices.DeleteFunc(testFiles(), func(f testFile) bool { return s.n < f.from || s.n > f.to })
}

// redFiles returns what begins in step s and can be run on the lock before it.
func redFiles(s step) []testFile {
	if s.isEpilogue() {
		return epilogueFiles[:1]
	}
	return slices.DeleteFunc(testFiles(), func(f testFile) bool { return f.from != s.n || f.needs != nil })
}

// beginning returns what begins in step s.
func beginning(s step) []testFile {
	if s.isEpilogue() {
		return epilogueFiles[:]
	}
	return slices.DeleteFunc(testFiles(), func(f testFile) bool { return f.from != s.n })
}

// nameList writes the names of files in one line.
func nameList(files []testFile) string {
	var list []string
	for _, f := range files {
		list = append(list, f.name)
	}
	return strings.Join(list, ", ")
}

const (
	lockFile    = "lock.go"
	checkFile   = "check.go"              // of the epilogue
	overlayFile = "unfenced/overlay.json" // of the epilogue: what red replaces
	newFile     = "new_test.go"           // how the lab calls New
	bugFile     = "bug_test.go"           // what is still broken: holds for its own step only
)

// source is the file in which s and the step before it differ.
func (s step) source() string {
	if s.isEpilogue() || s.dir == unfenced.dir {
		return s.dir + "/" + checkFile
	}
	return s.dir + "/" + lockFile
}

// before returns the step before s, of the epilogue its red side.
func before(s step) step {
	if s.isEpilogue() {
		return unfenced
	}
	if s.n == 1 {
		return step0
	}
	return steps[s.n-2]
}

// label is how messages name a step.
func (s step) label() string {
	if s.isEpilogue() {
		return "the epilogue"
	}
	if s.n == 0 {
		return "before the course"
	}
	return fmt.Sprintf("step %02d", s.n)
}

// arg is how the command line names a step.
func (s step) arg() string {
	if s.isEpilogue() {
		return epilogueArg
	}
	return fmt.Sprint(s.n)
}

// subject is what the stories of s are run on.
func (s step) subject() string {
	switch {
	case s.isEpilogue():
		return "the resources that check"
	case s.dir == unfenced.dir:
		return "the resources without the check"
	case s.n == 0:
		return "the lock from " + s.label()
	}
	return "the lock of " + s.label()
}

// A story is one test of a guarantee file.
type story struct {
	name    string
	control bool // holds on the older lock as well, and says so
}

// controlMark begins the line of a doc comment that makes a story a control.
const controlMark = "Green before too:"

// storiesIn lists the stories of a guarantee file in the order of the file.
func storiesIn(root, dir, file string) ([]story, error) {
	list, err := testsOf(root, dir, file)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("no test ran: %s/%s has no story, no func Test...(t *testing.T) at its top level", dir, file)
	}
	return list, err
}

// testsOf lists the tests of a file, which may be none.
func testsOf(root, dir, file string) ([]story, error) {
	name := filepath.Join(root, filepath.FromSlash(dir), file)
	f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no test ran: %s/%s is missing", dir, file)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot list the stories of %s/%s: %w", dir, file, err)
	}
	return stories(f), nil
}

func stories(f *ast.File) []story {
	var list []story
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if ok && isTest(fn) {
			list = append(list, story{fn.Name.Name, isControl(fn.Doc)})
		}
	}
	return list
}

// isTest applies the rule of the go command: TestX(t *testing.T), and not Testing or TestMain(m *testing.M).
func isTest(fn *ast.FuncDecl) bool {
	rest, ok := strings.CutPrefix(fn.Name.Name, "Test")
	if !ok || fn.Recv != nil || len(fn.Type.Params.List) != 1 {
		return false
	}
	if r, _ := utf8.DecodeRuneInString(rest); unicode.IsLower(r) {
		return false
	}
	ptr, ok := fn.Type.Params.List[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	sel, ok := ptr.X.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "T"
}

func isControl(doc *ast.CommentGroup) bool {
	for line := range strings.Lines(doc.Text()) {
		if strings.HasPrefix(strings.TrimSpace(line), controlMark) {
			return true
		}
	}
	return false
}
