package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"example.com/redislock-steps/docs/internal/course"
)

// A console is where this program writes.
type console struct {
	out   io.Writer
	err   io.Writer // progress and errors: out stays clean for a pipe
	color bool      // out may be coloured
	live  bool      // a line on err may be rewritten
	typed io.Reader // by the user, in lines; nil if that is not a terminal
}

func newConsole() console {
	c := console{
		out:   os.Stdout,
		err:   os.Stderr,
		color: isTerminal(os.Stdout) && os.Getenv("NO_COLOR") == "" && knowsColor,
		live:  isTerminal(os.Stderr),
	}
	if isTerminal(os.Stdin) {
		c.typed = os.Stdin
	}
	return c
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// knowsColor is false for the consoles of Windows that would print the escape codes as text.
var knowsColor = runtime.GOOS != "windows" || os.Getenv("WT_SESSION") != ""

// The colours: parameters of the escape code.
const (
	bold  = "1"
	dim   = "2"
	red   = "31"
	green = "32"
	cyan  = "36"
)

// paint paints line by line, so that a pager that cuts the text leaves no colour switched on.
func (c console) paint(color, text string) string {
	lines := strings.Split(word(text), "\n")
	for i, line := range lines {
		if c.color && color != "" && line != "" {
			lines[i] = "\x1b[" + color + "m" + line + "\x1b[0m"
		}
	}
	return strings.Join(lines, "\n")
}

func (c console) printf(format string, args ...any) {
	fmt.Fprint(c.out, say(format, args...))
}

func (c console) complain(format string, args ...any) {
	fmt.Fprint(c.err, indent("", wrap(columns, say(format, args...))))
}

// progress says what takes time, until the returned function is called.
func (c console) progress(text string) func() {
	line := text + " ..."
	if !c.live {
		fmt.Fprintln(c.err, line)
		return func() {}
	}
	fmt.Fprint(c.err, line)
	return func() { fmt.Fprintf(c.err, "\r%s\r", strings.Repeat(" ", course.Wide(line))) }
}

// indent puts prefix before every line that is not empty.
func indent(prefix string, lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(strings.TrimRight(prefix+line, " \t") + "\n")
	}
	return b.String()
}

// columns is how wide the prose of this program is: as a terminal, and readable on phones.
const columns = 80

// wrap breaks the lines of a text at spaces, and Chinese anywhere, so that each has at most
// width columns if its words allow it. What a line begins with, its continuations begin with.
func wrap(width int, text string) (out []string) {
	for _, line := range strings.Split(text, "\n") {
		rest := strings.TrimLeft(line, " ")
		prefix := line[:len(line)-len(rest)]
		for room := width - len(prefix); course.Wide(rest) > room; {
			at := breakAt(room, rest)
			if at < 0 {
				break
			}
			out = append(out, prefix+strings.TrimRight(rest[:at], " "))
			rest = strings.TrimLeft(rest[at:], " ")
		}
		out = append(out, prefix+rest)
	}
	return out
}

// behind puts a note behind the name of a story, or below it if a line cannot take both.
func behind(name, note string) string {
	if note = word(note); course.Wide(name+note) > columns-len("  FAIL  ") {
		return "\n        " + strings.TrimLeft(note, " ")
	}
	return note
}

// item prints a paragraph behind a mark of two columns.
func (c console) item(mark, text string) {
	for i, line := range wrap(columns-4, word(text)) {
		c.printf("  %s%s\n", []string{mark, "  "}[min(i, 1)], line)
	}
}

// prose prints a paragraph, all lines behind the prefix.
func (c console) prose(prefix, format string, args ...any) {
	c.printf("%s", indent(prefix, wrap(columns-len(prefix), say(format, args...))))
}
