package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/source"
)

// The learner's folder; git ignores it. The lock being worked on is its Go files. What was
// there before is kept in folders that the go command passes over: _step04.
const (
	myDir      = "mylock"
	myProgress = myDir + "/progress.json"
)

// keptDir is where the attempt at a step is kept while another one is worked on.
func keptDir(n int) string { return fmt.Sprintf("%s/_step%02d", myDir, n) }

// solvedDir is where a copy of the lock that has solved a step stays.
func solvedDir(n int) string { return keptDir(n) + "-solved" }

// progress is what is known of the learner's attempts.
type progress struct {
	Step  int              `json:"step"` // whose attempt the lock is; 0 is not known
	Seen  string           `json:"seen"` // the lock as it was last tried, or put there
	Steps map[int]standing `json:"steps"`
}

// standing is how far the attempt at a step has come.
type standing struct {
	// Of the last run. The first one that failed is the one that was shown in full.
	Solved  bool      `json:"solved"`
	Passed  int       `json:"passed"`
	Of      int       `json:"of"`
	Failing []failing `json:"failing,omitempty"`
	Passing []string  `json:"passing,omitempty"`

	// The earlier step whose lock it is; 0 if it is one of this step, or not brought along.
	Belongs int `json:"belongs,omitempty"`

	// What the attempt began with; "" if the learner has brought it along.
	Start string `json:"start,omitempty"`

	// How many stages of a story's hint were given.
	Hints map[string]int `json:"hints,omitempty"`
}

// A failing is a story that did not pass in the last run.
type failing struct {
	Story string `json:"story"`
	How   string `json:"how,omitempty"`  // it "hangs", "leaks" or "breaks"; "" is by its assertion
	Says  string `json:"says,omitempty"` // that assertion
	Shows string `json:"shows,omitempty"`
}

// readProgress returns an empty one if there is none.
func (t *tour) readProgress() (*progress, error) {
	p := &progress{Steps: map[int]standing{}}
	text, err := os.ReadFile(t.Path("", myProgress))
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err == nil {
		err = json.Unmarshal(text, p)
	}
	if err != nil {
		return nil, errorf("cannot read %s, delete it to continue without it: %w", myProgress, err)
	}
	return p, nil
}

func (t *tour) writeProgress(p *progress) error {
	text, _ := json.MarshalIndent(p, "", "\t") // it has nothing that JSON has not
	return writeWhole(t.Path("", myProgress), append(text, '\n'))
}

