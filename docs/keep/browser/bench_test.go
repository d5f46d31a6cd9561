package browser

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// atBench visits the bench, where nothing moves if it is still.
func atBench(t *testing.T, address string, v view, still bool) *tab {
	t.Helper()
	b := visit(t, server+address, v)
	if still {
		b.emulate("prefers-reduced-motion", "reduce")
	}
	return b
}

// flips sets a switch: by click, or with the arrow keys on the group.
func (b *tab) flips(name string, setting int) {
	b.t.Helper()
	id := fmt.Sprintf("#bench-%s-%d", name, setting)
	if b.clicks {
		b.click(id)
		return
	}
	require.True(b.t, b.tabTo("input[name=bench-"+name+"]"), "Tab does not reach %s", name)
	for n := 0; n < 3 && !eval[bool](b, fmt.Sprintf(`document.querySelector(%q).checked`, id)); n++ {
		b.key(kb.ArrowRight)
	}
	assert.True(b.t, eval[bool](b, fmt.Sprintf(`document.activeElement.matches(%q)`, id)), "the focus has left %s", id)
}

func (b *tab) attacks() {
	b.t.Helper()
	if b.clicks {
		b.click("#bench-attack")
		return
	}
	require.True(b.t, b.tabTo("#bench-attack"), "Tab does not reach the attack")
	b.key("\r")
}

// board is the verdicts on it: ✗, ✓ or ? for each attack.
func (b *tab) board() string {
	b.t.Helper()
	return eval[string](b, `[...document.querySelectorAll('.bench-attacks button')].map(e => ({breaks: '✗', holds: '✓', open: '?'})[e.classList[0]]).join('')`)
}

var benches = []view{{"keyboard", 1280, 720, "light"}, {"clicks on a phone", 358, 780, "dark"}}

// A lock is built: each attack stays on the board and is judged again, what does not fit is
// greyed, and the last lock of the course holds against six of eight.
func TestTheBench_IsAttackedAndMended(t *testing.T) {
	t.Parallel()
	for _, v := range benches {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			b := atBench(t, "#build", v, true)
			b.clicks = v.width < 860
			require.Equal(t, "????????", b.board())
			assert.True(t, b.greyed("release", 2))
			assert.Contains(t, b.text("#bench-not-release"), "Without a token")
			b.attacks()
			require.Equal(t, "✗???????", b.board())
			assert.Contains(t, b.text(".bench-card.bad h2"), "Broken in 4 moves: two clients are inside at once")
			assert.Contains(t, b.text("#said"), "Broken in 4 moves")
			b.inView("two inside")
			b.flips("take", 1)
			require.Equal(t, "✓???????", b.board(), "judged again at once")
			assert.True(t, b.has("#bench-try-none.turned"), "its card turns over")
			assert.Contains(t, b.text("#said"), "Race: now the lock holds. holds against 1 of 8")
			assert.Equal(t, "#build/100000", b.hash())
			b.attacks()
			require.Equal(t, "✓✗??????", b.board(), "dead, and no ttl")
			b.flips("expiry", 1)
			b.attacks()
			require.Equal(t, "✓✓✗?????", b.board(), "between the two commands")
			assert.Equal(t, "  PEXPIRE key 10000", b.text("#bench-code mark"), "the line that has changed")
			b.flips("expiry", 2)
			b.attacks()
			require.Equal(t, "✓✓✓✗????", b.board(), "the ttl has a price")
			b.flips("value", 1)
			require.Equal(t, "✓✓✓✗????", b.board(), "a token that no one compares changes nothing")
			assert.Equal(t, []string{"  token = random()", "  if SET key token NX EX 10 fails {"}, eval[[]string](b, `[...document.querySelectorAll('#bench-code mark')].map(e => e.textContent)`), "the lines that have changed")
			assert.True(t, eval[bool](b, `(lines => new Set(lines.map(e => e.getBoundingClientRect().top)).size === lines.length)([...document.querySelectorAll('#bench-code > *')])`), "each on its own line")
			b.flips("watchdog", 1)
			require.Contains(t, b.text("#bench-card"), "another owner’s lock is deleted", "a watchdog does not save a DEL that asks no one")
			b.flips("release", 2)
			require.Equal(t, "✓✓✓✓????", b.board())
			b.attacks()
			require.Equal(t, "✓✓✓✓✗???", b.board())
			b.flips("replies", 1)
			b.attacks()
			require.Equal(t, "✓✓✓✓✓✗??", b.board())
			b.flips("nesting", 1)
			b.attacks()
			b.attacks()
			require.Equal(t, "✓✓✓✓✓✓✗✗", b.board())
			assert.Equal(t, "#build/07", b.hash())
			assert.Contains(t, b.text("#bench-card"), "Two attacks are left")
			b.flips("copies", 1)
			assert.Contains(t, b.text("#bench-card"), "no switch of the lock turns them green")
			assert.Contains(t, b.text("#bench-score"), "holds against 6 of 8 attacks")
			assert.Equal(t, "true", eval[string](b, `document.getElementById('bench-attack').getAttribute('aria-disabled')`))
			b.flips("value", 0)
			assert.Equal(t, "#build/120010", b.hash(), "what does not fit any more is set back")
			assert.Contains(t, b.text("#said"), "Release: set back.")
			b.fits("bench")
		})
	}
}

