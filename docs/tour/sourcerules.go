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
	if field := racyField(src); field != "" {
		list = append(list, say("Lock is used by several goroutines, and its field %s is written without a mutex, a channel or an atomic. "+
			"That is a data race, whatever guards other fields.", field))
	}
	return list
}

var fromCrypto = regexp.MustCompile(`"crypto/rand"|"\S*uuid\S*"`)
