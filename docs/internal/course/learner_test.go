package course

import (
	"regexp"
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
	sentences, shown := read(t, "docs/internal/trace/zh-CN.json"), read(t, "docs/internal/trace/trace.go")
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
				sign, shows := strings.CutPrefix(regexp.MustCompile("(deletes|overwrites|extends)$").ReplaceAllString(of, ""), "shows: ")
				assert.Truef(t, slices.Contains(known, of) || shows && strings.Contains(shown, sign) || ok && (says == "redis: nil" || strings.Contains(sentences, says)), "hints/step%02d.md has a hint for %s, which does not begin in this step", s.N, of)
			}
		}
		for _, p := range s.Parts() {
			for _, of := range p.of {
				assert.Truef(t, slices.ContainsFunc(known, func(name string) bool { return strings.HasPrefix(name, of) }), "part %s: no story begins with %s", p.Name, of)
			}
		}
	}
}

func TestHints_AreFoundByWhatAFailureShowsAndSaysAndHowAStoryEnds(t *testing.T) {
	for _, tt := range []struct {
		step                   int
		how, shows, says, want string
	}{
		{4, "", "", "alice unlocked twice\nexpected: ok   got: redis: nil", "says: redis: nil"},
		{4, "", "", "alice was inside when bob came", "none"},
		{7, "", "", "alice unlocked twice, but the second Unlock did not return ErrNotHeld", "says: Unlock did not return ErrNotHeld"},
		{1, "", "a TryLock that deletes", "Unlock did not return ErrNotHeld", "TestTheHolderLeavesAnywhereInARefusedTryLock_TheLockIsFree"},
		{5, "", "a TryLock that deletes", "", "TestTheRefusalIsLost_TheHoldersLockStays"},
		{2, "", "a key without a ttl", "", "TestTheHolderDies_BobEntersWhenTheTTLEnds"},
		{4, "", "a key without a ttl", "", "3_atomic_acquire_test.go"},
		{4, "hangs", "a key without a ttl", "", "hangs"}, {4, "leaks", "", "", "leaks"}, {4, "breaks", "", "", "breaks"},
	} {
		h := Steps[tt.step-1].HintAfter("more_5_test.go", "TestX", tt.how, tt.shows, tt.says)
		require.Equal(t, tt.want == "none", !slices.Contains(h.Of, tt.want), "%+v", tt)
	}
}
