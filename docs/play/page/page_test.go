package page

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/course"
)

// atRoot runs a test at the root of the repository.
func atRoot(t *testing.T) {
	t.Helper()
	root, err := course.Root()
	require.NoError(t, err)
	t.Chdir(root)
}

var (
	// t('key', t(`kind.${, and t(is ? 'one' : 'other'
	asked    = regexp.MustCompile("\\bt\\(['`]([\\w.-]*)(\\$\\{)?")
	chosen   = regexp.MustCompile(`\bt\([^'()]+\? '([\w.-]+)' : '([\w.-]+)'`)
	inMarkup = regexp.MustCompile(`index \.Words "([\w.-]+)"`)
)

// wrongWords says which words the page asks for that are not there, and which it does not
// ask for.
func wrongWords(words map[string]string, script string) (wrong []string) {
	used := map[string]bool{}
	use := func(key string, begins bool) {
		found := false
		for word := range words {
			if word == key || begins && strings.HasPrefix(word, key) {
				used[word], found = true, true
			}
		}
		if !found {
			wrong = append(wrong, "there is no word "+key)
		}
	}
	for _, m := range asked.FindAllStringSubmatch(script, -1) {
		use(m[1], m[2] != "")
	}
	for _, m := range chosen.FindAllStringSubmatch(script, -1) {
		use(m[1], false)
		use(m[2], false)
	}
	for word := range words {
		if !used[word] && !strings.Contains(script, "'"+word+"'") {
			wrong = append(wrong, "no one says "+word)
		}
	}
	slices.Sort(wrong)
	return wrong
}

// What the page says is in one table, and a word that is missing is an error.
func TestWords(t *testing.T) {
	languages := readWords()
	english := languages["en"]
	script := module() + "t('language')" // the menu of languages says it
	for _, m := range inMarkup.FindAllStringSubmatch(embedded("play.html"), -1) {
		script += fmt.Sprintf("t('%s')", m[1])
	}
	require.Empty(t, wrongWords(english, script))

	for _, word := range []string{"hint.who", "choices", "outcome.goBack", "why.struck", "hint.when.next", "outcome.won", "coach.inside"} {
		less := maps.Clone(english)
		delete(less, word)
		require.NotEmpty(t, wrongWords(less, script), "without %s", word)
	}

	for name, words := range languages {
		for word, text := range english {
			assert.NotEmpty(t, words[word], "%s: %s", name, word)
			assert.Equal(t, values(text), values(words[word]), "%s: %s", name, word)
		}
		for word := range words {
			assert.True(t, english[word] != "" || strings.HasPrefix(word, "data."), "%s: no one says %s", name, word)
		}
	}
	assert.Equal(t, "README.md", english["lesson.page"])
	assert.Equal(t, "README.zh-CN.md", languages["zh-CN"]["lesson.page"])
	for _, kind := range "XLDKBTNUWSG" {
		assert.NotEmpty(t, english["kind."+string(kind)])
	}
}

// values are the names of the values in a word, each once.
func values(text string) []string {
	return slices.Compact(slices.Sorted(slices.Values(regexp.MustCompile(`\{\w+\}`).FindAllString(text, -1))))
}

