package trace

import (
	"regexp"
	"strings"
)

// What testify prints is text, and it hands over what an assertion wanted and got in no other
// way. This file alone reads it, for the lines below a timeline: a wording that it does not
// know costs such a line, and changes neither a timeline nor a picture.

// An Assertion is one that has failed, as far as its text can be read.
type Assertion struct {
	Message     string // of the story; if it has none, what testify says
	Wanted, Got string // as testify writes them; "" if it does not say them so
	OfError     bool   // Got is an error, or ok
}

// Testify takes apart what testify has printed of one assertion or more.
func Testify(output string) (failed []Assertion) {
	for _, m := range field.FindAllStringSubmatch(output, -1) {
		says := strings.Join(strings.Fields(m[2]), " ")
		if m[1] == "Error" {
			failed = append(failed, assertion(says))
		} else if n := len(failed); n > 0 {
			failed[n-1].Message = says
		}
	}
	return failed
}

// field is a label with what stands behind it and in the lines below.
var field = regexp.MustCompile(`(?m)^ *\t(Error|Messages): *\t(.*(?:\n *\t +\t.*)*)`)

func assertion(says string) Assertion {
	for _, form := range forms {
		if form.says.MatchString(says) {
			got := strings.ReplaceAll(form.says.ReplaceAllString(says, form.got), `\"`, `"`)
			return Assertion{says, form.says.ReplaceAllString(says, form.wanted), got, form.ofError}
		}
	}
	return Assertion{Message: says}
}

// forms are what testify says, and what of it was wanted and got.
var forms = []struct {
	says        *regexp.Regexp
	wanted, got string
	ofError     bool
}{
	{regexp.MustCompile(`^Received unexpected error: (.*)`), "ok", "$1", true},
	{regexp.MustCompile(`^An error is expected but got nil.*`), "an error", "ok", true},
	{regexp.MustCompile(`^Expected error with "(.*)" in chain but got nil.*`), "$1", "ok", true},
	{regexp.MustCompile(`^Target error should be in err chain: expected: "(.*?)" in chain: "((?:[^"\\]|\\.)*)".*`), "$1", "$2", true},
	{regexp.MustCompile(`^Target error should not be in err chain: found: ".*?" in chain: "((?:[^"\\]|\\.)*)".*`), "another error", "$1", true},
	{regexp.MustCompile(`^Error "(.*)" does not contain (".*")$`), "an error with $2", "$1", true},
	{regexp.MustCompile(`^Not equal: expected: (\S+) actual ?: (\S+)$`), "$1", "$2", false},
	{regexp.MustCompile(`^Should be empty, but was (.*)`), "nothing", "$1", false},
	{regexp.MustCompile(`^"(.*)" is not (.*)`), "$2", "$1", false},
}
