package main

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/play/page"
)

// build makes the site for an address.
func build(t *testing.T, address string) map[string]string {
	root, err := course.Root()
	require.NoError(t, err)
	t.Chdir(root)
	defer func(old string) { course.Address = old }(course.Address)
	course.Address = address
	files, err := site()
	require.NoError(t, err)
	texts := map[string]string{}
	for name, text := range files {
		texts[name] = string(text)
	}
	return texts
}

func TestALinkWithinTheSite_LeadsSomewhere(t *testing.T) {
	files := build(t, "https://a.github.io/b/")
	anchor, links, of := regexp.MustCompile(`^(menu|\d|\d\d/[\w-]+(/\w+)?)$`), 0, regexp.MustCompile(`(?:href|src|srcset)="([^"]*)"`)
	for name, text := range files {
		if path.Ext(name) != ".html" || name == "index.html" {
			continue
		}
		for _, m := range of.FindAllStringSubmatch(text, -1) {
			to, err := url.Parse(m[1])
			require.NoError(t, err)
			if to.Scheme != "" {
				assert.NotContains(t, m[1], "..", name)
				continue
			}
			links++
			file := path.Join(path.Dir(name), to.Path)
			switch {
			case to.Path == "":
				file = name
			case file == ".":
				file = "index.html"
			}
			assert.Contains(t, files, file, "%s links to %s", name, m[1])
			if file == "index.html" {
				assert.Regexp(t, anchor, strings.Replace(to.Fragment, "build", "menu", 1), name)
			} else if to.Fragment != "" {
				assert.Contains(t, files[file], `id="`+to.Fragment+`"`, "%s links to %s", name, m[1])
			}
		}
	}
	assert.Greater(t, links, 400)
	assert.Contains(t, files["lessons/04.html"], `href="https://github.com/a/b/blob/HEAD/step04_owner_token/lock.go#L`)
	assert.NotRegexp(t, `href="[\w/.]*\.(go|md)\b`, build(t, "")["lessons/04.html"], "without an address, the site has no such place")
}

func TestALessonAndACard_HaveWhatTheirBoardsPlay(t *testing.T) {
	files, board, id := build(t, ""), regexp.MustCompile(`data-schedule="(\d\d/[\w-]+)/\w+"`), regexp.MustCompile(` id="[^"]*"`)
	for language := range page.Words() {
		for _, s := range course.Entries() {
			for name, boards := range map[string]int{fmt.Sprintf("lessons/%02d", s.N): 1, fmt.Sprint("cards/", s.N): 2} {
				name += strings.TrimSuffix("."+language, ".en") + ".html"
				text := files[name]
				found := board.FindAllStringSubmatch(text, -1)
				assert.Len(t, found, boards, name)
				for _, m := range found {
					assert.Contains(t, text, `{"Name":"`+m[1]+`"`, name)
				}
				ids := id.FindAllString(text, -1)
				assert.Len(t, slices.Compact(slices.Sorted(slices.Values(ids))), len(ids), name)
				assert.NotRegexp(t, "go run ./docs/play|<!--|<no value>", text, name)
				assert.Less(t, len(text), 24_000, name)
			}
		}
	}
}

func TestWhatThePageDoesNotHave_IsNotPublished(t *testing.T) {
	var first struct{ Graph graph }
	require.NoError(t, page.Unpack([]byte(build(t, "")["index.html"]), &first, &struct{}{}))
	for _, id := range []string{"", "03/slow", "03/other/aAFba", "03/slow/xyz", "03/slow/aFFb", "08/clock/a1", "08/down-1/a2a3"} {
		_, err := first.Graph.only([]string{"03/slow/aAFba", id})
		require.ErrorContains(t, err, id)
	}
}

func TestTheSite_HasAStubForEachChapterAndTheBench(t *testing.T) {
	for _, address := range []string{"", "https://a.example/"} {
		files := build(t, address)
		require.Regexp(t, `(?s)og:title" content="Whose key is it\?">.*og:description" content="[^"]{50,}">.*content="0; url=\./#4"`, files["4.html"])
		require.Equal(t, address != "", strings.Contains(files["4.html"], `"og:image" content="`+address+`cards/4.png"`), "a preview needs a whole address")
		require.Equal(t, address != "", strings.Contains(files["build.html"], `"og:image" content="`+address+`play.png"`))
		require.Equal(t, address != "", strings.Contains(files["4.html"], `"og:video" content="`+address+`cards/4.html"`))
	}
}
