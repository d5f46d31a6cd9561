package browser

import (
	"path/filepath"
	"strings"
	"testing"
)

// A challenge names the level and the number of moves, but not the moves. Its page shows
// the number, and after a victory how it compares.
func TestAChallenge_HasNoScheduleInIt(t *testing.T) {
	for _, address := range []string{server, "file://" + filepath.ToSlash(pageFile())} {
		b := open(t, address+"#03/slow/", desktop)
		b.unsure()
		b.must(second(b.choose("aAFba")))
		copied := func(id, write string) string {
			t.Helper()
			return eval[string](b, `new Promise(done => {
				Object.defineProperty(navigator, 'clipboard', {configurable: true, value: {writeText: text => { `+write+` }}});
				document.getElementById('`+id+`').click();
				setTimeout(() => done(document.getElementById('by-hand')?.value ?? ''), 50);
			})`)
		}
		link := copied("dare", `done(text)`)
		if want := address + "#03/slow?beat=5"; link != want {
			t.Fatalf("the challenge is %q, want %q", link, want)
		}
		if got := copied("result", `throw new Error('not allowed')`); !strings.HasPrefix(got, "I broke the SET NX EX lock in 5 moves.") || !strings.HasSuffix(got, link) {
			t.Errorf("without a clipboard, there to be copied by hand is %q", got)
		}

		friend := open(t, link, desktop)
		if got := friend.text("#challenge"); !strings.Contains(got, "in 5 moves") || friend.asks() {
			t.Errorf("the challenge says %q, and asks for a prediction: %v", got, friend.asks())
		}
		friend.must(second(friend.choose("aAFb")))
		friend.reload()
		friend.must(second(friend.choose("a")))
		if got := friend.text(".outcome.won"); !strings.Contains(got, "matched the 5 moves") {
			t.Errorf("after the victory, the card says %q", got)
		}
		friend.fine()
		b.fine()
	}
}
