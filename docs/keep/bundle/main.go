// Bundle puts the sources of the page into docs/play/index.html, whose data it keeps: only
// docs/explore makes that.
//
//	go run -C docs/keep ./bundle
package main

import (
	"errors"
	"fmt"
	"os"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/keep/script"
	"example.com/redislock-steps/docs/play/page"
)

const pageFile = "docs/play/index.html"

func main() {
	html, err := rebuilt()
	if err == nil {
		err = os.WriteFile(pageFile, html, 0o666)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bundle:", err)
		os.Exit(1)
	}
}

// rebuilt is the page in the repository, to whose root it goes, with its sources as they are now.
func rebuilt() ([]byte, error) {
	root, err1 := course.Root()
	err2 := os.Chdir(root)
	old, err3 := os.ReadFile(pageFile)
	text, err4 := script.Bundle()
	html, err5 := page.Renew(old, text)
	return html, errors.Join(err1, err2, err3, err4, err5)
}
