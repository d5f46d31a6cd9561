package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/source"
)

var (
	sourceLink   = regexp.MustCompile("\\[(`[A-Za-z0-9_.]+`|[^]`[]+)\\]\\(([^)#\\s]+\\.go)(#L[0-9]+)?(\\s\"[A-Za-z0-9_.]+\")?\\)")
	pageLink     = regexp.MustCompile(`\]\(([^):#\s]+\.md)(#[^)\s]*)?\)`)
	storyCommand = regexp.MustCompile("`[^`]*\\b(?:red|green|try|hint) (?:[0-9]|fencing) [^`]*`")
	storyName    = regexp.MustCompile(`\bTest\w*_\w*`)
)

// linked returns a line of text with its links as they have to be now:
//
//   - the file and the line of a declaration that is named in backticks or in the link's title:
//     [`Lock.Unlock`](lock.go#L1), [test](lock_test.go#L1 "TestA"); only a lesson gives the lines
//     of its tests: otherwise a new story would change most pages
//   - on a Chinese page, Chinese pages
//
// It fails if a declaration, or a story in a command, is not there.
func linked(file, line string) (string, error) {
	var wrong error
	line = sourceLink.ReplaceAllStringFunc(line, func(link string) string {
		m := sourceLink.FindStringSubmatch(link)
		name := strings.Trim(cmp.Or(m[4], m[1]), " \"`")
		switch {
		case strings.Contains(m[2], "://"):
			return link
		case m[4] == "" && !strings.HasPrefix(m[1], "`"):
			if m[3] != "" {
				wrong = errors.Join(wrong, fmt.Errorf("%s names no declaration, so no one keeps its line right", link))
			}
			return link
		}
		d, err := find(path.Join(path.Dir(file), m[2]), name)
		if err != nil {
			wrong = errors.Join(wrong, err)
			return link
		}
		to := path.Join(path.Dir(m[2]), filepath.ToSlash(d.File))
		if strings.Contains(to, "/") && strings.HasSuffix(to, "_test.go") {
			return fmt.Sprintf("[%s](%s%s)", m[1], to, m[4])
		}
		return fmt.Sprintf("[%s](%s#L%d%s)", m[1], to, d.Line, m[4])
	})
	for _, command := range storyCommand.FindAllString(line, -1) {
		for _, name := range storyName.FindAllString(command, -1) {
			if !strings.Contains(tests(), "\nfunc "+name) {
				wrong = errors.Join(wrong, fmt.Errorf("%s: there is no story %s", command, name))
			}
		}
	}
	if isChinese(file) && !languageLine.MatchString(line+"\n") {
		line = pageLink.ReplaceAllStringFunc(line, func(link string) string {
			m := pageLink.FindStringSubmatch(link)
			if other := chinese(m[1]); read(path.Join(path.Dir(file), other)) != "" {
				return "](" + other + m[2] + ")"
			}
			return link
		})
	}
	return line, wrong
}

// find returns a declaration of a file; of that file in docs/stories, where the second reading of
// all steps is; or of another file next to it: a lock has several, and what it declares may move.
// Of a folder, it returns one of any file. Its File is seen from the folder.
func find(file, name string) (d source.Declaration, err error) {
	dir := file
	if path.Ext(file) == ".go" {
		dir = path.Dir(file)
		list, _ := source.Read(file)
		if d, err = source.Find(list, name); err == nil {
			return d, nil
		}
		list, _ = source.Read(course.SecondDir + "/" + path.Base(file))
		if d, err = source.Find(list, name); err == nil {
			d.File, _ = filepath.Rel(dir, course.SecondDir+"/"+d.File) // both are in the repository
			return d, nil
		}
	}
	list, err := source.ReadDir(dir)
	if err == nil {
		d, err = source.Find(list, name)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", file, err)
	}
	return d, err
}

// tests are the stories of all folders.
var tests = sync.OnceValue(func() (all string) {
	for _, pattern := range []string{"step*/*_test.go", "docs/*/*_test.go"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			text, _ := os.ReadFile(file)
			all += "\n" + string(text)
		}
	}
	return all
})
