package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/story"
)

// Every rule is broken by an attempt, and none by the reference solutions and what is right.
func TestBrokenRules_AreWhatTheAttemptsSay(t *testing.T) {
	for _, s := range course.Steps {
		src, err := (&tour{Builder: &story.Builder{Root: "../.."}}).readLock(s.Dir)
		require.NoError(t, err)
		require.Empty(t, brokenRules(src, s.N), s.Label())
	}
	refused := ""
	for _, a := range attempts(t) {
		refused += a.refused + "\n"
		if !a.wrong {
			require.Empty(t, brokenRules(lock{course.LockFile: a.src}, a.step.N), "%s: a right lock is refused", a.name)
		}
	}
	require.Contains(t, refused, "The token does not come from crypto/rand\n")
	require.Contains(t, refused, "Lock is used by several goroutines\n")
}

func TestBrokenRules(t *testing.T) {
	for _, tt := range []struct {
		step      int
		src, want string // want is "" for none
	}{
		{3, "import \"math/rand\"\nfunc f() { rand.Int() }", ""},
		{4, "import \"math/rand\"\nfunc f() { rand.Int() }", "The token does not come from crypto/rand"},
		{4, "import \"github.com/google/uuid\"\nfunc f() { uuid.NewString() }", ""},
		{1, "func f() {", ""},
		{3, "func (l *Lock) Unlock() {\n\tl.token, err = take()\n}", "Lock is used by several goroutines"},
		{3, "func (my *Lock) Unlock() {\n\tmy.depth++\n}", "its field depth is written"},
		{3, "func (l *Lock) Unlock() {\n\tl.held[1] = true\n}", "its field held is written"},
		{3, "func (l *Lock) Unlock() {\n\t// l.token = 1\n\tx := l.token == y\n}\n\nfunc New() {\n\tk.token = 1\n}", ""},
		{3, "import \"sync\"\nvar mu sync.Mutex\nfunc (l *Lock) Unlock() {\n\tl.token = 1\n}", ""},
		{3, "type turn chan bool\nfunc (l *Lock) Unlock() {\n\tl.token = 1\n}", ""},
		{4, "func token() { rand.Text() }\n// in another file:\nimport \"crypto/rand\"", ""},
	} {
		src := lock{}
		for i, text := range strings.Split(tt.src, "\n// in another file:\n") {
			src[fmt.Sprintf("%d.go", i)] = []byte("package redislock\n" + text + "\ntype Lock struct{ token, depth, held int }\n")
		}
		got := brokenRules(src, tt.step)
		if tt.want == "" {
			require.Empty(t, got, tt.src)
			continue
		}
		require.Len(t, got, 1, tt.src)
		require.Contains(t, got[0], tt.want)
	}
}
