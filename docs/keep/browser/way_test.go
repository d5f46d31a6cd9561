package browser

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// won are the shortest orders to the goals of the way.
var won = map[string]string{
	"00/none":          "abab",
	"01/crash-hold":    "aFbBb",
	"02/crash-waits":   "aaF",
	"02/crash-acquire": "aFbBb",
	"03/slow":          "aAFba",
	"04/slow":          "aAaFba",
	"05/nested":        "aabba",
	"06/slow":          "aFbBA",
	"07/slow":          "aFb",
	"07/failover":      "aFb",
	"07/pause":         "abFBbBA",
	"08/down-1":        "a1Fa2",
	"08/restart":       "a1a2b3Fb1",
	"09/pause":         "aFbA",
}

// wonHard are those of the hard levels.
var wonHard = map[string]string{
	"02/late-write":   "aaFabbBW",
	"04/failover":     "aAaFba",
	"04/late-write":   "aFaabBW",
	"02/restart-late": "aaFBbb",
	"07/pause-waits":  "abFbb",
	"07/deleted":      "aFbBA",
	"04/resent":       "aAaFaba",
	"02/resent-waits": "aaAFaba",
	"08/pause":        "a1a2b1b2FBb1b2",
	"04/late-reply":   "bBbaFAab",
	"08/deleted":      "a1a2b1Fb2b3Bb2b3A",
	"08/clock":        "a1a2b2Fb1b3Bb1b3A",
	"08/failover":     "a1a2b2Fb1b3Bb1b3A",
	"08/late-write":   "a1a2Fa1a2a3a3b1b2BW",
	"08/healing":      "a1a2b1b2FBb1b2b3b3Bb1b3T",
}

// From the menu to the medal, the course is read and played by keyboard and by click. The
// row that matters and the card are in view, the card has the focus and is announced, and
// Enter, or its button, leads on.
func TestTheCourse_IsPlayedToItsEnd(t *testing.T) {
	t.Parallel()
	for _, v := range []view{
		{"keyboard", 1280, 720, "light"}, {"keyboard on a phone", 358, 740, "dark"}, {"clicks", 750, 900, "dark"}, {"clicks on a phone", 358, 740, "light"},
	} {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			b := visit(t, server, v)
			b.emulate("prefers-reduced-motion", "reduce") // the pictures of the beats are there at once
			b.clicks = strings.HasPrefix(v.name, "clicks")
			b.leads(`document.getElementById('start').click()`)
			for _, c := range data.Chapters {
				require.Equal(t, fmt.Sprintf("#%d", c.Step), b.hash())
				for i, beat := range c.Beats {
					b.arrives(i)
					if beat.Ask != "" {
						b.answers(beat.Ask, i)
					}
					last := i == len(c.Beats)-1
					if beat.Level != "" {
						b.turn(beat.Level)
					}
					if !last {
						b.onward()
					}
				}
				b.next()
			}
			assert.Equal(t, "", strings.TrimPrefix(b.hash(), "#"))
			assert.True(t, b.has(".medal"), "14 of 14 has an end")
			assert.Equal(t, 15, eval[int](b, `document.querySelectorAll('.hard a').length`))
			assert.False(t, b.has("#start"))
		})
	}
}

// arrives waits until a beat is read, and looks whether its text is in view.
func (b *tab) arrives(i int) {
	b.t.Helper()
	require.Equal(b.t, i, eval[int](b, fmt.Sprintf(`new Promise(done => { const look = n => { const at = Number(document.querySelector('.beat.read').dataset.beat); at === %d || n > 100 ? done(at) : setTimeout(look, 20, n + 1); }; look(0); })`, i)), "the beat that is read in %s", b.hash())
	assert.True(b.t, eval[bool](b, `(() => {
		const read = document.querySelector('.beat.read'), head = read.querySelector('h1, h2').getBoundingClientRect(), picture = document.getElementById('picture').getBoundingClientRect();
		const below = innerWidth <= 860 ? picture.bottom : 0;
		return head.top >= below && head.bottom < innerHeight && picture.top >= 0 && picture.bottom <= innerHeight;
	})()`), "%s, beat %d: its head or the picture is not in view", b.hash(), i+1)
}