// writeWhole writes a file in one go: an interrupt leaves the old one or the new one.
func writeWhole(name string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	if err := os.WriteFile(name+".new", text, 0o666); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// A lock is the files of a learner's lock, by their names.
type lock map[string][]byte

// names are in the order of source.Files.
func (l lock) names() []string {
	return slices.SortedFunc(maps.Keys(l), func(a, b string) int {
		return cmp.Or(boolean(b == course.LockFile)-boolean(a == course.LockFile), strings.Compare(a, b))
	})
}

// declarations are those of all files. Of what cannot be read there are none, and an error.
func (l lock) declarations() (all []source.Declaration, err error) {
	for _, name := range l.names() {
		list, wrong := source.Parse(myDir+"/"+name, l[name])
		all, err = append(all, list...), errors.Join(err, wrong)
	}
	return all, err
}

// lockFiles are the files of the lock in a folder.
func (t *tour) lockFiles(dir string) []string {
	names, _ := source.Files(t.Path(dir, ""))
	return names
}

func (t *tour) hasLock(dir string) bool { return len(t.lockFiles(dir)) > 0 }

func (t *tour) readLock(dir string) (lock, error) {
	l := lock{}
	for _, name := range t.lockFiles(dir) {
		text, err := os.ReadFile(t.Path(dir, name))
		if err != nil {
			return nil, errorf("cannot read the lock in %s: %w", dir, err)
		}
		l[name] = text
	}
	if len(l) == 0 {
		return nil, errorf("there is no Go file in %s", dir)
	}
	return l, nil
}

// startIn is a lock as learners read it: where one file is all, its comments can be Chinese.
func (t *tour) startIn(dir string) (lock, error) {
	l, err := t.readLock(dir)
	if text := l[course.LockFile]; course.Chinese && len(l) == 1 && !strings.HasPrefix(dir, myDir) {
		l[course.LockFile] = comment.ReplaceAllFunc(text, func(c []byte) []byte { return []byte(word(string(c))) })
	}
	return l, err
}

var comment = regexp.MustCompile(`//.*(\n\s*//.*)*`)

// putLock makes l the lock in a folder. Without one, nothing is left of the folder.
func (t *tour) putLock(dir string, l lock) error {
	for name, text := range l {
		if err := writeWhole(t.Path(dir, name), text); err != nil {
			return err
		}
	}
	for _, name := range t.lockFiles(dir) {
		if l[name] == nil {
			os.Remove(t.Path(dir, name))
		}
	}
	os.Remove(t.Path(dir, "")) // only if that was all
	return nil
}

// digest tells two locks from each other.
func (l lock) digest() string {
	sum := sha256.New()
	for _, name := range l.names() {
		fmt.Fprintf(sum, "%s %d\n%s", name, len(l[name]), l[name])
	}
	return fmt.Sprintf("%x", sum.Sum(nil)[:8])
}

// untouched reports whether the attempt at step n is still what it began with.
func (t *tour) untouched(p *progress, n int) bool {
	mine, err := t.readLock(myDir)
	start, wrong := t.startIn(p.Steps[n].Start)
	return p.Steps[n].Start != "" && err == nil && wrong == nil && mine.digest() == start.digest()
}

// begin puts the attempt at s into the learner's folder: the one that is there, the one that was
// kept, the learner's solution of s or of the step before, or the reference before s. What has
// changed since it was last tried stays there: its writer may have gone on to s. It reports
// whether the learner sees this step for the first time.
func (t *tour) begin(p *progress, s course.Step) (fresh bool, err error) {
	old := p.Step
	p.Step = s.N
	if t.hasLock(myDir) && (old == s.N || old == 0 || p.Steps[old].Belongs == s.N) {
		return old != s.N, t.writeProgress(p)
	}
	if mine, err := t.readLock(myDir); err == nil && old < s.N && mine.digest() != p.Seen {
		p.Steps[s.N] = standing{}
		t.prose("", "%s has changed since it was last tried, at step %02d: it stays, and is now your attempt at %s.\n"+
			"To start from the reference solution instead: go run ./docs/tour reset %d\nFrom your own last solved lock: go run ./docs/tour reset %[4]d -mine\n",
			myDir, old, s.Label(), s.N)
		return true, t.writeProgress(p)
	}
	from, solved := s.Before().Dir, s.N-1
	if t.hasLock(solvedDir(s.N)) { // and the learner has gone on with it
		solved = s.N
	}
	switch {
	case t.hasLock(keptDir(s.N)):
		from = keptDir(s.N)
	case t.hasLock(solvedDir(solved)):
		from = solvedDir(solved)
	}
	files, err := t.take(p, from, old, true)
	if err != nil {
		return false, err
	}
	if from != keptDir(s.N) {
		p.Steps[s.N] = standing{Start: from}
	}
	switch from {
	case keptDir(s.N):
		t.prose("", "The lock in %s is your attempt at step %02d again (%s).\n", myDir, s.N, files)
		return false, cmp.Or(t.putLock(from, nil), t.writeProgress(p))
	case solvedDir(solved):
		t.prose("", "The lock in %s is yours that solved step %02d (%s).\nTo start from the reference solution instead: go run ./docs/tour reset %d\n", myDir, solved, files, s.N)
	default:
		t.prose("", "The lock in %s is new: a copy of %s (%s). It is yours to change.\n", myDir, from, files)
		if t.hasLock(keptDir(s.N - 1)) {
			t.prose("", "Step %02d is not solved yet. Back to it: go run ./docs/tour try %[1]d -back\n", s.N-1)
		}
	}
	return true, t.writeProgress(p)
}

// take makes the lock in another folder the learner's, and keeps the one that was there as
// the attempt at step n, unless it is untouched. It returns its files.
func (t *tour) take(p *progress, from string, n int, resume bool) (files string, err error) {
	l, err := t.startIn(from)
	if err != nil {
		return "", err
	}
	if !t.untouched(p, n) {
		if err := t.keep(myDir, n, resume); err != nil {
			return "", err
		}
	}
	p.Seen = l.digest()
	return strings.Join(l.names(), ", "), t.putLock(myDir, l)
}

// keep moves the lock in a folder, if it has one, to where the attempts at a step are
// kept: the one that is to be resumed to _step04, others to _step04-1 and so on.
func (t *tour) keep(from string, n int, resume bool) error {
	if !t.hasLock(from) {
		return nil
	}
	l, err := t.readLock(from)
	if err != nil {
		return err
	}
	to := keptDir(n)
	for i := 1; !resume || t.hasLock(to); i++ {
		to, resume = fmt.Sprintf("%s-%d", keptDir(n), i), true
	}
	if err := t.putLock(to, l); err != nil {
		return err
	}
	t.prose("", "Your attempt at step %02d is kept in %s.", n, to)
	return t.putLock(from, nil)
}

// runReset begins a step again from the reference solution before it, or from the learner's own
// last solved lock, and keeps what there is.
func (t *tour) runReset(s course.Step, mine bool) error {
	p, err := t.readProgress()
	if err != nil {
		return err
	}
	from := s.Before().Dir
	if mine {
		n := s.N - 1
		for n > 0 && !t.hasLock(solvedDir(n)) {
			n--
		}
		if n == 0 {
			return wrongUsage("you have solved no step before %s: go run ./docs/tour reset %d starts from the reference solution", s.Label(), s.N)
		}
		from = solvedDir(n)
	}
	if err := t.keep(keptDir(s.N), s.N, false); err != nil {
		return err
	}
	of := cmp.Or(p.Step, s.N)
	files, err := t.take(p, from, of, of != s.N)
	if err != nil {
		return err
	}
	p.Step, p.Steps[s.N] = s.N, standing{Start: from}
	t.prose("", "The lock in %s is a copy of %s (%s).\nNext: go run ./docs/tour try %d", myDir, from, files, s.N)
	return t.writeProgress(p)
}

// playable is a file of a learner's lock as the stories play it: package sync gives way to one
// whose mutexes do not stop the clock of a bubble. Every line stays where it is.
func playable(src []byte) []byte {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", src, parser.ImportsOnly)
	if err != nil {
		return src // the compiler explains it better
	}
	for _, spec := range f.Imports {
		if spec.Path.Value != `"sync"` {
			continue
		}
		path := strconv.Quote(course.Module + "/docs/tour/sync")
		if spec.Name == nil {
			path = "sync " + path
		}
		at, end := fset.Position(spec.Path.Pos()).Offset, fset.Position(spec.Path.End()).Offset
		return append(append(src[:at:at], path...), src[end:]...)
	}
	return src
}

// asMine is a file as playable makes it, which the compiler and a panic call
// mylock/lock.go, wherever it is built. A byte order mark may only begin a file.
func asMine(name string, src []byte) []byte {
	return fmt.Appendf(nil, "//line %s/%s:1:1\n%s", myDir, name, bytes.TrimPrefix(playable(src), []byte("\ufeff")))
}