func (b *tab) greyed(name string, setting int) bool {
	b.t.Helper()
	return eval[bool](b, fmt.Sprintf(`document.getElementById('bench-%s-%d').disabled`, name, setting))
}

// inView fails the test if the moment of the break is not in view, or the board that judges it.
func (b *tab) inView(what string) {
	b.t.Helper()
	assert.Empty(b.t, eval[[]string](b, `[...document.querySelectorAll('#bench-board, #bench-picture .band.bad')].flatMap(e => {
		const r = e.getBoundingClientRect(), seen = document.elementFromPoint(r.left + r.width / 2, r.top + Math.min(r.height - 4, 14));
		return r.top >= 0 && r.bottom <= innerHeight && seen && e.parentElement.contains(seen) ? [] : [e.id + e.getAttribute('class') + ' ' + r.top + ' ' + r.bottom];
	})`), what)
}

// The attack plays row by row, and then the card says what went wrong.
func TestAnAttack_PlaysRowByRow(t *testing.T) {
	t.Parallel()
	for _, v := range benches {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			b := atBench(t, "#build", v, false)
			heights := eval[[]float64](b, `new Promise(done => {
				const heights = [];
				document.getElementById('bench-attack').click();
				const look = () => {
					const height = document.querySelector('#bench-picture > svg').getBoundingClientRect().height;
					if (height !== heights.at(-1)) heights.push(height);
					document.querySelector('.bench-card.bad') ? done(heights) : setTimeout(look, 50);
				};
				look();
			})`)
			assert.Greater(t, len(heights), 5)
			assert.IsIncreasing(t, heights)
			b.inView("the last row")
			b.click("#bench-again")
			b.goTo("#") // in the middle of it
			eval[any](b, `new Promise(done => setTimeout(done, 900))`)
			assert.True(t, b.has(".menu"))
		})
	}
}

// On a phone the board stays in view above the switches.
func TestOnAPhone_TheBoardStaysInView(t *testing.T) {
	t.Parallel()
	b := atBench(t, "#build/120100", views[2], true)
	b.click("#bench-attack")
	for _, name := range []string{"release", "resource"} {
		eval[any](b, fmt.Sprintf(`document.getElementById('bench-%s-0').parentElement.scrollIntoView({block: 'center'})`, name))
		b.click("#bench-take-1")
		box := eval[[]float64](b, `(() => { const r = document.getElementById('bench-board').getBoundingClientRect(); return [r.top, r.bottom]; })()`)
		assert.Zero(t, box[0], name)
		assert.Less(t, box[1], 240.0, name)
	}
	assert.Empty(t, eval[[]string](b, `[...document.querySelectorAll('.bench button, .bench-settings label')].filter(e => e.offsetHeight < 44).map(e => e.textContent)`), "less than 44 px high")
}

