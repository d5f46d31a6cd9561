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
}

func newConsole() console {
	// Some consoles of Windows would print the escape codes as text.
	knowsColor := runtime.GOOS != "windows" || os.Getenv("WT_SESSION") != ""
	return console{
		out:   os.Stdout,
		err:   os.Stderr,
		color: isTerminal(os.Stdout) && os.Getenv("NO_COLOR") == "" && knowsColor,
		live:  isTerminal(os.Stderr),
	}
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

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

// prose prints a paragraph, all lines behind the prefix.
func (c console) prose(prefix, format string, args ...any) {
	c.printf("%s", indent(prefix, wrap(columns-len(prefix), say(format, args...))))
}

// strong prints a paragraph in bold.
func (c console) strong(format string, args ...any) {
	c.printf("%s", c.paint(bold, indent("", wrap(columns, say(format, args...)))))
}

func (c console) heading(format string, args ...any) {
	c.strong(format, args...)
	c.printf("\n")
}

// item prints a paragraph behind a mark of two columns.
func (c console) item(mark, text string) {
	for i, line := range wrap(columns-4, word(text)) {
		c.printf("  %s%s\n", []string{mark, "  "}[min(i, 1)], line)
	}
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
		now := ""
		for _, part := range course.Unbroken(rest) {
			if now != "" && course.Wide(prefix+now+part) > width {
				out = append(out, prefix+strings.TrimRight(now, " "))
				now, part = "", strings.TrimLeft(part, " ")
			}
			now += part
		}
		out = append(out, prefix+now)
	}
	return out
}

// pad fills a text up with spaces.
func pad(width int, text string) string {
	return text + strings.Repeat(" ", max(0, width-course.Wide(text)))
}

// lines splits a text; LF or CRLF makes no difference.
func lines(text string) []string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}
