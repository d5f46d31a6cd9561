package main

import (
	"encoding/csv"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"example.com/redislock-steps/docs/internal/course"
)

// effort is what a step has taken.
type effort struct {
	Tries int `json:"tries"` // runs that compiled
	Hints int `json:"hints"` // stages that were shown
	Best  int `json:"best"`  // the most stories that passed in a run, of how many
	Of    int `json:"of"`
}

func (t *tour) countTry(s course.Step) error {
	p, err := t.readProgress()
	if err != nil {
		return err
	}
	e := p.Effort[s.N]
	e.Tries++
	p.Effort[s.N] = e
	return t.writeProgress(p)
}

// report prints a line for the sheet of a group. Commas survive terminals and chats, tabs do not.
func (t *tour) report(name string) error {
	p, err := t.readProgress()
	if err != nil {
		return err
	}
	var solved []string
	for _, s := range course.Steps {
		if t.hasLock(solvedDir(s.N)) {
			solved = append(solved, strconv.Itoa(s.N))
		}
	}
	if u, err := user.Current(); name == "" && err == nil {
		name = filepath.Base(strings.ReplaceAll(u.Username, `\`, "/")) // on Windows behind the name of a domain
	}
	st, e := p.Steps[p.Step], p.Effort[p.Step]
	cells := []string{name, strings.Join(solved, " ")}
	for _, n := range []int{p.Step, st.Passed, st.Of, e.Tries, e.Hints} {
		cells = append(cells, strconv.Itoa(n))
	}
	w := csv.NewWriter(t.out)
	w.Write(cells)
	w.Flush()
	return w.Error()
}

// summaryToKeep shows what each step has taken.
func (t *tour) summaryToKeep() error {
	p, err := t.readProgress()
	if err != nil {
		return err
	}
	t.heading("What you have done: steps, stories passed, tries, hints")
	var all effort
	steps := 0
	for _, s := range course.Steps {
		e, state := p.Effort[s.N], ""
		if t.hasLock(solvedDir(s.N)) {
			state = "solved "
			steps++
		}
		if e == (effort{}) && state == "" {
			continue
		}
		t.printf("  %02d  %s  %3d/%-3d  %5d  %5d  %s\n", s.N, pad(7, word(state)), e.Best, e.Of, e.Tries, e.Hints, s.Lock)
		all.Best += e.Best
		all.Tries += e.Tries
		all.Hints += e.Hints
	}
	t.prose("", "\nSteps solved: %d of %d. Stories passed: %d. Tries: %d. Hints: %d.", steps, len(course.Steps), all.Best, all.Tries, all.Hints)
	return nil
}
