package browser

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The page needs nothing but its file. A challenge names the level and the number of
// moves, but not the moves. Its page shows the number, and after a victory how it compares.
func TestAChallenge_HasNoScheduleInIt(t *testing.T) {
	for _, address := range []string{server, onDisk} {
		b := visit(t, address+"#03/slow/", desktop)
		b.unsure()
		b.plays("aAFba")
		copied := func(id, write string) string {
			t.Helper()
			return eval[string](b, `new Promise(done => {
				Object.defineProperty(navigator, 'clipboard', {configurable: true, value: {writeText: text => { `+write+` }}});
				document.getElementById('`+id+`').click();
				setTimeout(() => done(document.getElementById('by-hand')?.value ?? ''), 50);
			})`)
		}
		link := copied("dare", `done(text)`)
		require.Equal(t, address+"#03/slow?beat=5", link)
		byHand := copied("result", `throw new Error('not allowed')`)
		assert.Regexp(t, `(?s)^I broke the SET NX EX lock in 5 moves\..*`+regexp.QuoteMeta(link)+`$`, byHand, "without a clipboard")

		friend := visit(t, link, desktop)
		assert.Contains(t, friend.text("#challenge"), "in 5 moves")
		assert.False(t, friend.asks(), "for a prediction")
		friend.plays("aAFb")
		friend.reload()
		friend.plays("a")
		assert.Contains(t, friend.text(".outcome.won"), "matched the 5 moves")
	}
}
