// Package mutant changes a lock in one place at a time, to find out which story needs
// that place.
//
// All mutants of a lock are compiled at once: each is a switch in the source, and an
// environment variable turns one of them on. So a step is built once, and a mutant costs
// only the run of its stories.
package mutant

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"example.com/redislock-steps/docs/internal/source"
)

// Env names the variable that turns a mutant on, by its number. Behind Reached, the tests
// print the numbers of the mutants that they have come by, as JSON.
const (
	Env     = "REDISLOCK_MUTANT"
	Reached = "mutants reached: "
)

// Spins is what the tests panic with when a mutant goes round and round: without asking
// Redis, it would let no virtual time pass, and nothing would end it.
const Spins = "this mutant goes round and round"

// A Kind is how a mutant changes the code.
type Kind string

const (
	Out       Kind = "out"       // a statement, or a line of a script, is taken out
	Never     Kind = "never"     // a condition is false
	Always    Kind = "always"    // a condition is true
	Instead   Kind = "instead"   // something else is there: Now
	Silent    Kind = "silent"    // an error is not returned
	Unwrapped Kind = "unwrapped" // errors.Is does not find what an error wraps
)

// A Mutant is one change.
type Mutant struct {
	N    int    `json:"-"` // its number, from 1
	File string `json:"file"`
	Line int    `json:"line"` // on which it begins
	In   string `json:"in"`   // the declaration: Lock.TryLock, releaseScript
	Kind Kind   `json:"kind"`
	Was  string `json:"was"`           // the code
	Now  string `json:"now,omitempty"` // what is there instead
	Nth  int    `json:"nth,omitempty"` // of several that are the same
}

// said is how a change is named, with Was and Now.
var said = map[Kind]string{
	Out:       "without `WAS`",
	Never:     "as if `WAS` were never true",
	Always:    "as if `WAS` were always true",
	Instead:   "`NOW` instead of `WAS`",
	Silent:    "nil instead of `WAS`",
	Unwrapped: "`%v` instead of `%w` for `WAS`",
}

// String says what is changed, for a reader who sees the line.
func (m Mutant) String() string {
	return strings.NewReplacer("WAS", m.Was, "NOW", m.Now).Replace(said[m.Kind])
}

// Place is where the line is in the lock's folder: "lock.go:40".
func (m Mutant) Place() string { return fmt.Sprintf("%s:%d", m.File, m.Line) }

// Key names a mutant wherever its line is: by the declaration, the change, and how many
// of the same come before it.
func (m Mutant) Key() string {
	key := m.In + ": " + m.String()
	if m.Nth > 1 {
		key += fmt.Sprintf(" (%d)", m.Nth)
	}
	return key
}

// A Lock is the files of a lock with all their mutants.
type Lock struct {
	Mutants []Mutant

	// Files are what takes the place of the lock's files: themselves with the switches, the
	// switches, and a test file that says which of them were reached.
	Files map[string][]byte
}

// Read finds the mutants of the lock in a folder, file by file, those of lock.go first.
func Read(dir string) (*Lock, error) {
	names, err := source.Files(dir)
	if err != nil {
		return nil, err
	}
	lookup, err := exports(dir)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	texts, files := make([][]byte, len(names)), make([]*ast.File, len(names))
	for i, name := range names {
		if texts[i], err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			return nil, err
		}
		if files[i], err = parser.ParseFile(fset, name, texts[i], parser.SkipObjectResolution); err != nil {
			return nil, err
		}
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	conf := types.Config{Importer: importer.ForCompiler(fset, "gc", lookup)}
	pkg, err := conf.Check(files[0].Name.Name, fset, files, info)
	if err != nil {
		return nil, err
	}
	l := &Lock{Files: map[string][]byte{}}
	for i, name := range names {
		g := &generator{fset: fset, info: info, pkg: pkg, mutants: l.Mutants, name: name, src: texts[i]}
		g.file(files[i])
		l.Mutants, l.Files[name] = g.mutants, g.source()
	}
	same := map[string]int{} // for a reader
	for i := range l.Mutants {
		m := &l.Mutants[i]
		key := m.Key()
		if same[key]++; same[key] > 1 {
			m.Nth = same[key]
		}
	}
	l.Files["mutant_switch.go"] = fmt.Appendf(nil, switches, pkg.Name(), Env, len(l.Mutants)+1, Spins)
	l.Files["mutant_reached_test.go"] = fmt.Appendf(nil, reached, pkg.Name(), Reached)
	return l, nil
}

// exports finds what the compiler knows of the packages that a package imports.
func exports(dir string) (importer.Lookup, error) {
	cmd := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}", ".")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list in %s: %w", dir, err)
	}
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		files[name] = file
	}
	return func(path string) (io.ReadCloser, error) { return os.Open(files[path]) }, nil
}

const switches = `package %s

import (
	"os"
	"strconv"
	"sync/atomic"
)

var mutantNow, _ = strconv.Atoi(os.Getenv(%q))

var mutantReached [%d]atomic.Bool

var mutantAsked atomic.Int64

func mutantIs(n int) bool {
	if mutantAsked.Add(1) == 20_000_000 { // more than any story asks
		panic(%q)
	}
	mutantReached[n].Store(true)
	return n == mutantNow
}

func mutantPick[T any](n int, is, would T) T {
	if mutantIs(n) {
		return would
	}
	return is
}

func mutantZero[T any](n int, is T) T { return mutantPick(n, is, *new(T)) }
`

const reached = `package %s

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	code := m.Run()
	var list []int
	for n := range mutantReached {
		if mutantReached[n].Load() {
			list = append(list, n)
		}
	}
	js, _ := json.Marshal(list)
	fmt.Printf("%%s%%s\n", %q, js)
	os.Exit(code)
}
`
