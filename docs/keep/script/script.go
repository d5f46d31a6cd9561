// Package script makes one script of modules: of docs/play/index.html, and of the lessons.
package script

import (
	"errors"

	"github.com/evanw/esbuild/pkg/api"
)

// Page is where the script of the page begins.
const Page = "docs/play/page/play.mjs"

// Bundle makes it of a module and those that it imports, from the root of the repository. The
// browsers that have DecompressionStream are of 2023.
func Bundle(module string) (string, error) {
	result := api.Build(api.BuildOptions{
		EntryPoints: []string{module}, Bundle: true, Format: api.FormatESModule, Target: api.ES2022, Charset: api.CharsetUTF8,
		MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true, LineLimit: 1000, LegalComments: api.LegalCommentsNone,
	})
	if len(result.Errors) > 0 {
		return "", errors.New(result.Errors[0].Text + " in " + result.Errors[0].Location.File)
	}
	return string(result.OutputFiles[0].Contents), nil
}
