package main

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/trace"
)

const drawingLine = "<!-- picture: late | A late holder | red 4 TestX | green 4 TestX: all is well -->"

// red plays stories of one record; in red, an assertion fails that says so.
func red(verdict string) func(scene) ([]trace.Record, error) {
	return func(s scene) ([]trace.Record, error) {
		records := []trace.Record{{At: 100, Who: "alice", Kind: trace.Return, Text: "TryLock", Reply: "ok", Redis: []trace.Key{{}}, Inside: []string{"alice"}}}
		if s.red {
			records = append(records, trace.Record{At: 100, Kind: trace.Verdict, Text: verdict, Redis: []trace.Key{{}}})
		}
		return records, nil
	}
}

func TestPicture_IsDrawnAndShown(t *testing.T) {
	page, made, wrong := remade("docs/read/a.md", drawingLine+"\nafter\n", nil)
	require.Empty(t, wrong)
	require.Equal(t, drawingLine+"\n"+`<picture><source media="(max-width: 600px) and (prefers-color-scheme: dark)" srcset="pictures/late-narrow-dark.svg"><source media="(max-width: 600px)" srcset="pictures/late-narrow.svg">`+
		`<source media="(prefers-color-scheme: dark)" srcset="pictures/late-dark.svg">`+
		`<img alt="A late holder. Step 03: SET NX EX; DEL: bob took the lock in the middle of alice&#39;s TryLock, but she got it as well: both are inside. Step 04: SET token NX EX; GET, compare, DEL: all is well." src="pictures/late.svg"></picture>`+"\nafter\n", page)
	light, dark := made["docs/read/pictures/late.svg"], made["docs/read/pictures/late-dark.svg"]
	require.Contains(t, light, "✗ bob took the lock")
	require.Contains(t, light, "✓ all is well")
	require.NotEmpty(t, dark)
	require.NotEqual(t, light, dark)
	width := regexp.MustCompile(`viewBox="0 0 (\d+)`)
	require.Equal(t, "412", width.FindStringSubmatch(made["docs/read/pictures/late-narrow.svg"])[1], "one below the other on phones")
	require.Equal(t, "824", width.FindStringSubmatch(light)[1])

	again, _, _ := remade("docs/read/a.md", page, nil)
	require.Equal(t, page, again, "a second run changes the page again")
	deeper, _, _ := remade("docs/fencing/README.md", page, nil)
	require.Contains(t, deeper, `src="../read/pictures/late.svg"`)
}

func TestCheck_ComparesPictures(t *testing.T) {
	inRepository(t)
	writeAll(t, "README.md", drawingLine+"\n")
	none := func(string) (string, error) { return "", nil }
	require.NoError(t, run(nil, false, shown{red("it is lost"), none}))
	err := run(nil, true, shown{red("it is kept"), none})
	require.ErrorContains(t, err, "docs/read/pictures/late.svg is stale")
	require.ErrorContains(t, err, "docs/read/pictures/late-dark.svg is stale")
}