// What the page plays of each cell ends with what the board says of it, and replay says the same.
func TestEveryAttackOfTheBench_EndsWithItsVerdict(t *testing.T) {
	t.Parallel()
	b := atBench(t, "#build", desktop, true)
	bench := data.Bench
	require.Len(t, bench.Cells, len(bench.Locks)*len(bench.Attacks))
	require.Len(t, bench.Attacks, 8)
	replayed := map[string]string{}
	for i, lock := range bench.Locks {
		b.goTo("#build/" + strings.TrimPrefix(lock, "build/"))
		told := eval[[]map[string]string](b, `[...document.querySelectorAll('.bench-attacks button')].map(({id}) => {
			document.getElementById(id).click();
			const text = s => document.querySelector(s)?.textContent ?? '';
			return {board: text('#' + id + ' .verdict'), title: text('.bench-card h2'), rows: [...document.querySelectorAll('#bench-text .row')].map(r => r.textContent + '\n').join(''), command: text('#bench-command')};
		})`)
		for n, attack := range bench.Attacks {
			c, is, name := bench.Cells[i*8+n], told[n], lock+"/"+attack
			if c.Kinds == "" {
				assert.Equal(t, fmt.Sprintf("✓ all %d", c.All), is["board"], name)
				assert.Empty(t, is["rows"], name)
				continue
			}
			verdict := regexp.MustCompile(`\*\* ([A-Z]): [^\n]*\n(?: {10}[^\n]*\n)*$`).FindStringSubmatch(is["rows"])
			id := regexp.MustCompile(`^go run \./docs/explore replay (` + name + `/((?:F?[abAB][123]?_*|F|T|W)+))$`).FindStringSubmatch(is["command"])
			if assert.NotNil(t, verdict, "%s ends with no verdict: %s", name, is["rows"]) && assert.NotNil(t, id, is["command"]) {
				assert.Contains(t, c.Kinds, verdict[1], name)
				kind := eval[string](b, fmt.Sprintf(`JSON.parse(document.getElementById('words').textContent).en['kind.%s']`, verdict[1]))
				moves := strings.TrimSuffix(strings.TrimPrefix(is["board"], "✗ "), " moves")
				assert.Equal(t, "✗ Broken in "+moves+" moves: "+kind, is["title"], name)
				replayed[verdict[1]+attack] = id[1] + "\n" + is["rows"]
			}
		}
	}
	require.Greater(t, len(replayed), 10)
	for _, shown := range replayed {
		id, want, _ := strings.Cut(shown, "\n")
		assert.True(t, strings.HasPrefix(replay(t, id, "en"), want), "%s: the page says\n%s\nreplay says\n%s", id, want, replay(t, id, "en"))
	}
}

func TestAnAddress_IsALock(t *testing.T) {
	t.Parallel()
	b := atBench(t, "#build/08", desktop, true)
	for hash, want := range map[string]string{"#build/08": "121211110", "#build/09": "121201001", "#build/121100": "121100000", "#build/120100": "000000000", "#build/7": "000000000", "#build/06": "121201100"} {
		b.goTo(hash)
		assert.Equal(t, want, eval[string](b, `[...document.querySelectorAll('.bench input:checked')].map(e => e.id.at(-1)).join('')`), hash)
	}
	b.goTo("#build/07")
	b.click("#bench-try-pause")
	b.leads(`document.querySelector('.bench-card a.button').click()`)
	assert.Regexp(t, `^#07/pause/\w+$`, b.hash(), "a lock of the course can be played")
	b.goTo("#build")
	assert.Contains(t, b.text("#bench-try-pause"), "✗", "what was tried stays on the board")
	b.click("#bench-attack")
	assert.Equal(t, "✓✓✓✓✓✓✗✗", b.board(), "what held on the way to the next that breaks is known, too")
	assert.Contains(t, b.text(".bench-card h2"), "Broken in 3 moves")
	assert.Contains(t, b.text(".bench-card"), "Two attacks are left")
}

func TestAxe_FindsNothingAtTheBench(t *testing.T) {
	t.Parallel()
	for _, v := range views {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			for _, language := range []string{"en", "zh-CN"} {
				b := atBench(t, "?lang="+language+"#build", v, true)
				for _, state := range []struct {
					name  string
					enter func()
				}{
					{"begin", func() {}},
					{"broken", func() { b.click("#bench-attack") }},
					{"held", func() { b.click("#bench-take-1") }},
					{"text", func() { b.goTo("#build/08"); b.click("#bench-try-failover"); b.click("#bench-text summary") }},
					{"all tried", func() { b.click("#bench-attack"); b.click("#bench-attack"); b.click("#bench-attack") }},
				} {
					state.enter()
					assert.Empty(t, b.axe(), "%s %s", language, state.name)
					b.fits(state.name)
					if language == "zh-CN" {
						b.noEnglish("body")
					}
				}
			}
		})
	}
}
