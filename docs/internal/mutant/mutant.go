// Package mutant changes a lock in one place at a time, to find out which story needs
// that place.
//
// All mutants of a lock are compiled at once: each is a switch in the source, and an
// environment variable turns one of them on. So a step is built once, and a mutant costs
// only the run of its stories.
package mutant

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"example.com/redislock-steps/docs/internal/source"
)

// Env names the variable that turns a mutant on, by its number. With ReachEnv, the tests
// write to that file the numbers of the mutants that they have come by.
const (
	Env      = "REDISLOCK_MUTANT"
	ReachEnv = "REDISLOCK_REACHED"
)

// Spins is what the tests panic with when a mutant goes round and round: without asking
// Redis, it would let no virtual time pass, and nothing would end it.
const Spins = "this mutant goes round and round"

// A Kind is how a mutant changes the code.
type Kind string

const (
	Out     Kind = "out"     // a statement, or a line of a script, is taken out
	Never   Kind = "never"   // a condition is false
	Always  Kind = "always"  // a condition is true
	Instead Kind = "instead" // something else is there: Now
	Later   Kind = "later"   // a statement comes after the next one, Now
	Silent  Kind = "silent"  // an error is not returned
)

// A Mutant is one change.
type Mutant struct {
	N     int    `json:"-"` // its number, from 1
	File  string `json:"file"`
	First int    `json:"-"` // the line on which it begins
	Last  int    `json:"-"` // and the last one that it changes
	Line  int    `json:"line"`
	In    string `json:"in"` // the declaration: Lock.TryLock, releaseScript
	Kind  Kind   `json:"kind"`
	Was   string `json:"was"`           // the code
	Now   string `json:"now,omitempty"` // what is there instead
	Nth   int    `json:"nth,omitempty"` // of several that are the same
}

// String says what is changed, for a reader who sees the line.
func (m Mutant) String() string {
	switch m.Kind {
	case Out:
		return "without `" + m.Was + "`"
	case Never:
		return "as if `" + m.Was + "` were never true"
	case Always:
		return "as if `" + m.Was + "` were always true"
	case Later:
		return "`" + m.Was + "` after `" + m.Now + "`"
	case Silent:
		return "nil instead of `" + m.Was + "`"
	}
	if words := m.Words(); words != "" {
		return words
	}
	return "`" + m.Now + "` instead of `" + m.Was + "`"
}

const (
	errorText = "text of the error" // Was, when the text is empty instead
	noGo      = "a call"
	wrapped   = "%w of "
)

// Words says what is changed where the code before and after does not, and is "" otherwise.
func (m Mutant) Words() string {
	switch {
	case m.Was == errorText:
		return "an empty text instead of the error's"
	case m.Was == "go":
		return noGo + " instead of `go`"
	case strings.HasPrefix(m.Was, wrapped):
		return "`%v` instead of `%w` for `" + strings.TrimPrefix(m.Was, wrapped) + "`"
	}
	return ""
}

// Place is where the line is in the lock's folder: "lock.go:40".
func (m Mutant) Place() string { return fmt.Sprintf("%s:%d", m.File, m.Line) }

// A Lock is the files of a lock with all their mutants.
type Lock struct {
	Mutants []Mutant
	name    string            // of the package
	sources map[string][]byte // in which they are switches
}

