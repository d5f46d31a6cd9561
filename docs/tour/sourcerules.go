package main

import (
	"go/format"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
)

// code is all of a lock but its comments.
func (l lock) code() (string, error) {
	var b strings.Builder
	for _, name := range l.names() {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, "", l[name], parser.SkipObjectResolution) // no comments
		if err == nil {
			err = format.Node(&b, fset, f)
		}
		if err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

// brokenRules says which rules a lock breaks that passes all stories: none can see it, and the
// source shows it. It is silent about the reference solutions.
func brokenRules(src lock, step int) (list []string) {
	code, err := src.code()
	if err != nil {
		return nil // the compiler explains it better
	}
	for _, r := range rulesOfSource {
		if step >= r.from && r.broken(code) {
			list = append(list, r.text)
		}
	}
	return list
}

var rulesOfSource = []struct {
	from   int // the step in which it begins to matter
	broken func(code string) bool
	text   string
}{
	{4, func(code string) bool { return !like(`"crypto/rand"|"\S*uuid\S*"`)(code) },
		"The token does not come from crypto/rand. No story can tell whether two processes on two machines will ever draw the same one, or whether " +
			"it can be guessed: read it from there (rand.Text, or 20 bytes in hexadecimal)."},
	{1, func(code string) bool {
		return writesField(code) && !like(`\bchan\b|"sync"|"sync/atomic"|"golang.org/x/sync/semaphore"`)(code)
	},
		"Lock is used by several goroutines, and a field of it is written without an atomic, a channel or a mutex. That is a data race: go test -race reports it."},
}

func like(pattern string) func(code string) bool { return regexp.MustCompile(pattern).MatchString }

var receiver = regexp.MustCompile(`^\((\w+) \*Lock\)`)

// writesField reports whether a method of Lock assigns to one of its fields.
func writesField(code string) bool {
	for fn := range strings.SplitSeq(code, "\nfunc ") {
		if of := receiver.FindStringSubmatch(fn); of != nil && like(`\b`+of[1]+`\.\w+((, [\w.]+)* [-+*/|&]?= |\+\+|--)`)(fn) {
			return true
		}
	}
	return false
}
