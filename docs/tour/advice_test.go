package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/course"
)

// Every advice is given to an attempt, and none to the reference solutions.
func TestAdvice_IsWhatTheAttemptsSay(t *testing.T) {
	for _, s := range course.Steps {
		src, err := (&tour{root: "../.."}).readLock(s.Dir)
		require.NoError(t, err)
		broken, list := advice(src, s.N)
		require.Empty(t, slices.Concat(broken, list), s.Label())
	}
	given := ""
	for _, a := range attempts(t) {
		given += strings.Join(append(a.advice, a.refused), "\n") + "\n"
		if a.wrong {
			continue
		}
		broken, got := advice(lock{course.LockFile: a.src}, a.step.N)
		require.Empty(t, broken, "%s: a right lock is refused", a.name)
		require.Len(t, got, len(a.advice), "%s: %q", a.name, got)
		for i, want := range a.advice {
			require.Contains(t, got[i], want, a.name)
		}
	}
	for _, a := range advices {
		require.Contains(t, given, a.text[:25])
	}
}

func TestAdvice(t *testing.T) {
	for _, tt := range []struct {
		step      int
		src, want string // want is "" for none
	}{
		{3, "func f() { rdb.Do(ctx, \"set\", key, token, \"nx\", \"get\") }", "SET with both NX and GET"},
		{3, "func f() { rdb.Do(ctx, \"set\", key, token, \"nx\") }", ""},
		{3, "import \"math/rand\"\nfunc f() { rand.Int() }", ""},
		{4, "import \"math/rand\"\nfunc f() { rand.Int() }", "The token does not come from crypto/rand"},
		{4, "import \"github.com/google/uuid\"\nfunc f() { uuid.NewString() }", ""},
		{6, "import \"crypto/rand\"\nconst s = `redis.pcall('PUBLISH', KEYS[1], 'x')`", ""},
		{6, "import \"crypto/rand\"\nfunc f() { rdb.Do(ctx, \"publish\", c, 1) }", "PUBLISH is a separate command"},
		{1, "func f() {", ""},
		{3, "func (l *Lock) Unlock() {\n\tl.token, err = take()\n}", "Lock is used by several goroutines"},
		{3, "func (my *Lock) Unlock() {\n\tmy.depth++\n}", "Lock is used by several goroutines"},
		{3, "func (l *Lock) Unlock() {\n\t// l.token = 1\n\tx := l.token == y\n}\n\nfunc New() {\n\tl.token = 1\n}", ""},
		{3, "import \"sync\"\nfunc (l *Lock) Unlock() {\n\tl.token = 1\n}", ""},
		{4, "func token() { rand.Text() }\n// in another file:\nimport \"crypto/rand\"", ""},
	} {
		src := lock{}
		for i, text := range strings.Split(tt.src, "\n// in another file:\n") {
			src[fmt.Sprintf("%d.go", i)] = []byte("package redislock\n" + text)
		}
		broken, list := advice(src, tt.step)
		got := slices.Concat(broken, list)
		if tt.want == "" {
			require.Empty(t, got, tt.src)
			continue
		}
		require.Len(t, got, 1, tt.src)
		require.Contains(t, got[0], tt.want)
	}
}
