package course

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/source"
)

// Also a story that passes on the lock before: a lock that a learner brings along may fail it. A
// story that is renamed leaves its hint and its part.
func TestEveryStory_HasAHint(t *testing.T) {
	sentences := read(t, "docs/internal/trace/zh-CN.json")
	for _, s := range Steps {
		var known []string
		for _, f := range s.Beginning() {
			list, err := source.Read("../../../" + s.Home(f.Name) + "/" + f.Name)
			require.NoError(t, err)
			known = append(known, f.Name)
			for _, d := range list {
				if d.IsTest() {
					known = append(known, d.Name)
					_, ok := s.HintFor(d.File, d.Name)
					assert.Truef(t, ok, "hints/step%02d.md has no hint for %s", s.N, d.Name)
				}
			}
		}
		for _, h := range s.Hints() {
			for _, of := range h.Of {
				says, ok := strings.CutPrefix(of, "says: ")
				assert.Truef(t, slices.Contains(known, of) || ok && (says == "redis: nil" || strings.Contains(sentences, says)), "hints/step%02d.md has a hint for %s, which does not begin in this step", s.N, of)
			}
		}
		for _, p := range s.Parts() {
			for _, of := range p.of {
				assert.Truef(t, slices.ContainsFunc(known, func(name string) bool { return strings.HasPrefix(name, of) }), "part %s: no story begins with %s", p.Name, of)
			}
		}
	}
}

func TestHints_AreFoundByWhatAFailureSaysAndHowAStoryEnds(t *testing.T) {
	h, ok := Steps[3].HintSaying("alice unlocked twice\nexpected: ok   got: redis: nil")
	require.True(t, ok)
	require.Contains(t, h.Stages[Stages-1], "errors.Is(err, redis.Nil)")
	_, ok = Steps[3].HintSaying("alice was inside when bob came")
	require.False(t, ok)
	h, ok = Steps[6].HintSaying("alice unlocked twice, but the second Unlock did not return ErrNotHeld")
	require.True(t, ok)
	require.Contains(t, h.Of, "TestTheHolderLeaves_TheNextOneGetsIn")
	for _, how := range []string{"hangs", "leaks", "breaks", "sings"} {
		_, ok := HintForEnding(how)
		require.Equal(t, how != "sings", ok, how)
	}
}
