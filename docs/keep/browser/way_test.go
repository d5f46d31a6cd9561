package browser

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
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
	for _, v := range []view{{"1280", 1280, 720, "light"}, {"750", 750, 900, "dark"}, {"358", 358, 740, "light"}} {
		for _, hand := range []string{"keyboard", "click"} {
			t.Run(v.name+" by "+hand, func(t *testing.T) {
				t.Parallel()
				b := open(t, server, v)
				b.theWay(hand == "click")
				b.fine()
			})
		}
	}
}

func (b *tab) theWay(click bool) {
	b.t.Helper()
	b.leads(`document.getElementById('start').click()`)
	for i, p := range data.Path {
		id := fmt.Sprintf("%02d/%s", p.Step, p.Fault)
		if got := b.hash(); got != "#"+id+"/" {
			b.t.Fatalf("level %d is %s, want %s", i+1, got, id)
		}
		if got, want := b.text("#place"), fmt.Sprintf("%d of %d", i+1, len(data.Path)); got != want {
			b.t.Errorf("%s says that it is %q, want %q", id, got, want)
		}
		if asks := b.asks(); asks != (i > 1) {
			b.t.Errorf("%s asks for a prediction: %v", id, asks)
		} else if asks {
			b.press(".prediction:nth-child(3)", "3", click)
		}
		labels, breaks := won[id]
		if breaks {
			b.must(second(b.chooseBy(labels, click)))
		} else {
			for range 60 {
				if eval[bool](b, `document.querySelector('.outcome') !== null`) {
					break
				}
				b.press(".choice:not([aria-disabled])", "1", click)
			}
		}
		kind := map[bool]string{true: ".outcome.won", false: ".outcome.held"}[breaks]
		title := b.text(kind + " h2")
		if best := regexp.MustCompile(`in (\d+) moves \(best: (\d+)\)`).FindStringSubmatch(title); breaks && (best == nil || best[1] != best[2]) || !breaks && !strings.Contains(title, "holds") {
			b.t.Errorf("%s: the card says %q: %q", id, title, b.text("#outcome"))
		}
		if b.text(kind+" .reason") == "" {
			b.t.Errorf("%s: the card does not say why", id)
		}
		if breaks && i < 12 && b.text("#there") == "" {
			b.t.Errorf("%s: the card does not say which step fixes it: %q", id, b.text("#outcome"))
		}
		if in := eval[bool](b, `(() => {
			const card = document.querySelector('.outcome'), last = document.querySelector('#next') ?? card.querySelector('button');
			const seen = e => { const r = e.getBoundingClientRect(), at = document.elementFromPoint(r.left + 20, r.top + r.height / 2); return r.top >= 0 && r.bottom <= innerHeight && e.contains(at); };
			return seen(card.querySelector('h2')) && seen(card.querySelector('.reason')) && seen(last) && document.activeElement === card;
		})()`); !in {
			b.t.Errorf("%s: the card is not in view, or has not the focus", id)
		}
		if got := b.text("#said"); !strings.Contains(got, strings.TrimPrefix(title, "✓ ")) {
			b.t.Errorf("%s: announced is %q", id, got)
		}
		if got, want := b.list(), replay(b.t, strings.TrimPrefix(b.hash(), "#")); got != want && !strings.HasPrefix(want, got) {
			b.t.Errorf("%s: the page says\n%s\nreplay says\n%s", id, got, want)
		}
		switch {
		case i == len(data.Path)-1:
			if got := b.text("#outcome"); !strings.Contains(got, "the whole way") {
				b.t.Errorf("at the end, the card says %q", got)
			}
		case click:
			b.leads(`document.getElementById('next').click()`)
		default:
			next := eval[string](b, `document.getElementById('next').getAttribute('href')`)
			b.key("\r")
			eval[bool](b, fmt.Sprintf(`new Promise(done => { const look = n => location.hash === %q || n > 100 ? setTimeout(done, 0, true) : setTimeout(look, 20, n + 1); look(0); })`, next))
		}
	}
	b.goTo("#")
	if got := eval[int](b, `document.querySelectorAll('.path .sign.broken, .path .sign.holds').length`); got != len(data.Path) {
		b.t.Errorf("%d levels of the way are solved, want %d", got, len(data.Path))
	}
}

// asks reports whether the level begins with a prediction.
func (b *tab) asks() bool { return eval[bool](b, `document.querySelector('.prediction') !== null`) }

// unsure predicts nothing, if the level asks for it.
func (b *tab) unsure() {
	b.t.Helper()
	if b.asks() {
		b.key("3")
	}
}

func (b *tab) press(selector, key string, click bool) {
	b.t.Helper()
	if click {
		eval[any](b, fmt.Sprintf(`document.querySelector(%q).click()`, selector))
	} else {
		b.key(key)
	}
}

func (b *tab) chooseBy(labels string, click bool) (string, error) {
	if !click {
		return b.choose(labels)
	}
	return "", errorOf(eval[string](b, fmt.Sprintf(`(() => {
		let labels = %q;
		while (labels !== '') {
			const c = [...document.querySelectorAll('#choices .choice:not([aria-disabled])')].filter(c => labels.startsWith(c.dataset.label)).sort((a, b) => b.dataset.label.length - a.dataset.label.length)[0];
			if (!c) return 'there is no choice for ' + labels;
			labels = labels.slice(c.dataset.label.length);
			c.click();
		}
		return '';
	})()`, labels)))
}

func errorOf(text string) error {
	if text == "" {
		return nil
	}
	return fmt.Errorf("%s", text)
}
