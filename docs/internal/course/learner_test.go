package course

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/source"
)

// declarationsIn returns what is declared in the files of tests that begin in s.
func declarationsIn(t *testing.T, s Step) (list []source.Declaration) {
	t.Helper()
	for _, f := range s.Beginning() {
		some, err := source.Read("../../../" + s.Dir + "/" + f.Name)
		require.NoError(t, err)
		list = append(list, some...)
	}
	return list
}

// A story that also passes on the lock before needs none: what the learner has changed may
// be hint enough.
func TestEveryStory_HasAHint(t *testing.T) {
	for _, s := range Steps {
		known := map[string]bool{}
		for _, d := range declarationsIn(t, s) {
			known[d.File] = true
			if !d.IsTest() {
				continue
			}
			known[d.Name] = true
			_, ok := s.HintFor(d.File, d.Name)
			require.Truef(t, ok || HasAlsoPasses(d.Doc), "hints/step%02d.md has no hint for %s", s.N, d.Name)
		}
		for _, h := range s.Hints() {
			for _, of := range h.Of {
				says, ok := strings.CutPrefix(of, "says: ")
				assert.Truef(t, known[of] || ok && saidBefore(t, s, says), "hints/step%02d.md has a hint for %s, which does not begin in this step", s.N, of)
			}
		}
	}
}

// saidBefore reports whether a story of a step before s says so, or go-redis.
func saidBefore(t *testing.T, s Step, says string) bool {
	return says == "redis: nil" || slices.ContainsFunc(s.Guarantees(), func(f File) bool {
		return f.From < s.N && strings.Contains(read(t, s.Dir+"/"+f.Name), says)
	})
}

func TestHintSaying_IsForWhatTheFailureSays(t *testing.T) {
	for _, tt := range []struct {
		step int
		says string
		want string // in the last stage
	}{
		{4, "alice unlocked twice\nexpected: ok   got: redis: nil", "errors.Is(err, redis.Nil)"},
		{4, "every goroutine that locked has unlocked, but the lock is not free", "l.token.Store(&token)"},
		{4, "alice was inside when bob came", ""},
		{5, "bob's context had ended before the call, but something was sent\nexpected: 3", "ctx.Err()"},
		{3, "bob's context had ended before the call, but something was sent", ""},
		{4, "", ""},
	} {
		h, ok := Steps[tt.step-1].HintSaying(tt.says)
		require.Equal(t, tt.want != "", ok, tt.says)
		if ok {
			require.Contains(t, h.Stages[Stages-1], tt.want)
		}
	}
}

func TestEveryWrongEnding_HasAHint(t *testing.T) {
	for _, how := range []string{"hangs", "leaks", "breaks", "sings"} {
		_, ok := HintForEnding(how)
		require.Equal(t, how != "sings", ok, how)
	}
}

// Written again, the hints give the file that was read, unless a stage is out of its order or
// a line is not indented.
func TestHints_AreReadAsTheyAreWritten(t *testing.T) {
	files, err := fs.Glob(hintTexts, "hints/*.md")
	require.NoError(t, err)
	chinese, err := fs.Glob(hintTexts, "hints/zh-CN/*.md")
	require.NoError(t, err)
	for _, name := range append(files, chinese...) {
		text, err := fs.ReadFile(hintTexts, name)
		require.NoError(t, err)
		again := ""
		for _, h := range parseHints(string(text)) {
			require.Len(t, h.Stages, Stages, "%s: %s", name, h.Of[0])
			again += "\n# " + strings.Join(h.Of, "\n# ") + "\n"
			for i, stage := range h.Stages {
				indented := strings.ReplaceAll(stage, "\n", "\n   ")
				again += fmt.Sprintf("\n%d. %s\n", i+1, strings.ReplaceAll(indented, "   \n", "\n"))
			}
		}
		require.Equal(t, string(text), again[1:], name)
	}
}

func TestParts_HaveStoriesAndASimpleBeginning(t *testing.T) {
	for n, want := range map[int]string{4: "", 5: "script, detach, undo", 7: "renew, Lost, Do"} {
		s := Steps[n-1]
		var names []string
		for i, p := range s.Parts() {
			names = append(names, p.Name)
			found := map[string]bool{}
			stories := 0
			for _, d := range declarationsIn(t, s) {
				if d.IsTest() && s.PartOf(d.File, d.Name) == i {
					stories++
					require.True(t, !strings.Contains(d.Text, ".Do(") || slices.Contains(p.Needs, "Do"), "part %s: %s calls Do", p.Name, d.Name)
				}
				for _, of := range p.of {
					found[of] = found[of] || d.File == of || d.IsTest() && strings.HasPrefix(d.Name, of)
				}
			}
			require.NotZero(t, stories, p.Name)
			for _, of := range p.of {
				require.Truef(t, found[of], "part %s: no story begins with %s", p.Name, of)
			}
		}
		require.Equal(t, want, strings.Join(names, ", "))
	}
}

func TestRules_AreLookedAtByStories(t *testing.T) {
	for _, r := range rules {
		for _, s := range Steps[r.From-1 : r.To] {
			found := slices.ContainsFunc(s.Guarantees(), func(f File) bool {
				return strings.Contains(read(t, s.Dir+"/"+f.Name), "func "+r.Story+"(")
			})
			assert.Truef(t, found, "%s has no %s: %s", s.Dir, r.Story, r.Text)
		}
	}
	fresh, older := Steps[4].Rules()
	require.Contains(t, fresh[0].Text, "within 6s")
	require.NotEmpty(t, older)
	require.True(t, slices.ContainsFunc(fresh, func(r Rule) bool { return strings.Contains(r.Text, "NoRetry() method returns true") }), "no one can guess it")
}