// What the page says of a lock, and why one breaks, comes from the course and the explorer,
// in English. Another language has a text for each, and none for what no one says now.
func TestTheTextsOfTheData_AreTranslated(t *testing.T) {
	faults, err := os.ReadFile("../../read/faults.md")
	require.NoError(t, err)
	said := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^[^:|\n]+: (.+)\. In \d+ of \d+ schedules`).FindAllStringSubmatch(string(faults), -1) {
		for part := range strings.SplitSeq(m[1], "; ") { // as the page takes them apart
			said["data."+part] = true
		}
	}
	require.Greater(t, len(said), 20, "the reasons of docs/read/faults.md")
	for _, s := range entries() {
		said["data."+s.Lock] = true
	}
	for name, words := range readWords() {
		maps.DeleteFunc(words, func(word, _ string) bool { return !strings.HasPrefix(word, "data.") })
		if name != "en" {
			assert.ElementsMatch(t, slices.Collect(maps.Keys(said)), slices.Collect(maps.Keys(words)), name)
		}
	}
}

// A row leads to any file of a lock, so the page has them all.
func TestALock_HasAllItsFiles(t *testing.T) {
	atRoot(t)
	locks, err := readLocks("", 0)
	require.NoError(t, err)
	own, err := readLocks("step06_reentrant", 5)
	require.NoError(t, err)
	for files, l := range map[string]lock{
		"lock.go": locks[4], "lock.go send.go": locks[5], "lock.go nodes.go rounds.go send.go waiting.go watchdog.go": locks[8],
		"lock.go send.go waiting.go": own[0],
	} {
		var names []string
		for _, f := range l.Files {
			names = append(names, f.Name)
			require.Contains(t, f.Text, "package redislock\n")
		}
		require.Equal(t, files, strings.Join(names, " "))
	}
}

func TestThePage_NeedsNothingElse(t *testing.T) {
	atRoot(t)
	words := readWords()["en"]
	found := Level{Step: 3, Fault: "slow", Title: words["fault.slow"], Kinds: "X", Why: "there is only one node", ID: "03/slow/aFb"}
	page, err := New([]Level{found}, map[string]any{}, nil, "", 0)
	require.NoError(t, err)
	text := string(page)
	require.NotContains(t, text, "<no value>", "everything has been filled in")
	picture := regexp.MustCompile(`"og:image" content="([^"]+)"`).FindStringSubmatch(text)[1]
	require.FileExists(t, filepath.Join("docs/play", picture), "the preview of a link")
	require.Equal(t, 3, strings.Count(text, "</script>"), "no data ends a script")
	for _, address := range regexp.MustCompile(`https?://[\w./]+`).FindAllString(text, -1) {
		require.Equal(t, "http://www.w3.org/2000/svg", address, "the page asks no one")
	}

	found.Title = "another title"
	_, err = New([]Level{found}, map[string]any{}, nil, "", 0)
	require.ErrorContains(t, err, "en.json", "the words and the explorer disagree")
}

// A first visit goes through all locks in their order. Its goals are what docs/read/faults.md
// says of a cell, but for four levels that hold.
func TestTheWay_LeadsThroughAllLocks(t *testing.T) {
	faults, err := os.ReadFile("../../read/faults.md")
	require.NoError(t, err)
	english := readWords()["en"]
	levels, holds, before := map[int]int{}, 0, 0
	for i, l := range way {
		levels[l.Step]++
		require.GreaterOrEqual(t, l.Step, before, "in the order of the course")
		before = l.Step
		for _, word := range []string{"goal", "new", "why"} {
			require.NotEmpty(t, english[fmt.Sprintf("level.%02d/%s.%s", l.Step, l.Fault, word)])
		}
		if i == 0 {
			require.Equal(t, "none", l.Fault, "the first is won without a fault")
			continue
		}
		name := fmt.Sprintf("%02d", l.Step)
		if l.Step == course.Epilogue.N {
			name = "fencing"
		}
		kinds := regexp.MustCompile(`\[\*\*(\w+)\*\*\]\(#` + l.Fault + "-" + name + `\)`).FindStringSubmatch(string(faults))
		if kinds == nil {
			holds++
			continue
		}
		require.Contains(t, kinds[1], l.Goal, "%02d/%s", l.Step, l.Fault)
	}
	for _, s := range entries() {
		require.Contains(t, []int{1, 2, 3}, levels[s.N], s.Label())
	}
	require.Len(t, way, 14)
	require.Equal(t, 4, holds)
}

var linkToLevel = regexp.MustCompile("play/index\\.html#([^)]*)\\)[^`]*`go run \\./docs/play ([^`]*)`")

// The check of the links knows no levels (docs/keep/prose), so this follows them.
func TestLinksToLevels_LeadToOne(t *testing.T) {
	atRoot(t)
	page, err := os.ReadFile("docs/play/index.html")
	require.NoError(t, err)
	require.LessOrEqual(t, len(page), 600_000, "what opens in a browser at once")
	packed := regexp.MustCompile(`id="data">(.*?)</script>`).FindSubmatch(page)[1]
	var data struct {
		Graph struct{ Cells []struct{ Name string } }
	}
	text := base64.NewDecoder(base64.StdEncoding, bytes.NewReader(packed))
	require.NoError(t, json.NewDecoder(flate.NewReader(text)).Decode(&data))
	levels := map[string]bool{}
	for _, c := range data.Graph.Cells {
		levels[c.Name] = true
	}
	require.Greater(t, len(levels), 200)
	pages, err := filepath.Glob("step*/README*.md")
	require.NoError(t, err)
	for _, name := range append(pages, "docs/read/faults.md") {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		links := linkToLevel.FindAllSubmatch(text, -1)
		require.NotEmpty(t, links, name)
		for _, link := range links {
			require.True(t, levels[string(link[1])], "%s: there is no level %s", name, link[1])
			require.Equal(t, string(link[1]), string(link[2]), "%s: the link and the command", name)
		}
	}
}
