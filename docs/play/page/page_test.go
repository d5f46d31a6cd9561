package page

import (
	"crypto/sha256"
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
	"example.com/redislock-steps/docs/internal/trace"
)

// What the page says is in one table. A word that is missing is an error, in each language.
func TestWords(t *testing.T) {
	languages := Words()
	english := languages["en"]
	modules, err := filepath.Glob("*.mjs")
	require.NoError(t, err)
	asked := regexp.MustCompile("\\bt\\(['`]([\\w.-]+)['`]|\\bt\\([^'()]+\\? '([\\w.-]+)' : '([\\w.-]+)'") // t('key', and t(is ? 'one' : 'other'
	for _, file := range modules {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, words := range asked.FindAllStringSubmatch(string(source), -1) {
			for _, word := range words[1:] {
				assert.True(t, word == "" || english[word] != "", "%s asks for the word %s", file, word)
			}
		}
	}
	for name, words := range languages {
		for word, text := range english {
			assert.NotEmpty(t, words[word], "%s: %s", name, word)
			assert.Equal(t, values(text), values(words[word]), "%s: %s", name, word)
		}
		for word := range words {
			assert.True(t, english[word] != "" || strings.HasPrefix(word, "data.") || strings.HasPrefix(word, "event."), "%s: no one says %s", name, word)
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

// committed is the data of docs/play/index.html, and the levels in it by their names.
func committed(t *testing.T) (data []byte, levels map[string]Level) {
	t.Helper()
	html, err := os.ReadFile("../index.html")
	require.NoError(t, err)
	var first, rest json.RawMessage
	var all struct{ Levels []Level }
	require.NoError(t, Unpack(html, &first, &rest))
	require.NoError(t, json.Unmarshal(first, &all))
	levels = map[string]Level{}
	for _, l := range all.Levels {
		levels[fmt.Sprintf("%02d/%s", l.Step, l.Fault)] = l
	}
	return append(first, rest...), levels
}

// What the page says of a lock, and why one breaks, comes from the course and the explorer,
// in English. Another language has a text for each, and none for what no one says now.
func TestTheTextsOfTheData_AreTranslated(t *testing.T) {
	_, levels := committed(t)
	said := map[string]bool{}
	for _, l := range levels {
		for part := range strings.SplitSeq(l.Why, "; ") { // as the page takes them apart
			said["data."+part] = true
		}
	}
	delete(said, "data.")
	require.Greater(t, len(said), 20, "the reasons")
	for _, s := range entries() {
		said["data."+s.Lock] = true
	}
	for name, words := range Words() {
		maps.DeleteFunc(words, func(word, _ string) bool { return !strings.HasPrefix(word, "data.") })
		if name != "en" {
			assert.ElementsMatch(t, slices.Collect(maps.Keys(said)), slices.Collect(maps.Keys(words)), name)
		}
	}
}

// Whatever happens in any schedule of the page is said in Chinese. Names, commands, replies
// and errors are the same in all languages.
func TestWhatHappens_IsInChinese(t *testing.T) {
	data, _ := committed(t)
	inCode := regexp.MustCompile(`\\u1[ce]|[A-Z]\w+|alice|bob|carol|\b(key|coupons|locked|acquire|release|renew|ttl|depth|counter|fence|redislock|nil)\b|：(redislock|fencing): .*`)
	said, kinds := regexp.MustCompile(`"kind":"\w+"|"(text|mark)":"([^"\\]|\\.)*"|"reply":"[^"]*is lost"`).FindAllString(regexp.MustCompile(`\d+`).ReplaceAllString(string(data), "1"), -1), 0
	slices.Sort(said)
	for _, field := range slices.Compact(said) {
		if name, text, _ := strings.Cut(field, ":"); name == `"kind"` {
			kinds++
		} else {
			assert.NotRegexp(t, `[a-z]{3}`, inCode.ReplaceAllString(trace.InChinese(text[1:len(text)-1]), ""), text)
		}
	}
	assert.Equal(t, 9, kinds, "of events")
}

// A row leads to any file of a lock, so the page has them all.
func TestALock_HasAllItsFiles(t *testing.T) {
	t.Chdir("../../..")
	_, all, err := readLocks("", 0)
	require.NoError(t, err)
	_, own, err := readLocks("step06_reentrant", 5)
	require.NoError(t, err)
	for want, files := range map[string][]file{
		"lock.go": all[4], "lock.go replies.go send.go": all[5], "lock.go nodes.go rounds.go send.go waiting.go watchdog.go": all[8],
		"lock.go send.go waiting.go": own[5],
	} {
		var names []string
		for _, f := range files {
			names = append(names, f.Name)
			require.Contains(t, f.Text, "package redislock\n")
		}
		require.Equal(t, want, strings.Join(names, " "))
	}
}

func TestThePage_NeedsNothingElse(t *testing.T) {
	t.Chdir("../../..")
	words := Words()["en"]
	found := Level{Step: 3, Fault: "slow", Title: words["fault.slow"], Kinds: "X", Why: "there is only one node", ID: "03/slow/aFb"}
	defer func(old string) { course.Address = old }(course.Address)
	for _, home := range []string{"", "https://a.example/"} {
		course.Address = home
		page, err := New([]Level{found}, map[string]any{}, nil, nil, "", 0, "")
		require.NoError(t, err)
		text := string(page)
		require.NotContains(t, text, "<no value>", "everything has been filled in")
		require.Equal(t, home != "", strings.Contains(text, `"og:image" content="`+home), "a preview needs a whole address")
		require.Equal(t, 4, strings.Count(text, "</script>"), "no data ends a script")
		script := regexp.MustCompile(`(?s)<script type="module">(.*?)</script>`).FindSubmatch(page)[1]
		sum := sha256.Sum256(script)
		require.Contains(t, text, "script-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'", "no other script runs")
		for _, address := range regexp.MustCompile(`https?://[\w./]+`).FindAllString(text, -1) {
			require.Contains(t, []string{"http://www.w3.org/2000/svg", home, home + "play.png"}, address, "the page asks no one")
		}
	}

	committed, err := os.Stat("docs/play/index.html")
	require.NoError(t, err)
	require.LessOrEqual(t, committed.Size(), int64(568_000), "what opens in a browser at once")

	found.Title = "another title"
	_, err = New([]Level{found}, map[string]any{}, nil, nil, "", 0, "")
	require.ErrorContains(t, err, "en.json", "the words and the explorer disagree")
}

// The chapters' levels go through all locks in their order. Their goals are what
// the explorer has found in a cell; in five of them the reader sees that the lock holds. The
// hard ones break.
func TestTheWay_LeadsThroughAllLocks(t *testing.T) {
	_, found := committed(t)
	english := Words()["en"]
	kinds := func(l goal) string { return found[fmt.Sprintf("%02d/%s", l.Step, l.Fault)].Kinds }
	sees, before, breaks := 0, 0, regexp.MustCompile("^[A-Z](:|$)") // as an Aim of the page
	for i, l := range way {
		require.GreaterOrEqual(t, l.Step, before, "in the order of the course")
		before = l.Step
		require.NotEmpty(t, english[fmt.Sprintf("level.%02d/%s.hint", l.Step, l.Fault)])
		switch {
		case i == 0:
			require.Equal(t, "none", l.Fault, "the first is won without a fault")
		case !breaks.MatchString(l.Goal):
			sees++
			require.NotEmpty(t, l.After)
			require.Empty(t, kinds(l), "%02d/%s", l.Step, l.Fault)
		default:
			require.Contains(t, kinds(l), l.Goal[:1], "%02d/%s", l.Step, l.Fault)
		}
	}
	require.Equal(t, 5, sees)
	for _, l := range hard {
		require.Contains(t, kinds(l), l.Goal, "%02d/%s", l.Step, l.Fault)
		require.False(t, slices.ContainsFunc(way, func(w goal) bool { return w.Step == l.Step && w.Fault == l.Fault }))
	}
}
