package mutant

import (
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// script changes a Lua script line by line.
func (g *generator) script(lit *ast.BasicLit) {
	source, _ := strconv.Unquote(lit.Value) // it was parsed
	lines := strings.Split(source, "\n")
	first := g.line(lit.Pos())
	var would []string
	for i, line := range lines {
		for _, c := range changes(line) {
			m := g.add(first+i, first+i, c.kind, c.was, c.now)
			other := strings.Join(slices.Concat(lines[:i], []string{c.line}, lines[i+1:]), "\n")
			would = append(would, fmt.Sprintf("%d: %q", m.N, other))
		}
	}
	g.around(lit, "mutantScript(", ", map[int]string{"+strings.Join(would, ", ")+"})")
}

// A change is what can happen to a line of a script.
type change struct {
	kind     Kind
	was, now string // what a reader sees
	line     string // what is there
}

var luaMax = regexp.MustCompile(`math\.max\((\w+), \d+\)`)

func changes(line string) (list []change) {
	code := strings.TrimSpace(line)
	indent, _, _ := strings.Cut(line, code)
	add := func(kind Kind, was, now, line string) { list = append(list, change{kind, was, now, line}) }
	word, rest, _ := strings.Cut(code, " ")
	switch {
	case word == "if":
		cond := strings.TrimSuffix(rest, " then")
		test := func(kind Kind, was, now, cond string) { add(kind, was, now, indent+"if "+cond+" then") }
		test(Never, cond, "", "false")
		test(Always, cond, "", "true")
		ors := strings.Split(cond, " or ") // "and" binds closer
		for i, or := range ors {
			if len(ors) > 1 {
				test(Out, or, "of "+cond, strings.Join(slices.Concat(ors[:i], ors[i+1:]), " or "))
			}
			ands := strings.Split(or, " and ")
			for j, and := range ands {
				if len(ands) > 1 {
					fewer := strings.Join(slices.Concat(ands[:j], ands[j+1:]), " and ")
					test(Out, and, "of "+cond, strings.Join(slices.Concat(ors[:i], []string{fewer}, ors[i+1:]), " or "))
				}
			}
		}
	case word == "return" && strings.Contains(rest, "error_reply"):
		add(Out, code, "", "")
	case word == "return":
		would := "return 0"
		if rest == "0" || strings.HasPrefix(rest, "redis.call") {
			would = "return 1"
		}
		add(Instead, code, would, indent+would)
		if simple := luaMax.ReplaceAllString(code, "$1"); simple != code {
			add(Instead, code, simple, indent+simple)
		}
	case strings.HasPrefix(code, "redis."):
		add(Out, code, "", "")
		if strings.HasPrefix(code, "redis.pcall") {
			add(Instead, "pcall", "call", strings.Replace(line, "pcall", "call", 1))
		}
	}
	return list
}
