package mutant

import (
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A change is what can happen to a line of a script.
type change struct {
	kind Kind
	was  string // "" is the whole line
	now  string // what the mutant's reader sees
	line string // what is there
}

// script changes a Lua script line by line.
func (g *generator) script(lit *ast.BasicLit) {
	source, err := strconv.Unquote(lit.Value)
	if err != nil {
		return
	}
	lines := strings.Split(source, "\n")
	first := g.line(lit.Pos())
	var would []string
	for i, line := range lines {
		for _, c := range changes(line) {
			n := g.addLines(first+i, first+i, c.kind, c.was, c.now)
			other := slices.Concat(lines[:i], []string{c.line}, lines[i+1:])
			would = append(would, fmt.Sprintf("%d: %q", n, strings.Join(other, "\n")))
		}
	}
	g.around(lit, "mutantScript(", ", map[int]string{"+strings.Join(would, ", ")+"})")
}

var (
	luaIf     = regexp.MustCompile(`^(\s*)if (.*) then$`)
	luaReturn = regexp.MustCompile(`^(\s*)return (.*)$`)
	luaMax    = regexp.MustCompile(`math\.max\((\w+), \d+\)`)
)

func changes(line string) (list []change) {
	code := strings.TrimSpace(line)
	if m := luaIf.FindStringSubmatch(line); m != nil {
		list = append(list, change{Never, m[2], "", m[1] + "if false then"}, change{Always, m[2], "", m[1] + "if true then"})
		return append(list, operands(m[1], m[2])...)
	}
	if m := luaReturn.FindStringSubmatch(line); m != nil {
		switch value := m[2]; {
		case strings.Contains(value, "error_reply"):
			return []change{{Out, code, "", ""}}
		case value == "0" || strings.HasPrefix(value, "redis.call"):
			return []change{{Instead, code, "return 1", m[1] + "return 1"}}
		case value == "1":
			return []change{{Instead, code, "return 0", m[1] + "return 0"}}
		default:
			list = append(list, change{Instead, code, "return 0", m[1] + "return 0"})
			if simple := luaMax.ReplaceAllString(value, "$1"); simple != value {
				list = append(list, change{Instead, code, "return " + simple, m[1] + "return " + simple})
			}
			return list
		}
	}
	if strings.HasPrefix(code, "redis.") {
		list = append(list, change{Out, code, "", ""})
		if strings.HasPrefix(code, "redis.pcall") {
			list = append(list, change{Instead, "pcall", "call", strings.Replace(line, "pcall", "call", 1)})
		}
	}
	return list
}

// operands leaves out one of the parts that "and" and "or" join: "and" binds closer.
func operands(indent, cond string) (list []change) {
	parts := strings.Split(cond, " or ")
	without := func(part, rest string) {
		list = append(list, change{Out, part, "of " + cond, indent + "if " + rest + " then"})
	}
	for i, part := range parts {
		rest := slices.Concat(parts[:i], parts[i+1:])
		if len(parts) > 1 {
			without(part, strings.Join(rest, " or "))
		}
		ands := strings.Split(part, " and ")
		for j := range ands {
			if len(ands) > 1 {
				some := strings.Join(slices.Concat(ands[:j], ands[j+1:]), " and ")
				all := slices.Concat(parts[:i], []string{some}, parts[i+1:])
				without(ands[j], strings.Join(all, " or "))
			}
		}
	}
	return list
}
