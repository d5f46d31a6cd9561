package browser

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// won are the shortest orders to the goals of the way. The other levels of it hold.
var won = map[string]string{
	"00/none":          "abab",
	"01/crash-hold":    "aFbBb",
	"02/crash-acquire": "aFbBb",
	"03/slow":          "aAFba",
	"04/slow":          "aAaFba",
	"05/nested":        "aaa",
	"06/slow":          "aFbBA",
	"07/failover":      "aFb",
	"07/pause":         "abFBbBA",
	"08/restart":       "a1a2b3Fb1",
}

// From the menu to its last level, the way is played by keyboard and by click: the card is
// in view, it has the focus and is announced, and Enter, or its button, leads on.
func TestTheWay_IsPlayedToItsEnd(t *testing.T) {
	t.Parallel()
	for _, v := range []view{
		{"keyboard", 1280, 720, "light"}, {"clicks", 750, 900, "dark"}, {"clicks on a phone", 358, 740, "light"},
	} {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			b := visit(t, server, v)
			b.clicks = v.name != "keyboard"
			b.theWay()
		})
	}
}

func (b *tab) theWay() {
	b.t.Helper()
	b.leads(`document.getElementById('start').click()`)
	for i, p := range data.Path {
		id := fmt.Sprintf("%02d/%s", p.Step, p.Fault)
		require.Equal(b.t, "#"+id+"/", b.hash(), "level %d", i+1)
		assert.Equal(b.t, fmt.Sprintf("%d of %d", i+1, len(data.Path)), b.text("#place"), id)
		asks := b.asks()
		assert.Equal(b.t, i > 1, asks, "%s asks for a prediction", id)
		if asks {
			b.press(".prediction:nth-child(3)", "3")
		}
		labels, breaks := won[id]
		if breaks {
			b.plays(labels)
			title := b.text(".outcome.won h2")
			best := regexp.MustCompile(`in (\d+) moves \(best: (\d+)\)`).FindStringSubmatch(title)
			assert.True(b.t, best != nil && best[1] == best[2], "%s: the card says %q: %q", id, title, b.text("#outcome"))
			assert.True(b.t, i >= 12 || b.text("#there") != "", "%s: the card does not say which step fixes it: %q", id, b.text("#outcome"))
		} else {
			for n := 0; n < 60 && !b.has(".outcome"); n++ {
				b.press(".choice:not([aria-disabled])", "1")
			}
			assert.Contains(b.t, b.text(".outcome.held h2"), "holds", id)
		}
		assert.NotEmpty(b.t, b.text(".outcome .reason"), "%s: the card does not say why", id)
		assert.True(b.t, eval[bool](b, `(() => {
			const card = document.querySelector('.outcome'), last = document.querySelector('#next') ?? card.querySelector('button');
			const seen = e => { const r = e.getBoundingClientRect(), at = document.elementFromPoint(r.left + 20, r.top + r.height / 2); return r.top >= 0 && r.bottom <= innerHeight && e.contains(at); };
			return seen(card.querySelector('h2')) && seen(card.querySelector('.reason')) && seen(last) && document.activeElement === card;
		})()`), "%s: the card is not in view, or has not the focus", id)
		assert.Contains(b.t, b.text("#said"), strings.TrimPrefix(b.text(".outcome h2"), "✓ "), "%s: announced", id)
		switch {
		case i == len(data.Path)-1:
			assert.Contains(b.t, b.text("#outcome"), "the whole way")
		case b.clicks:
			b.leads(`document.getElementById('next').click()`)
		default:
			next := eval[string](b, `document.getElementById('next').getAttribute('href')`)
			b.key("\r")
			eval[bool](b, fmt.Sprintf(`new Promise(done => { const look = n => location.hash === %q || n > 100 ? setTimeout(done, 0, true) : setTimeout(look, 20, n + 1); look(0); })`, next))
		}
	}
	b.goTo("#")
	assert.Equal(b.t, len(data.Path), eval[int](b, `document.querySelectorAll('.path .sign.broken, .path .sign.holds').length`), "levels solved")
}

// asks reports whether the level begins with a prediction.
func (b *tab) asks() bool { return b.has(".prediction") }

// unsure predicts nothing, if the level asks for it.
func (b *tab) unsure() {
	b.t.Helper()
	if b.asks() {
		b.key("3")
	}
}
