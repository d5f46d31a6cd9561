// Bundle makes docs/play/page/page.js, the page's one script, of the modules next to it, and
// puts the sources of the page into docs/play/index.html, whose data it keeps: only docs/explore
// makes that.
//
//	go run -C docs/keep ./bundle
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/evanw/esbuild/pkg/api"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/play/page"
)

func main() {
	root, err := course.Root()
	if err == nil {
		err = os.Chdir(root)
	}
	if err == nil {
		err = write()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bundle:", err)
		os.Exit(1)
	}
}

const scriptFile, pageFile = "docs/play/page/page.js", "docs/play/index.html"

func write() error {
	script, err := bundled()
	if err != nil {
		return err
	}
	html, err := rebuilt(script)
	return errors.Join(err, os.WriteFile(scriptFile, script, 0o666), os.WriteFile(pageFile, html, 0o666))
}

// rebuilt is the page in the repository with a script, and with the other sources as they are now.
func rebuilt(script []byte) ([]byte, error) {
	old, err := os.ReadFile(pageFile)
	if err != nil {
		return nil, err
	}
	return page.Renew(old, string(script))
}

// bundled is the script. The browsers that have DecompressionStream are of 2023.
func bundled() ([]byte, error) {
	entry, err := filepath.Abs("docs/play/page/play.mjs")
	if err != nil {
		return nil, err
	}
	result := api.Build(api.BuildOptions{
		EntryPoints: []string{entry}, Bundle: true, Format: api.FormatESModule, Target: api.ES2022, Charset: api.CharsetUTF8,
		MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true, LineLimit: 1000, LegalComments: api.LegalCommentsNone,
	})
	if len(result.Errors) > 0 {
		return nil, errors.New(result.Errors[0].Text + " in " + result.Errors[0].Location.File)
	}
	return result.OutputFiles[0].Contents, nil
}
