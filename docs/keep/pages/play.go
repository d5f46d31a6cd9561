package main

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"example.com/redislock-steps/docs/internal/course"
)

// playPage says how to open the page in the browser. Links lead to it until that is published.
const playPage = "docs/play/README.md"

// stories are the schedules of the page that tell the same as a picture.
var stories = map[string]string{
	"same-moment-red": "00/none/abba", "dead-holder-red": "01/crash-hold/aFbBb", "death-in-trylock-red": "02/crash-acquire/aFbBb",
	"late-holder": "03/slow/aAFba", "late-holder-red": "03/slow/aAFba", "lease-ends-in-unlock-red": "04/slow/aAaFba",
	"owner-locks-again-red": "05/nested/aaa", "long-work-red": "06/slow/aFb", "failover-red": "07/failover/aFb",
	"three-one-forgets": "08/restart/a1a2b3Fb1", "two-nodes-hang": "08/hung-1", "fencing": "09/pause/aFbA",
}

// playStory is the link to the same in the page, which follows a picture in its line.
func playStory(file, picture string) string {
	form := "<br>[▶ Play this story](%s): `go run ./docs/play %s`"
	if isChinese(file) {
		form = "<br>[▶ 亲手走一遍这个故事](%s)：`go run ./docs/play %s`"
	}
	if stories[picture] == "" {
		return ""
	}
	return linkPlay(file, fmt.Sprintf(form, join(file, editionFor(file, playPage), ""), stories[picture]))
}

var playLink = regexp.MustCompile("\\]\\(([^()\\s]*)\\)([^`\\]]*`go run \\./docs/play ?([^`]*)`)?")

// linkPlay returns a line whose links to playPage lead to the published page, and those before
// the command that opens a level to this level.
func linkPlay(file, line string) string {
	if course.Address == "" || path.Dir(file) == path.Dir(playPage) {
		return line
	}
	return playLink.ReplaceAllStringFunc(line, func(link string) string {
		m := playLink.FindStringSubmatch(link)
		if m[2] == "" && english(path.Join(path.Dir(file), m[1])) != playPage {
			return link
		}
		return "](" + strings.TrimSuffix(course.Address+"#"+m[3], "#") + ")" + m[2]
	})
}