// answers gives the right answer to a question, and sees it play.
func (b *tab) answers(right string, i int) {
	b.t.Helper()
	n := strings.Index("abc", right) + 1
	b.press(fmt.Sprintf(".read .ask button:nth-child(%d)", n), fmt.Sprint(n))
	assert.NotEmpty(b.t, b.text(".read .answer"), "%s, beat %d", b.hash(), i+1)
	assert.True(b.t, b.has(fmt.Sprintf(".read .ask button:nth-child(%d).right", n)))
	assert.False(b.t, b.has(".read .ask .wrong"))
}

// turn plays the level of the beat that is read.
func (b *tab) turn(id string) {
	b.t.Helper()
	b.plays(won[id])
	title := b.text(".outcome h2")
	best := regexp.MustCompile(`in (\d+) moves \(best: (\d+)\)`).FindStringSubmatch(title)
	assert.True(b.t, strings.HasPrefix(title, "★") && best != nil && best[1] == best[2], "%s: the card says %q", id, title)
	assert.NotEmpty(b.t, b.text(".outcome .reason"), "%s: the card does not say why", id)
	assert.Equal(b.t, "", eval[string](b, `(() => {
		const card = document.querySelector('.outcome'), bar = document.querySelector('.figure').getBoundingClientRect();
		const hidden = [], seen = (name, e) => { const r = e.getBoundingClientRect(), at = document.elementFromPoint(r.left + 20, r.top + Math.min(r.height / 2, 20)); if (!(r.top >= 0 && r.bottom <= innerHeight && e.contains(at))) hidden.push(name); };
		seen('title', card.querySelector('h2'));
		seen('reason', card.querySelector('.reason'));
		seen('next', card.querySelector('#next'));
		const box = document.getElementById('picture').getBoundingClientRect(), marks = document.querySelectorAll('#picture .band.bad, #picture circle'), mark = [...marks].at(-1).getBoundingClientRect();
		if (mark.top < box.top || mark.bottom > box.bottom || box.top < 0 || box.bottom > innerHeight) hidden.push('the last row of the picture');
		if (document.activeElement !== card) hidden.push('focus');
		return hidden.join(', ');
	})()`), "%s: not in view", id)
	assert.Contains(b.t, b.text("#said"), strings.TrimPrefix(b.text(".outcome .reason"), " "), "%s: announced", id)
}

// onward goes to the next beat.
func (b *tab) onward() {
	b.t.Helper()
	switch {
	case !b.clicks:
		b.key("\r")
	case b.has("#next"):
		b.click("#next")
	default:
		b.click("#down")
	}
}

// next goes where the card of a level leads.
func (b *tab) next() {
	b.t.Helper()
	before := b.hash()
	if b.clicks {
		b.click("#next")
	} else {
		b.key("\r")
	}
	eval[bool](b, fmt.Sprintf(`new Promise(done => { const look = n => location.hash !== %q || n > 100 ? setTimeout(done, 30, true) : setTimeout(look, 20, n + 1); look(0); })`, before))
}

// beatWith is the first beat of a chapter in which something is.
func (b *tab) beatWith(selector string) int {
	b.t.Helper()
	return eval[int](b, fmt.Sprintf(`[...document.querySelectorAll('.beat')].findIndex(e => e.querySelector(%q))`, selector))
}

// toBeat goes on to a beat.
func (b *tab) toBeat(n int) {
	b.t.Helper()
	for eval[int](b, `Number(document.querySelector('.beat.read').dataset.beat)`) < n {
		b.click("#down")
	}
	b.playedOut()
}

// playedOut waits until the picture has played.
func (b *tab) playedOut() {
	b.t.Helper()
	eval[bool](b, `new Promise(done => { const s = document.getElementById('scrub'), look = n => s.value === s.max || n > 400 ? done(true) : setTimeout(look, 50, n + 1); look(0); })`)
}

// allSolved lets the browser remember that.
func (b *tab) allSolved() {
	b.t.Helper()
	solved := map[string]string{}
	for id := range won {
		solved[id] = "broken"
	}
	js, err := json.Marshal(map[string]any{"levels": solved})
	b.must(err)
	eval[any](b, fmt.Sprintf(`localStorage.setItem('redislock-play', %q)`, js))
}

