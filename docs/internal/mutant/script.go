package mutant

import (
	"go/ast"
	"slices"
	"strconv"
	"strings"
)

// script changes a Lua script line by line.
func (g *generator) script(lit *ast.BasicLit) {
	source, _ := strconv.Unquote(lit.Value) // it was parsed
	for _, c := range changes(source) {
		m := g.drop(lit, c.kind, strconv.Quote(c.script))
		m.Line += c.at
		m.Was, m.Now = c.was, c.now
	}
}

// A change is what can happen to a line of a script.
type change struct {
	at       int // the lines before it
	kind     Kind
	was, now string // what a reader sees
	script   string // with the change
}

func changes(script string) (list []change) {
	lines := strings.Split(script, "\n")
	for i, line := range lines {
		add := func(kind Kind, was, now, would string) {
			with := slices.Concat(lines[:i], []string{would}, lines[i+1:])
			list = append(list, change{i, kind, was, now, strings.Join(with, "\n")})
		}
		test := func(before, cond, after string) {
			add(Never, cond, "", before+"false"+after)
			add(Always, cond, "", before+"true"+after)
			parts := strings.Split(cond, " and ")
			for j, part := range parts {
				if rest := slices.Concat(parts[:j], parts[j+1:]); len(rest) > 0 {
					add(Out, part, "of "+cond, before+strings.Join(rest, " and ")+after)
				}
			}
		}
		code, _, _ := strings.Cut(strings.TrimSpace(line), " --")
		word, rest, _ := strings.Cut(code, " ")
		name, value, _ := strings.Cut(rest, " = ")
		switch {
		case word == "if":
			cond, then, _ := strings.Cut(rest, " then")
			test("if ", cond, " then"+then)
		case word == "local" && strings.Contains(value, " and "):
			test("local "+name+" = ", value, "")
		case word == "return":
			would := "return 0"
			if rest == "0" || strings.HasPrefix(rest, "redis.call") {
				would = "return 1"
			}
			add(Instead, code, would, would)
		case strings.HasPrefix(code, "redis."):
			add(Out, code, "", "")
			if call, ok := strings.CutPrefix(code, "redis.pcall"); ok {
				add(Instead, "pcall", "call", "redis.call"+call)
			}
		}
	}
	return list
}
