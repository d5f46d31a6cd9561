package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"example.com/redislock-steps/docs/internal/course"
)

// The learner's folder; git ignores it. The lock being worked on is lock.go. What was
// there before is kept in folders that the go command passes over: _step04/lock.go.
const (
	myDir      = "mylock"
	myFile     = myDir + "/" + course.LockFile
	myProgress = myDir + "/progress.json"
)

// keptDir is where the attempt at a step is kept while another one is worked on.
func keptDir(n int) string { return fmt.Sprintf("%s/_step%02d", myDir, n) }

func keptFile(n int) string { return keptDir(n) + "/" + course.LockFile }

// progress is what is known of the learner's attempts.
type progress struct {
	Step  int               `json:"step"` // whose attempt lock.go is; 0 is not known
	Steps map[int]*standing `json:"steps"`
}

// standing is how far the attempt at a step has come.
type standing struct {
	Solved  bool           `json:"solved"` // the last run
	Passed  int            `json:"passed"`
	Of      int            `json:"of"`
	Parts   []string       `json:"parts,omitempty"`
	Failing []failing      `json:"failing,omitempty"`
	Hints   map[string]int `json:"hints,omitempty"` // how many stages of a story's hint were given
}

// A failing is a story that did not pass in the last run.
type failing struct {
	File  string `json:"file"`
	Story string `json:"story"`
}

// readProgress returns an empty one if there is none.
func (t *tour) readProgress() (*progress, error) {
	p := &progress{Steps: map[int]*standing{}}
	text, err := os.ReadFile(t.path("", myProgress))
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err == nil {
		err = json.Unmarshal(text, p)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read %s, delete it to go on without: %w", myProgress, err)
	}
	if p.Steps == nil {
		p.Steps = map[int]*standing{}
	}
	return p, nil
}

func (t *tour) writeProgress(p *progress) error {
	text, err := json.MarshalIndent(p, "", "\t")
	if err != nil {
		return err
	}
	return writeWhole(t.path("", myProgress), append(text, '\n'))
}

// at returns the attempts at a step.
func (p *progress) at(n int) *standing {
	if p.Steps[n] == nil {
		p.Steps[n] = &standing{}
	}
	return p.Steps[n]
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

// begin makes lock.go the attempt at s: the one that is there, the one that was kept, the
// solution of the step before, or the course's lock before s. It reports whether the
// learner sees this step for the first time.
func (t *tour) begin(p *progress, s course.Step) (fresh bool, err error) {
	mine := t.exists("", myFile)
	if mine && (p.Step == s.N || p.Step == 0) {
		fresh = p.Step == 0
		p.Step = s.N
		return fresh, t.writeProgress(p)
	}
	from, old := "", p.Step
	switch before := p.Steps[s.N-1]; {
	case t.exists("", keptFile(s.N)):
		from = keptFile(s.N)
	case before != nil && before.Solved && mine && old == s.N-1:
		from = myFile
	case before != nil && before.Solved && t.exists("", keptFile(s.N-1)):
		from = keptFile(s.N - 1)
	default:
		from = s.Before().Dir + "/" + course.LockFile
	}
	src, err := os.ReadFile(t.path("", from))
	if err != nil {
		return false, fmt.Errorf("cannot read the lock %s: %w", s.Before().Of(), err)
	}
	if mine {
		kept, err := t.keep(myFile, old, true)
		if err != nil {
			return false, err
		}
		t.prose("", "Your attempt at step %02d is kept in %s.", old, kept)
	}
	if err := writeWhole(t.path("", myFile), src); err != nil {
		return false, err
	}
	switch from {
	case keptFile(s.N):
		os.Remove(t.path("", from)) // it is lock.go now
		t.prose("", "%s is your attempt at step %02d again.\n", myFile, s.N)
	case myFile, keptFile(s.N - 1):
		t.prose("", "%s goes on with your lock of step %02d, which is solved. (To start from the course's lock instead: go run ./docs/tour reset %d)\n", myFile, s.N-1, s.N)
		fresh = true
	default:
		t.prose("", "%s is new: a copy of %s. It is yours to change.\n", myFile, from)
		fresh = true
	}
	p.Step = s.N
	return fresh, t.writeProgress(p)
}

// keep moves a file to where the attempts at a step are kept, beside what is there. One
// that is to be resumed is lock.go there.
func (t *tour) keep(from string, n int, resume bool) (string, error) {
	to := keptFile(n)
	for i := 1; !resume || t.exists("", to); i++ {
		to, resume = fmt.Sprintf("%s/lock-%d.go", keptDir(n), i), true
	}
	if err := os.MkdirAll(t.path("", keptDir(n)), 0o777); err != nil {
		return "", err
	}
	return to, os.Rename(t.path("", from), t.path("", to))
}

// runReset begins a step again from the course's lock before it, and keeps what there is.
func (t *tour) runReset(s course.Step) error {
	p, err := t.readProgress()
	if err != nil {
		return err
	}
	from := s.Before().Dir + "/" + course.LockFile
	src, err := os.ReadFile(t.path("", from))
	if err != nil {
		return fmt.Errorf("cannot read the lock %s: %w", s.Before().Of(), err)
	}
	put := func(file string, n int) error {
		if !t.exists("", file) {
			return nil
		}
		kept, err := t.keep(file, n, n != s.N)
		if err == nil {
			t.prose("", "Your attempt at step %02d is kept in %s.", n, kept)
		}
		return err
	}
	if p.Step == 0 {
		p.Step = s.N
	}
	if err := errors.Join(put(keptFile(s.N), s.N), put(myFile, p.Step)); err != nil {
		return err
	}
	if err := writeWhole(t.path("", myFile), src); err != nil {
		return err
	}
	p.Step = s.N
	delete(p.Steps, s.N)
	t.prose("", "%s is a copy of %s. Next: go run ./docs/tour try %d", myFile, from, s.N)
	return t.writeProgress(p)
}
