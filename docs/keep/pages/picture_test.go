package main

import (
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
	page, made, wrong := remade("docs/read/a.md", drawingLine+"\nafter\n", outputs)
	require.Empty(t, wrong)
	require.Equal(t, drawingLine+"\n"+`<picture><source media="(prefers-color-scheme: dark)" srcset="pictures/late-dark.svg">`+
		`<img alt="A late holder. Step 03: SET NX EX; DEL: it&#39;s lost. Step 04: SET token NX EX; GET, compare, DEL: all is well." src="pictures/late.svg"></picture>`+"\nafter\n", page)
	light, dark := made["docs/read/pictures/late.svg"], made["docs/read/pictures/late-dark.svg"]
	require.Contains(t, light, "✗ it&#39;s lost")
	require.Contains(t, light, "✓ all is well")
	require.NotEmpty(t, dark)
	require.NotEqual(t, light, dark)

	again, _, _ := remade("docs/read/a.md", page, outputs)
	require.Equal(t, page, again, "a second run changes the page again")
	deeper, _, _ := remade("docs/fencing/README.md", page, outputs)
	require.Contains(t, deeper, `src="../read/pictures/late.svg"`)
}

func TestCheck_ComparesPictures(t *testing.T) {
	inRepository(t)
	writeAll(t, "README.md", drawingLine+"\n")
	verdict := "it is lost"
	command := func(command string) (string, error) {
		if command == redTestX {
			return recorded(verdict), nil
		}
		return recorded(""), nil
	}
	require.NoError(t, run(nil, false, command))
	verdict = "it is kept"
	err := run(nil, true, command)
	require.ErrorContains(t, err, "docs/read/pictures/late.svg is stale")
	require.ErrorContains(t, err, "docs/read/pictures/late-dark.svg is stale")
}
