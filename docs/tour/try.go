package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"slices"
	"strings"
)

// myDir is the learner's folder; git ignores it.
const myDir = "mylock"

const myFile = myDir + "/" + lockFile

// errUnsolved ends a try that is not done yet; what is missing has been printed.
var errUnsolved = errors.New("not solved yet")

func (t *tour) runTry(ctx context.Context, s step) error {
	if err := t.startMyLock(s); err != nil {
		return err
	}
	src, err := os.ReadFile(t.path("", myFile))
	if err != nil {
		return err
	}
	b, older, err := t.tryBuild(s, src)
	if err != nil {
		return err
	}
	bin, err := t.build(ctx, b)
	if ce, ok := errors.AsType[*compileError](err); ok {
		return fmt.Errorf("%s does not compile with the tests of %s:\n%s", myFile, s.label(), compilerText(ce.out, t.root, s))
	}
	if err != nil {
		return err
	}
	results, err := t.try(ctx, s, b, bin)
	if err != nil {
		return err
	}
	return t.tryReport(s, results, older, missingAPI(s, src))
}

// startMyLock puts a copy of the lock before s into mylock, unless the learner has one already.
func (t *tour) startMyLock(s step) error {
	from := before(s).dir + "/" + lockFile
	src, err := os.ReadFile(t.path("", from))
	if err != nil {
		return fmt.Errorf("cannot read the lock %s: %w", before(s).of(), err)
	}
	if err := os.MkdirAll(t.path("", myDir), 0o777); err != nil {
		return err
	}
	f, err := os.OpenFile(t.path("", myFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.Write(src)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	t.printf("%s is new: a copy of %s. It is yours to change.\n\n", myFile, from)
	return nil
}

// tryBuild is the tests of step s with the learner's lock. older says that it still has the constructor of the step before.
func (t *tour) tryBuild(s step, src []byte) (b build, older bool, err error) {
	b = build{
		dir:     s.dir,
		name:    "the tests of " + s.label() + " with " + myFile,
		replace: map[string]string{lockFile: myFile},
	}
	b.leaveOut(bugFile)
	mine := declared(src)
	for _, f := range besides {
		if len(mine.lacks(f)) > 0 {
			b.leaveOut(f.name)
		}
	}
	from, err := t.constructorOf(s, src)
	if err != nil {
		return build{}, false, err
	}
	if from.n != s.n && t.exists(from.dir, newFile) {
		b.replace[newFile] = from.dir + "/" + newFile
	}
	return b, from.n != s.n, nil
}

// constructorOf returns the step, s or the one before, whose New has the parameters of the New in src.
func (t *tour) constructorOf(s step, src []byte) (step, error) {
	mine, err := parseNew(src)
	if errors.Is(err, errSyntax) {
		return s, nil // the compiler explains it better
	}
	now, errNow := t.newOf(s)
	then, errThen := t.newOf(before(s))
	if err := errors.Join(errNow, errThen); err != nil {
		return step{}, err
	}
	switch {
	case err != nil:
		return step{}, fmt.Errorf("%s: %w; %s has\n  %s", myFile, err, s.label(), now.decl)
	case mine.params == now.params:
		return s, nil
	case mine.params == then.params:
		return before(s), nil
	}
	return step{}, fmt.Errorf("func New of %s fits no test of %s. It is\n  %s\nand %s has\n  %s\n"+
		"Change it, or move %s away to start again from the lock %s",
		myFile, s.label(), mine.decl, s.label(), now.decl, myFile, before(s).of())
}

func (t *tour) newOf(s step) (constructor, error) {
	src, err := os.ReadFile(t.path(s.dir, lockFile))
	if err != nil {
		return constructor{}, fmt.Errorf("cannot read the lock %s: %w", s.of(), err)
	}
	c, err := parseNew(src)
	if err != nil {
		return constructor{}, fmt.Errorf("%s/%s: %w", s.dir, lockFile, err)
	}
	return c, nil
}

// A constructor is func New of a lock.go.
type constructor struct {
	params string // the types alone: names make no difference
	decl   string
}

var (
	errSyntax = errors.New("syntax error")
	errNoNew  = errors.New("no func New")
)

func parseNew(src []byte) (constructor, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", src, 0)
	if err != nil {
		return constructor{}, errSyntax
	}
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if ok && fn.Recv == nil && fn.Name.Name == "New" {
			from, to := fset.Position(fn.Pos()).Offset, fset.Position(fn.Type.End()).Offset
			return constructor{paramTypes(fn), string(src[from:to])}, nil
		}
	}
	return constructor{}, errNoNew
}

// paramTypes repeats the type of "a, b string".
func paramTypes(fn *ast.FuncDecl) string {
	var list []string
	for _, p := range fn.Type.Params.List {
		for range max(1, len(p.Names)) {
			list = append(list, types.ExprString(p.Type))
		}
	}
	return strings.Join(list, ", ")
}

// names is what a lock.go declares: methods and fields of Lock, and variables of the package.
type names map[string]bool

func declared(src []byte) names {
	list := names{}
	f, err := parser.ParseFile(token.NewFileSet(), "", src, 0)
	if err != nil {
		return list
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv != nil && isLock(d.Recv.List[0].Type) {
				list[d.Name.Name] = true
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				list.add(spec)
			}
		}
	}
	return list
}