// Files returns what takes the place of the lock's files: themselves with the switches, the
// switches, and a test file that says which of them were reached.
func (l *Lock) Files() map[string][]byte {
	files := maps.Clone(l.sources)
	files["mutant_switch.go"] = fmt.Appendf(nil, switches, l.name, Env, len(l.Mutants)+1, Spins)
	files["mutant_reached_test.go"] = fmt.Appendf(nil, reached, l.name, ReachEnv)
	return files
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
	var texts [][]byte
	var files []*ast.File
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		f, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		texts, files = append(texts, text), append(files, f)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	conf := types.Config{Importer: importer.ForCompiler(fset, "gc", lookup)}
	pkg, err := conf.Check(files[0].Name.Name, fset, files, info)
	if err != nil {
		return nil, err
	}
	g := &generator{fset: fset, info: info, pkg: pkg}
	l := &Lock{name: pkg.Name(), sources: map[string][]byte{}}
	for i, name := range names {
		g.begin(name, texts[i], files[i])
		g.file(files[i])
		l.sources[name] = g.source()
	}
	g.number()
	l.Mutants = g.mutants
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

func mutantZero[T any](n int, is T) (zero T) {
	if mutantIs(n) {
		return zero
	}
	return is
}

// Of a script, the last one that is on counts: it is at most one.
func mutantScript(is string, would map[int]string) string {
	for n, other := range would {
		if mutantIs(n) {
			is = other
		}
	}
	return is
}
`

const reached = `package %s

import (
	"encoding/json"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if name := os.Getenv(%q); name != "" {
		list := []int{}
		for n := range mutantReached {
			if mutantReached[n].Load() {
				list = append(list, n)
			}
		}
		js, _ := json.Marshal(list)
		if err := os.WriteFile(name, js, 0o666); err != nil {
			panic(err)
		}
	}
	os.Exit(code)
}
`

// An edit puts text at an offset of the source. Of several at the same, the one with the
// lower order comes first.
type edit struct {
	at, order int
	text      string
}

// A generator finds mutants and makes edits for them.
type generator struct {
	fset    *token.FileSet
	info    *types.Info
	pkg     *types.Package
	mutants []Mutant

	// Of the file at hand:
	name    string
	src     []byte
	clause  int               // where its package clause ends
	imports map[string]string // by their paths, the names that it gives them; "" is their own
	edits   []edit
	in      string // the declaration
}

// begin goes on to another file.
func (g *generator) begin(name string, src []byte, f *ast.File) {
	g.name, g.src, g.edits = name, src, nil
	g.clause, g.imports = g.offset(f.Name.End()), map[string]string{}
	for _, spec := range f.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		g.imports[path] = ""
		if spec.Name != nil {
			g.imports[path] = spec.Name.Name
		}
	}
}

// source is the source with the switches. No edit adds a line.
func (g *generator) source() (out []byte) {
	slices.SortStableFunc(g.edits, func(a, b edit) int { return cmp.Or(a.at-b.at, a.order-b.order) })
	last := 0
	for _, e := range g.edits {
		out = append(append(out, g.src[last:e.at]...), e.text...)
		last = e.at
	}
	return append(out, g.src[last:]...)
}

func (g *generator) offset(p token.Pos) int { return g.fset.Position(p).Offset }
func (g *generator) line(p token.Pos) int   { return g.fset.Position(p).Line }

func (g *generator) text(n ast.Node) string {
	return string(g.src[g.offset(n.Pos()):g.offset(n.End())])
}

// short is code in one line, without what a block has inside.
func (g *generator) short(n ast.Node) string {
	text := g.text(n)
	first, rest, more := strings.Cut(text, "\n")
	if !more {
		return text
	}
	first, _, _ = strings.Cut(first, " //")
	if !strings.HasSuffix(first, "{") {
		return strings.Join(strings.Fields(text), " ")
	}
	_, end, _ := strings.Cut(rest[strings.LastIndex(rest, "\n")+1:], "}")
	return first + " ... }" + end
}

// add is a new mutant at a node, and returns its number.
func (g *generator) add(n ast.Node, kind Kind, was, now string) int {
	return g.addLines(g.line(n.Pos()), g.line(n.End()), kind, was, now)
}

func (g *generator) addLines(first, last int, kind Kind, was, now string) int {
	m := Mutant{N: len(g.mutants) + 1, File: g.name, First: first, Last: last, Line: first, In: g.in, Kind: kind, Was: was, Now: now}
	g.mutants = append(g.mutants, m)
	return m.N
}

// number tells mutants apart that are the same for a reader.
func (g *generator) number() {
	same := map[string]int{}
	for i := range g.mutants {
		m := &g.mutants[i]
		key := m.Key()
		if same[key]++; same[key] > 1 {
			m.Nth = same[key]
		}
	}
}

// around puts text before and after a node. Of two around the same node, the later call
// is the inner one. What ends at an offset ends before something else begins there, and
// what is around something else comes before it and after it.
func (g *generator) around(n ast.Node, before, after string) {
	from, to := g.offset(n.Pos()), g.offset(n.End())
	closing := edit{to, to - from, after}
	g.edits = append(g.edits, edit{from, outermost - closing.order, before})
	i := slices.IndexFunc(g.edits, func(e edit) bool { return e.at == to && e.order == closing.order })
	if i < 0 {
		i = len(g.edits)
	}
	g.edits = slices.Insert(g.edits, i, closing)
}

const outermost = 1 << 30 // more than twice the size of a source

func (g *generator) typeOf(e ast.Expr) types.Type { return g.info.Types[e].Type }

// typeName is a type as the file writes it. What the file does not import yet, it does then.
func (g *generator) typeName(t types.Type) string {
	return types.TypeString(types.Default(t), func(p *types.Package) string {
		if p == g.pkg {
			return ""
		}
		name, ok := g.imports[p.Path()]
		if !ok {
			name = "mutant_" + p.Name()
			g.imports[p.Path()] = name
			g.edits = append(g.edits, edit{g.clause, 0, fmt.Sprintf("; import %s %q", name, p.Path())})
		}
		if name == "" {
			return p.Name()
		}
		return name
	})
}

// Key names a mutant wherever its line is: by the declaration, the change, and how many
// of the same come before it.
func (m Mutant) Key() string {
	key := m.In + ": " + m.String()
	if m.Nth > 1 {
		key += fmt.Sprintf(" (%d)", m.Nth)
	}
	return key
}
