package course

import "strings"

// AlsoPasses begins the line of a story's comment that says why the story passes on the
// older lock as well: "Also passes on step 03, because ...".
const AlsoPasses = "Also passes on "

// HasAlsoPasses reports whether a story's comment says so.
func HasAlsoPasses(doc string) bool {
	for line := range strings.Lines(doc) {
		if strings.HasPrefix(line, AlsoPasses) {
			return true
		}
	}
	return false
}