func isLock(typ ast.Expr) bool {
	return strings.TrimPrefix(types.ExprString(typ), "*") == "Lock"
}

func (n names) add(spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		n.addAll(spec.Names)
	case *ast.TypeSpec:
		st, ok := spec.Type.(*ast.StructType)
		if !ok || spec.Name.Name != "Lock" {
			return
		}
		for _, field := range st.Fields.List {
			n.addAll(field.Names)
		}
	}
}

func (n names) addAll(ids []*ast.Ident) {
	for _, id := range ids {
		n[id.Name] = true
	}
}

func (n names) lacks(f testFile) []string {
	return slices.DeleteFunc(slices.Clone(f.needs), func(name string) bool { return n[name] })
}

// missingAPI says, per file of tests that step s has and the learner's lock is not ready for, what it lacks.
func missingAPI(s step, src []byte) []string {
	mine := declared(src)
	var list []string
	for _, f := range guarantees(s) {
		if lacks := mine.lacks(f); len(lacks) > 0 {
			list = append(list, fmt.Sprintf("%s needs %s", f.name, strings.Join(lacks, ", ")))
		}
	}
	return list
}

// compilerText is what the compiler printed, about the learner's file instead of the one it stands in for.
func compilerText(out string, root string, s step) string {
	var b strings.Builder
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(line, "# ") || strings.HasPrefix(line, "FAIL") {
			continue // the name of the package, which is the step's
		}
		for _, dir := range []string{s.dir, myDir} {
			for _, sep := range []string{"/", `\`} {
				line = strings.ReplaceAll(line, root+sep+dir, dir)
				line = strings.ReplaceAll(line, "."+sep+dir+sep, dir+sep)
				line = strings.ReplaceAll(line, dir+sep+lockFile, myFile)
			}
		}
		b.WriteString(line + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// A trial is the run of one test file against the learner's lock.
type trial struct {
	file    string
	results []result
}

func (tr trial) held() int {
	n := 0
	for _, r := range tr.results {
		if r.verdict == passed {
			n++
		}
	}
	return n
}

// try runs the guarantees up to s that are in the build, in the order of the course.
func (t *tour) try(ctx context.Context, s step, b build, bin binary) ([]trial, error) {
	defer t.progress("running the tests")()
	var trials []trial
	for _, f := range guarantees(s) {
		if _, out := b.replace[f.name]; out {
			continue
		}
		list, err := storiesIn(t.root, s.dir, f.name)
		if err != nil {
			return nil, err
		}
		results, err := bin.runAll(ctx, list)
		if err != nil {
			return nil, err
		}
		trials = append(trials, trial{f.name, results})
	}
	return trials, nil
}

// tryReport says what holds, and what is missing next.
func (t *tour) tryReport(s step, trials []trial, older bool, missing []string) error {
	t.heading("%s against the tests of %s", myFile, s.label())
	t.printf("\n")
	held, of := 0, 0
	var next *result
	for _, tr := range trials {
		n := tr.held()
		held, of = held+n, of+len(tr.results)
		word := t.paint(green, "holds  ")
		if n < len(tr.results) {
			word = t.paint(red, "missing")
		}
		t.printf("  %s  %-26s %d of %d\n", word, tr.file, n, len(tr.results))
		if i := slices.IndexFunc(tr.results, notPassed); i >= 0 && next == nil {
			next = &tr.results[i]
		}
	}
	t.printf("\n  Stories passed: %d of %d.\n\n", held, of)
	if next != nil {
		t.printf("Missing next:\n\n")
		t.failure(*next, all)
	}
	t.tryNotes(s, older, missing)
	if next != nil || older || len(missing) > 0 {
		t.printf("Change %s and run it again: go run ./docs/tour try %d\n", myFile, s.n)
		return errUnsolved
	}
	t.printf("%s is solved. Compare with the course's own: go run ./docs/tour diff %d\n",
		capital(s.label()), s.n)
	if s.n < len(steps) {
		t.printf("Next: go run ./docs/tour try %d\n", s.n+1)
		return nil
	}
	t.printf("It was the last one.\n")
	return nil
}

func notPassed(r result) bool {
	return r.verdict != passed
}

// tryNotes says what no story can say, because it is left out until the API is there.
func (t *tour) tryNotes(s step, older bool, missing []string) {
	if older {
		if now, err := t.newOf(s); err == nil {
			t.printf("New is still that of the step before; %s has\n  %s\n\n", s.label(), now.decl)
		}
	}
	if len(missing) > 0 {
		t.printf("%s is not complete: some of its tests cannot run yet.\n%s\n", capital(s.label()), indent("  ", missing))
	}
}

func capital(text string) string {
	return string(bytes.ToUpper([]byte(text[:1]))) + text[1:]
}
