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

// advice says what no story can see of a lock that passes them all, and the source shows:
// one sentence each. It is silent about the reference solutions. broken is what breaks a rule.
func advice(src lock, step int) (broken, list []string) {
	code, err := src.code()
	if err != nil {
		return nil, nil // the compiler explains it better
	}
	for _, a := range advices {
		switch {
		case step < a.from || !a.found(code):
		case a.rule:
			broken = append(broken, a.text)
		default:
			list = append(list, a.text)
		}
	}
	return broken, list
}

var advices = []struct {
	from  int  // the step in which it begins to matter
	rule  bool // it breaks a rule: the step is not solved
	found func(code string) bool
	text  string
}{
	{4, true, func(code string) bool { return !like(`"crypto/rand"|"\S*uuid\S*"`)(code) },
		"The token does not come from crypto/rand. No story can tell whether two processes on two machines will ever draw the same one, or whether " +
			"it can be guessed: read it from there (rand.Text, or 20 bytes in hexadecimal)."},
	{1, true, func(code string) bool {
		return writesField(code) && !like(`\bchan\b|"sync"|"sync/atomic"|"golang.org/x/sync/semaphore"`)(code)
	},
		"Lock is used by several goroutines, and a field of it is written without an atomic, a channel or a mutex. That is a data race: go test -race reports it."},
	{2, false, like(`\bP?ExpireAt\b|\.Do\([^)]*"(?i:P?EXPIREAT|PXAT|EXAT)"`),
		"The time at which the lock ends is taken from the clock of the client. If that differs from the clock of Redis, the lock expires later or " +
			"earlier than its TTL says: send a duration, not a time."},
	{6, false, like(`\.Publish\(|\.Do\(\w+, "(?i:PUBLISH)"`),
		"PUBLISH is a separate command after the release. A client that dies between the two wakes no one, and the waiters sleep until the " +
			"lease would have ended: inside the script, both happen or neither."},
	{1, false, like(`(?i)"NX"[^)}]*(\bGet:|"GET")|(\bGet:|"GET")[^)}]*"NX"`), "SET with both NX and GET needs Redis 7.0."},
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
