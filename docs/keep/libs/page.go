package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"example.com/redislock-steps/docs/internal/story"
)

//go:embed libraries.tmpl
var source string

const command = "go run -C docs/keep ./libs"

// pages makes the page. Each red cell has its words there, and no other has.
func pages(found []verdicts) (made map[string]string, err error) {
	made = map[string]string{}
	silent := map[string]bool{} // red cells without words
	for i, c := range columns {
		for _, r := range rows {
			result, played := found[i][r.story]
			if played == slices.Contains(r.none, c.dir) {
				return nil, fmt.Errorf("there is no story %s that every lock can play", r.story)
			}
			if result.Verdict == story.Failed {
				silent[c.dir+" "+r.story] = true
			}
		}
	}
	page := template.Must(template.New("").Funcs(template.FuncMap{
		"table":   func() string { return tableOf(found) },
		"heading": func(name string) (string, error) { return heading(found, name) },
		"red": func(dir, name string) (string, error) {
			if !silent[dir+" "+name] {
				return "", fmt.Errorf("%s is not red on %s, or has words already", name, dir)
			}
			delete(silent, dir+" "+name)
			i := slices.IndexFunc(columns, func(c column) bool { return c.dir == dir })
			return "**" + columns[i].name + "**", nil
		},
		"line":    line,
		"version": func(module string) (string, error) { return listed(module, "{{.Version}}") },
	}).Parse(source))
	var text bytes.Buffer
	if err = page.Execute(&text, nil); err == nil && len(silent) > 0 {
		err = fmt.Errorf("red, and libraries.tmpl does not say why: %s", slices.Sorted(maps.Keys(silent)))
	}
	made["docs/read/libraries.md"] = text.String()
	return made, err
}

// line links to the only place in a library's source that has this text.
func line(module, file, text string) (string, error) {
	dir, err1 := listed(module, "{{.Dir}}")
	version, err2 := listed(module, "{{.Version}}")
	source, err3 := os.ReadFile(filepath.Join(dir, filepath.FromSlash(file)))
	if err := cmp.Or(err1, err2, err3); err != nil {
		return "", err
	}
	before, after, found := strings.Cut(string(source), text)
	if !found || strings.Contains(after, text) {
		return "", fmt.Errorf("%s of %s has no line with %s, or several", file, module, text)
	}
	repository, _, _ := strings.Cut(module, "/v")
	n := 1 + strings.Count(before, "\n")
	return fmt.Sprintf("[%s:%d](https://%s/blob/%s/%s#L%d)", path.Base(file), n, repository, version, file, n), nil
}

// listed is what docs/keep requires.
func listed(module, format string) (string, error) {
	out, err := exec.Command("go", "list", "-C", "docs/keep", "-m", "-f", format, module).Output()
	return strings.TrimSpace(string(out)), err
}

// tableOf is what is found: a row for each story. A red cell links to what the page says about it.
func tableOf(found []verdicts) string {
	var head, text strings.Builder
	for _, c := range columns {
		fmt.Fprintf(&head, " [%s](../keep/libs/%s/lock.go) |", c.name, c.dir)
	}
	fmt.Fprintf(&text, "| |%s\n|---|%s\n", head.String(), strings.Repeat(":-:|", len(columns)))
	for _, r := range rows {
		fmt.Fprintf(&text, "| %s |", r.title)
		for i := range columns {
			cell := "✓"
			if result, ok := found[i][r.story]; !ok && slices.Equal(r.none, rueidis) {
				cell = "n/a"
			} else if !ok {
				cell = "–"
			} else if result.Verdict != story.Passed {
				cell = fmt.Sprintf("[✗](#%s)", slug(r.title))
			}
			fmt.Fprintf(&text, " %s |", cell)
		}
		text.WriteString("\n")
	}
	return text.String()
}

// slug is GitHub's anchor of a title.
func slug(title string) string {
	return strings.ReplaceAll(notInSlug.ReplaceAllString(strings.ToLower(title), ""), " ", "-")
}

var notInSlug = regexp.MustCompile(`[^\p{L}\p{N} -]`)

// heading begins what the page says about a story: its title, and on which libraries it is red.
func heading(found []verdicts, name string) (string, error) {
	var dirs []string
	for i, c := range columns {
		if result, played := found[i][name]; played && result.Verdict == story.Failed {
			dirs = append(dirs, c.dir)
		}
	}
	if dirs == nil {
		return "", fmt.Errorf("%s is red nowhere", name)
	}
	i := slices.IndexFunc(rows, func(r row) bool { return r.story == name })
	return fmt.Sprintf("### %s\n\n`%s` (`%s`)", rows[i].title, name, strings.Join(dirs, "`, `")), nil
}

// holds lists which stories pass on which libraries.
func holds(found []verdicts) string {
	on := map[string]string{}
	for i, c := range columns {
		for name, r := range found[i] {
			if r.Verdict == story.Passed {
				on[name] += " " + c.dir
			}
		}
	}
	text := "# Stories that pass, and on which libraries. One that is not here fails, is not claimed, or has been left out:\n" +
		"# leftOut of rows.go says why. " + command + " -all writes this.\n"
	for _, name := range slices.Sorted(maps.Keys(on)) {
		text += name + on[name] + "\n"
	}
	return text
}
