package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	drawingLine = "<!-- picture: late | A late holder | red 4 TestX | green 4 TestX: all is well -->"
	redTestX    = "go run ./docs/tour red 4 -json TestX"
	greenTestX  = "go run ./docs/tour green 4 -json TestX"
)

// recorded is a story of one record, and what its assertion said.
func recorded(verdict string) string {
	records := `{"at":100,"who":"alice","kind":"return","text":"TryLock","reply":"ok","redis":[{}],"inside":["alice"]}` + "\n"
	if verdict != "" {
		records += `{"at":100,"kind":"verdict","text":"` + verdict + `","redis":[{}],"inside":[]}` + "\n"
	}
	return records
}

func TestPicture_IsDrawnAndShown(t *testing.T) {
	outputs := map[string]string{redTestX: recorded("it's lost"), greenTestX: recorded("")}
	page, drawn, err := regenerate("docs/read/a.md", drawingLine+"\nafter\n", outputs)
	require.NoError(t, err)
	require.Equal(t, drawingLine+"\n"+`<picture><source media="(prefers-color-scheme: dark)" srcset="pictures/late-dark.svg">`+
		`<img alt="A late holder. Step 03: SET NX EX; DEL: it&#39;s lost. Step 04: SET token NX EX; GET, compare, DEL: all is well." src="pictures/late.svg"></picture>`+"\nafter\n", page)
	require.Len(t, drawn, 2)
	require.Contains(t, drawn["docs/read/pictures/late.svg"], "✗ it&#39;s lost")
	require.Contains(t, drawn["docs/read/pictures/late.svg"], "✓ all is well")
	require.NotEqual(t, drawn["docs/read/pictures/late.svg"], drawn["docs/read/pictures/late-dark.svg"])

	again, _, err := regenerate("docs/read/a.md", page, outputs)
	require.NoError(t, err)
	require.Equal(t, page, again, "a second run changes the page again")
	deeper, _, err := regenerate("docs/fencing/README.md", page, outputs)
	require.NoError(t, err)
	require.Contains(t, deeper, `src="../read/pictures/late.svg"`)
}

func TestCheck_ComparesPictures(t *testing.T) {
	inRepository(t)
	require.NoError(t, os.WriteFile("README.md", []byte(drawingLine+"\n"), 0o644))
	verdict := "it is lost"
	command := func(command string) (string, error) {
		if command == redTestX {
			return recorded(verdict), nil
		}
		return recorded(""), nil
	}
	require.NoError(t, run(nil, false, command))
	require.NoError(t, run(nil, true, command), "the picture has just been drawn")

	verdict = "it is kept"
	err := run(nil, true, command)
	require.ErrorContains(t, err, "docs/read/pictures/late.svg is stale")
	require.ErrorContains(t, err, "docs/read/pictures/late-dark.svg is stale")
	old, err := os.ReadFile("docs/read/pictures/late.svg")
	require.NoError(t, err)
	require.Contains(t, string(old), "it is lost", "a check wrote")

	verdict = "it is lost"
	require.NoError(t, os.WriteFile("docs/read/pictures/old.svg", nil, 0o644))
	require.ErrorContains(t, run(nil, true, command), "docs/read/pictures/old.svg is on no page: delete it")
	require.NoError(t, os.Remove("docs/read/pictures/old.svg"))
	require.NoError(t, os.Remove("docs/read/pictures/late-dark.svg"))
	require.ErrorContains(t, run(nil, true, command), "docs/read/pictures/late-dark.svg is stale")

	other := strings.Replace(drawingLine, "A late holder", "Another title", 1)
	require.NoError(t, os.WriteFile("other.md", []byte(other+"\n"), 0o644))
	require.ErrorContains(t, run(nil, false, command), "another page draws docs/read/pictures/late")
}

func TestAPictureThatCannotBeDrawn_SaysWhy(t *testing.T) {
	for args, want := range map[string]string{
		"late":                                      "a.md:1: a picture needs a name, a title and a run",
		"late | A title | blue 4 TestX":             `a.md:1: "blue 4 TestX" is not a run`,
		"late | A title | red 4":                    `"red 4" is not a run`,
		"late | A title | red 12 TestX":             "no such step: 12",
		"late | A title | red 4 TestX | until soon": "invalid duration",
	} {
		_, _, err := regenerate("a.md", "<!-- picture: "+args+" -->\n", nil)
		require.ErrorContains(t, err, want)
	}
	_, _, err := regenerate("a.md", drawingLine, map[string]string{redTestX: "no records"})
	require.ErrorContains(t, err, redTestX)
}
