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
	script := "t('language')" // the menu of languages says it
	modules, err := filepath.Glob("*.mjs")
	require.NoError(t, err)
	for _, file := range modules {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		script += string(source)
	}
	for _, m := range inMarkup.FindAllStringSubmatch(embedded("play.html"), -1) {
		script += fmt.Sprintf("t('%s')", m[1])
	}
	require.Empty(t, wrongWords(english, script))

	for _, word := range []string{"hint.who", "choices", "outcome.goBack", "why.struck", "hint.when.next", "outcome.won", "course.wrong"} {
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
			assert.True(t, english[word] != "" || strings.HasPrefix(word, "data.") || strings.HasPrefix(word, "event."), "%s: no one says %s", name, word)
		}
	}
	assert.Equal(t, "README.md", english["lesson.page"])
	assert.Equal(t, "README.zh-CN.md", languages["zh-CN"]["lesson.page"])
	for _, kind := range "XLDKBTNUWSG" {
		assert.NotEmpty(t, english["kind."+string(kind)])
	}
}

// wrongTexts says which texts of the chapters are missing, and which no beat has.
func wrongTexts(chapters []Chapter, words map[string]string) (wrong []string) {
	said := map[string]bool{}
	says := func(key string) {
		if said[key] = true; words[key] == "" {
			wrong = append(wrong, "there is no "+key)
		}
	}
	for _, c := range chapters {
		says(fmt.Sprintf("chapter.%d.title", c.Step))
		for i, b := range c.Beats {
			key := fmt.Sprintf("chapter.%d.%d", c.Step, i+1)
			says(key)
			if i > 0 { // the first is below the title
				says(key + ".head")
			}
			if b.Ask != "" {
				for _, part := range []string{".a", ".b", ".c", ".answer"} {
					says(key + part)
				}
			}
		}
	}
	for word := range words {
		if strings.HasPrefix(word, "chapter.") && !said[word] {
			wrong = append(wrong, "no beat has "+word)
		}
	}
	return wrong
}

func TestTheChapters_HaveTheirTexts(t *testing.T) {
	chapters, languages := Chapters(), readWords()
	for name, words := range languages {
		require.Empty(t, wrongTexts(chapters, words), name)
	}
	english := languages["en"]
	for _, key := range []string{"chapter.1.title", "chapter.2.1", "chapter.9.2.head", "chapter.4.6.c", "chapter.4.6.answer"} {
		less := maps.Clone(english)
		delete(less, key)
		require.Equal(t, []string{"there is no " + key}, wrongTexts(chapters, less))
	}
	more := maps.Clone(english)
	more["chapter.3.17"] = "a text"
	require.Equal(t, []string{"no beat has chapter.3.17"}, wrongTexts(chapters, more))

	all := 0
	for word, text := range english {
		if !strings.HasPrefix(word, "chapter.") {
			continue
		}
		n := len(strings.Fields(text))
		all += n
		if regexp.MustCompile(`\.\d+\.\d+$`).MatchString(word) {
			assert.True(t, 10 <= n && n <= 60, "%s has %d words", word, n)
		}
	}
	require.InDelta(t, 2300, all, 200, "words of the nine chapters")
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
	require.NoError(t, Unpack(html, (*json.RawMessage)(&data)))
	var all struct{ Levels []Level }
	require.NoError(t, json.Unmarshal(data, &all))
	levels = map[string]Level{}
	for _, l := range all.Levels {
		levels[fmt.Sprintf("%02d/%s", l.Step, l.Fault)] = l
	}
	return data, levels
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
	for name, words := range readWords() {
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
	atRoot(t)
	locks, err := readLocks("", 0)
	require.NoError(t, err)
	own, err := readLocks("step06_reentrant", 5)
	require.NoError(t, err)
	for files, l := range map[string]lock{
		"lock.go": locks[4], "lock.go replies.go send.go": locks[5], "lock.go nodes.go rounds.go send.go waiting.go watchdog.go": locks[8],
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
	defer func(old string) { course.Address = old }(course.Address)
	for _, home := range []string{"", "https://a.example/"} {
		course.Address = home
		page, err := New([]Level{found}, map[string]any{}, nil, "", 0)
		require.NoError(t, err)
		text := string(page)
		require.NotContains(t, text, "<no value>", "everything has been filled in")
		require.Equal(t, home != "", strings.Contains(text, `"og:image" content="`+home), "a preview needs a whole address")
		require.Equal(t, 3, strings.Count(text, "</script>"), "no data ends a script")
		script := regexp.MustCompile(`(?s)<script type="module">(.*?)</script>`).FindSubmatch(page)[1]
		sum := sha256.Sum256(script)
		require.Contains(t, text, "script-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'", "no other script runs")
		for _, address := range regexp.MustCompile(`https?://[\w./]+`).FindAllString(text, -1) {
			require.Contains(t, []string{"http://www.w3.org/2000/svg", home, home + "play.png"}, address, "the page asks no one")
		}
	}

	committed, err := os.Stat("docs/play/index.html")
	require.NoError(t, err)
	require.LessOrEqual(t, committed.Size(), int64(600_000), "what opens in a browser at once")

	found.Title = "another title"
	_, err = New([]Level{found}, map[string]any{}, nil, "", 0)
	require.ErrorContains(t, err, "en.json", "the words and the explorer disagree")
}

// The chapters' levels go through all locks in their order. Their goals are what
// the explorer has found in a cell; in four of them the reader sees that the lock holds. The
// hard ones break.
func TestTheWay_LeadsThroughAllLocks(t *testing.T) {
	_, found := committed(t)
	english := readWords()["en"]
	kinds := func(l goal) string { return found[fmt.Sprintf("%02d/%s", l.Step, l.Fault)].Kinds }
	levels, sees, before := map[int]int{}, 0, 0
	for i, l := range way {
		levels[l.Step]++
		require.GreaterOrEqual(t, l.Step, before, "in the order of the course")
		before = l.Step
		for _, word := range []string{"goal", "why"} {
			require.NotEmpty(t, english[fmt.Sprintf("level.%02d/%s.%s", l.Step, l.Fault, word)])
		}
		switch {
		case i == 0:
			require.Equal(t, "none", l.Fault, "the first is won without a fault")
		case l.After == "F":
			sees++
			require.Empty(t, kinds(l), "%02d/%s", l.Step, l.Fault)
		default:
			require.Contains(t, kinds(l), l.Goal[:1], "%02d/%s", l.Step, l.Fault)
		}
	}
	for _, s := range entries() {
		require.Contains(t, []int{1, 2, 3}, levels[s.N], s.Label())
	}
	require.Len(t, way, 14)
	require.Equal(t, 4, sees)
	require.Len(t, hard, 15)
	for _, l := range hard {
		require.Contains(t, kinds(l), l.Goal, "%02d/%s", l.Step, l.Fault)
		require.False(t, slices.ContainsFunc(way, func(w goal) bool { return w.Step == l.Step && w.Fault == l.Fault }))
	}
}
