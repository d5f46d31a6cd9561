// Package table is for commands that write a table into a page that people write:
//
//	<!-- table: go run -C docs/keep ./libs -->
//	| ... |
//	<!-- /table -->
package table

import (
	"fmt"
	"os"
	"strings"
)

// Put returns the page with another table of a command.
func Put(page, command, table string) (string, error) {
	text, err := os.ReadFile(page)
	if err != nil {
		return "", err
	}
	begin, end := "<!-- table: "+command+" -->\n", "<!-- /table -->\n"
	before, rest, begins := strings.Cut(string(text), begin)
	_, after, ends := strings.Cut(rest, end)
	if !begins || !ends {
		return "", fmt.Errorf("%s has no %s...%s", page, begin, end)
	}
	return before + begin + table + end + after, nil
}
