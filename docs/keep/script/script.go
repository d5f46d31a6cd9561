// Package script makes the one script of docs/play/index.html.
package script

import (
	"errors"

	"github.com/evanw/esbuild/pkg/api"
)

// Bundle makes it of the modules in docs/play/page, from the root of the repository. The browsers
// that have DecompressionStream are of 2023.
func Bundle() (string, error) {
	result := api.Build(api.BuildOptions{
		EntryPoints: []string{"docs/play/page/play.mjs"}, Bundle: true, Format: api.FormatESModule, Target: api.ES2022, Charset: api.CharsetUTF8,
		MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true, LineLimit: 1000, LegalComments: api.LegalCommentsNone,
	})
	if len(result.Errors) > 0 {
		return "", errors.New(result.Errors[0].Text + " in " + result.Errors[0].Location.File)
	}
	return string(result.OutputFiles[0].Contents), nil
}