// The arrow keys alone read a chapter: a row of the picture with each, and then the next beat.
func TestAChapter_IsReadWithOneKey(t *testing.T) {
	t.Parallel()
	b := visit(t, server+"#4", desktop)
	b.emulate("prefers-reduced-motion", "reduce")
	want := b.beatWith(".slot")
	for n := 0; n < 100 && eval[int](b, `Number(document.querySelector('.beat.read').dataset.beat)`) < want; n++ {
		b.key(kb.ArrowRight)
	}
	b.arrives(want)
	b.key("1u")
	assert.Equal(t, want, eval[int](b, `Number(document.querySelector('.beat.read').dataset.beat)`), "now it is the network's turn")
}

// A reader who scrolls reads what is in the middle of the window.
func TestAChapter_FollowsTheScroll(t *testing.T) {
	t.Parallel()
	for _, v := range []view{desktop, views[2]} {
		b := visit(t, server+"#4", v)
		for i := range 6 {
			eval[any](b, fmt.Sprintf(`scrollTo(0, document.querySelectorAll('.beat')[%d].getBoundingClientRect().top + scrollY - innerHeight * (innerWidth > 860 ? .3 : .6))`, i))
			b.arrives(i)
		}
	}
}

// A reader who presses buttons at random learns nothing, and so should not get far; nor one who
// undoes whenever the page says that it is too late.
func TestTheLevels_AreNotWonAtRandom(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile(repository + "/docs/play/page/data.mjs")
	require.NoError(t, err)
	level, err := os.ReadFile(repository + "/docs/play/page/level.mjs")
	require.NoError(t, err)
	patience := regexp.MustCompile(`patience: ([^,]+),`).FindSubmatch(level) // what the page does
	require.NotNil(t, patience)
	b := visit(t, server, desktop)
	list := eval[[]struct {
		Name            string
		Best            int
		Random, Undoing float64
	}](b, `(async () => {`+string(source)+strings.Replace(randomJS, "PATIENCE", string(patience[1]), 1)+`})()`)
	require.Len(t, list, len(won))
	for i, l := range list {
		t.Logf("%-16s best %d, at random %2.0f %%, undoing %3.0f %%", l.Name, l.Best, 100*l.Random, 100*l.Undoing)
		assert.Equal(t, len(labelsOf(won[l.Name])), l.Best, l.Name)
		if i >= 2 { // the first two are to be won
			assert.LessOrEqual(t, max(l.Random, l.Undoing), .6, l.Name)
		}
	}
}

// labelsOf splits a name into its choices: a letter, and a digit for one of several nodes.
func labelsOf(name string) []string { return regexp.MustCompile(`[A-Za-z]\d*`).FindAllString(name, -1) }

// randomJS plays each level of the way 400 times with three times as many moves as it takes:
// at random, beginning again at the end; and undoing what the page calls a dead end, without
// trying an option twice at the same point.
const randomJS = `
	const data = await load(document.getElementById('data').textContent), graph = data.graph;
	let seed = 1;
	const random = n => { seed = (seed * 48271) % 2147483647; return seed % n; };
	return data.Path.map((p, place) => {
		const name = String(p.Step).padStart(2, '0') + '/' + p.Fault, cell = graph.cells.get(name), aim = graph.aim(p.Goal, p.After);
		const best = aim.along(cell, []).steps[0], patience = PATIENCE, open = state => graph.edges(state).filter(o => o.to !== Unexplored);
		const plays = undoes => {
			let path = [], tried = [new Set()];
			for (let moves = 0; moves < 3 * best;) {
				const state = path.length ? graph.to[path.at(-1)] : cell.State, {found} = aim.along(cell, path), n = path.length;
				const dead = undoes && n > 0 && (state < 0 || found[n] === 0 && found[Math.max(0, n - patience)] === 0);
				const left = state < 0 ? [] : open(state).filter(o => !undoes || !tried[n].has(o.edge));
				if (dead || left.length === 0) {
					if (undoes && n > 0) { path.pop(); tried.pop(); } else { path = []; tried = [new Set()]; }
					continue;
				}
				const {edge} = left[random(left.length)];
				tried[n].add(edge);
				path.push(edge);
				tried.push(new Set());
				moves++;
				if (aim.along(cell, path).at) return 1;
			}
			return 0;
		};
		const rate = undoes => { let sum = 0; for (let i = 0; i < 400; i++) sum += plays(undoes); return sum / 400; };
		return {Name: name, Best: best, Random: rate(false), Undoing: rate(true)};
	});`
