package course

import (
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
		some, err := source.Read("../../../" + s.Home(f.Name) + "/" + f.Name)
		require.NoError(t, err)
		list = append(list, some...)
	}
	return list
}

// Also a story that passes on the lock before: a lock that a learner brings along may fail it.
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
			assert.Truef(t, ok, "hints/step%02d.md has no hint for %s", s.N, d.Name)
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
		return f.From < s.N && strings.Contains(read(t, s.Home(f.Name)+"/"+f.Name), says)
	})
}

func TestHints_AreFoundByWhatAFailureSaysAndHowAStoryEnds(t *testing.T) {
	h, ok := Steps[3].HintSaying("alice unlocked twice\nexpected: ok   got: redis: nil")
	require.True(t, ok)
	require.Contains(t, h.Stages[Stages-1], "errors.Is(err, redis.Nil)")
	_, ok = Steps[3].HintSaying("alice was inside when bob came")
	require.False(t, ok)
	for _, how := range []string{"hangs", "leaks", "breaks", "sings"} {
		_, ok := HintForEnding(how)
		require.Equal(t, how != "sings", ok, how)
	}
}

// A story that is renamed leaves its part.
func TestParts_NameStoriesOfTheirStep(t *testing.T) {
	for _, s := range Steps {
		for _, p := range s.Parts() {
			for _, of := range p.of {
				require.Truef(t, slices.ContainsFunc(declarationsIn(t, s), func(d source.Declaration) bool {
					return d.File == of || d.IsTest() && strings.HasPrefix(d.Name, of)
				}), "part %s: no story begins with %s", p.Name, of)
			}
		}
	}
}
