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
	if step >= 4 && !fromCrypto.MatchString(code) {
		list = append(list, word("The token does not come from crypto/rand. No story can tell whether two processes on two machines will ever draw the same one, or whether "+
			"it can be guessed: read it from there (rand.Text, or 20 bytes in hexadecimal)."))
	}
	if field := racyField(code); field != "" {
		list = append(list, say("Lock is used by several goroutines, and its field %s is written without a mutex, a channel or an atomic. That is a data race.", field))
	}
	return list
}

// racyField is a field of Lock that a method writes in a lock which has nothing that keeps
// goroutines apart; "" if there is none. It rather misses a race than finds one that is none.
func racyField(code string) string {
	if guards.MatchString(code) {
		return ""
	}
	for _, self := range receivers.FindAllStringSubmatch(code, -1) {
		if found := regexp.MustCompile(`(?m)^\s+` + self[1] + `\.(\w+)(\[.*\])?(, [\w.]+)*( [-+]?= |\+\+|--)`).FindStringSubmatch(code); found != nil {
			return found[1]
		}
	}
	return ""
}

var (
	fromCrypto = regexp.MustCompile(`"crypto/rand"|"\S*uuid\S*"`)
	guards     = regexp.MustCompile(`\bchan\b|"sync(/atomic)?"|/semaphore"`)
	receivers  = regexp.MustCompile(`(?m)^func \((\w+) \*Lock\)`)
)
