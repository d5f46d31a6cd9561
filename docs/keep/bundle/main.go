// Bundle puts the sources of the page into docs/play/index.html, whose data it keeps: only
// docs/explore makes that.
//
//	go run -C docs/keep ./bundle
package main

import (
	"fmt"
	"os"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/keep/script"
	"example.com/redislock-steps/docs/play/page"
)

const pageFile = "docs/play/index.html"

func main() {
	root, err := course.Root()
	if err == nil {
		err = os.Chdir(root)
	}
	var html []byte
	if err == nil {
		html, err = rebuilt()
	}
	if err == nil {
		err = os.WriteFile(pageFile, html, 0o666)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bundle:", err)
		os.Exit(1)
	}
}

// rebuilt is the page in the repository with its sources as they are now.
func rebuilt() ([]byte, error) {
	old, err := os.ReadFile(pageFile)
	if err != nil {
		return nil, err
	}
	text, err := script.Bundle()
	if err != nil {
		return nil, err
	}
	return page.Renew(old, text)
}
