package browser

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// playable are the levels of the page.
func playable() (list []level) {
	for _, l := range data.Levels {
		for _, c := range data.Graph.Cells {
			if c.Name == l.name() {
				list = append(list, l)
			}
		}
	}
	return list
}

// solve plays a level by keyboard: the shortest way to break it, or any order if it holds,
// and then on to the end. It returns what is wrong.
func (b *tab) solve(l level) error {
	b.goTo("#" + l.name() + "/")
	labels := won[l.name()] + wonHard[l.name()]
	if l.Kinds != "" {
		labels = cmp.Or(labels, l.labels())
	}
	if err := b.choose(labels); err != nil {
		return err
	}
	if labels != "" && !b.has(".outcome.won, .outcome.held") {
		return fmt.Errorf("%s: the page does not say that the goal is reached: %q", l.ID, b.text("#outcome"))
	}
	for n := 0; n < 15 && !b.has("#choices .over"); n++ {
		b.key("1111")
	}
	id := strings.TrimPrefix(b.hash(), "#")
	if got, want := b.list(), replay(b.t, id, "en"); got != want {
		return fmt.Errorf("%s: the page says\n%s\nreplay says\n%s", id, got, want)
	}
	if labels == "" && !strings.Contains(b.text("#outcome"), "none breaks it") {
		return fmt.Errorf("%s: the page does not say that it holds: %q", id, b.text("#outcome"))
	}
	return nil
}

func TestEveryLevel_IsSolvedByKeyboard_AndTellsWhatReplayTells(t *testing.T) {
	t.Parallel()
	levels := playable()
	require.Greater(t, len(levels), 200)
	const tabs = 4 // each has five minutes, also while real servers take the processors
	for tab := range tabs {
		t.Run(fmt.Sprint(tab), func(t *testing.T) {
			t.Parallel()
			b := visit(t, server, desktop)
			solved := 0
			for i, l := range levels {
				if i%tabs == tab {
					assert.NoError(t, b.solve(l))
					solved++
				}
			}
			b.goTo("#")
			assert.Equal(t, fmt.Sprintf("%d of %d levels solved", solved, len(levels)), b.text("#progress"))
		})
	}
}

// What the page offers besides its levels: each in its own tab, with nothing remembered.
func TestThePage_DoesWhatItOffers(t *testing.T) {
	t.Parallel()
	ones := func(b *tab) { b.key(strings.Repeat("1", 20)) }
	for _, c := range []struct {
		what, at   string
		do         func(*tab)
		look, want string // a script, and a regular expression
	}{
		{"u undoes a move", "#05/pause/", func(b *tab) { b.plays("aFbBA"); b.key("uu") }, `location.hash`, "^#05/pause/aFb$"},
		{"an arrow plays it again", "#05/pause/", func(b *tab) { b.plays("aFbBA"); b.key("uu" + kb.ArrowRight + kb.ArrowRight) }, `location.hash`, "^#05/pause/aFbBA$"},
		{"the address is the schedule", "#05/pause/aFbBA", (*tab).reload, `document.getElementById('command').innerText`, "^go run ./docs/explore replay 05/pause/aFbBA$"},
		{"a fault comes after the first command", "#08/restart/", nil, `document.querySelector('.choice.fault[aria-disabled]').innerText`, "The fault can strike after the first command"},
		{"a fault names its node", "#08/restart/", func(b *tab) { b.plays("a1") }, `document.querySelector('.choice.fault:not([aria-disabled])').innerText`, "Node 1 restarts empty"},
		{"the first levels say at once that it is too late", "#00/none/aa", nil, `document.getElementById('h-choices').innerText`, "^From here no schedule breaks the lock: undo.$"},
		{"later ones wait for three moves", "#06/slow/aFA", nil, `document.getElementById('h-choices').innerText`, "^What happens next\\?$"},
		{"an undone move is counted", "#04/slow/", func(b *tab) { b.plays("aA"); b.key("u"); b.plays("AaFba") }, `document.querySelector('.outcome h2').innerText`, `in 6 moves \(best: 6\) 1 undone`},
		{"the shortest way has a star", "#04/slow/", func(b *tab) { b.plays("aAaFba") }, `document.querySelector('.outcome h2').innerText`, `^★ You broke`},
		{"the other client's mistake is not the goal", "#04/slow/bBbFab", nil, `document.getElementById('h-choices').innerText`, "but not as asked"},
		{"no such level", "#03/nothing", nil, `document.querySelector('.problem').innerText`, "There is no schedule"},
		{"an address that cannot be read", "", func(b *tab) { b.leads(`location.hash = '#%E0%A4%A'`) }, `document.querySelector('.problem').innerText`, "There is no schedule"},
		{"it tells the last chance", "#03/twice/", func(b *tab) { b.plays("ab"); ones(b) }, `document.querySelector('.outcome.missed').innerText`, "schedules break it"},
		{"and leads back to it", "#03/twice/", func(b *tab) { b.plays("ab"); ones(b); b.click("#goback") }, `document.getElementById('outcome').innerText`, "^$"},
		{"progress is kept", "#02/crash-hold/", func(b *tab) { ones(b); b.goTo("#"); b.reload() }, `document.getElementById('progress').innerText`, "^1 of "},
		{"progress can be cleared", "#02/crash-hold/", func(b *tab) { ones(b); b.goTo("#"); b.click("#clear"); b.click("#clear") }, `document.getElementById('progress').innerText`, "^0 of "},
		{"the code marks the line of each client", "#02/crash-acquire/a", nil, `[...document.querySelectorAll('.excerpt .hit')].map(e => e.textContent).join('')`, `(?s)SETNX.*PExpire|PExpire.*SETNX`},
		{"a row leads to its line of the lock", "#05/pause/aFbBAa", func(b *tab) { eval[any](b, `[...document.querySelectorAll('#timeline .line')].at(-1).click()`) }, `document.querySelector('.source details[open] .src.hit').innerText`, `^ *\d+\s+\S`},
		{"who is inside flashes", "#00/none/aba", func(b *tab) { b.click(".choice[data-label=b]") }, `document.getAnimations().map(a => a.animationName).join()`, "flash"},
		{"nothing moves if the reader wants that", "#00/none/aba", func(b *tab) { b.emulate("prefers-reduced-motion", "reduce"); b.click(".choice[data-label=b]") }, `document.getAnimations().map(a => a.animationName).join()`, "^$"},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			b := visit(t, server+c.at, desktop)
			if c.do != nil {
				c.do(b)
			}
			assert.Regexp(t, c.want, eval[string](b, c.look))
		})
	}
}

func TestHints_ShowTheWay_AndTheLevelIsNotSolved(t *testing.T) {
	t.Parallel()
	b := visit(t, server+"#03/slow/", desktop)
	for n := 0; n < 12 && !b.has(".outcome.won"); n++ {
		b.key("hhh")
		label := eval[string](b, `document.querySelector('.choice.hinted')?.dataset.label ?? ''`)
		require.NotEmpty(t, label, "three hints mark no choice: %q", b.text("#hints"))
		b.plays(label)
	}
	assert.Contains(t, b.text("#outcome"), "does not count as solved")
	b.goTo("#")
	assert.Equal(t, "?", eval[string](b, `document.querySelector('.cell[href="#03/slow/"]').textContent`))
}

// A challenge names the level and the number of moves, but not the moves. An address that only this
// machine has does not help a friend: then it is the command in a clone.
func TestAChallenge_HasNoScheduleInIt(t *testing.T) {
	t.Parallel()
	for _, address := range []string{server, onDisk} {
		b := visit(t, address+"#03/slow/", desktop)
		b.plays("aAFba")
		copied := func(id, write string) string {
			t.Helper()
			return eval[string](b, `new Promise(done => {
				Object.defineProperty(navigator, 'clipboard', {configurable: true, value: {writeText: text => { `+write+` }}});
				document.getElementById('`+id+`').click();
				setTimeout(() => done(document.getElementById('by-hand')?.value ?? ''), 50);
			})`)
		}
		const command = "go run ./docs/play 03/slow?beat=5"
		require.Equal(t, command, copied("dare", `done(text)`))
		byHand := copied("result", `throw new Error('not allowed')`)
		assert.Regexp(t, `(?s)^I broke the SET NX EX lock in 5 moves\..*`+regexp.QuoteMeta(command)+`$`, byHand, "without a clipboard")

		friend := visit(t, address+"#03/slow?beat=5", desktop)
		assert.Contains(t, friend.text("#challenge"), "in 5 moves")
		friend.plays("aAFb")
		friend.reload()
		friend.plays("a")
		assert.Contains(t, friend.text(".outcome.won"), "matched the 5 moves")
		assert.False(t, visit(t, address+"#03/slow?beat=1", desktop).has("#challenge"), "fewer moves than it takes")
	}
}

// What another page, or an older one, has left in the browser's storage closes no door.
func TestProgress_OfAnUnknownKind_IsIgnored(t *testing.T) {
	t.Parallel()
	for _, kept := range []string{`{"levels":{"01/crash-hold":"x","03/slow":"broken"},"language":5}`, `[]`, `7`, `{`, `{"levels":7}`} {
		b := visit(t, server, desktop)
		eval[any](b, fmt.Sprintf(`localStorage.setItem('redislock-play', %q)`, kept))
		b.reload()
		assert.True(t, b.has("#start"), kept)
		b.goTo("#01/crash-hold/")
		b.plays("aFbBb")
		assert.True(t, b.has(".outcome.won"), kept)
	}
}

func TestLeadersMode_HidesTheAnswer(t *testing.T) {
	t.Parallel()
	b := visit(t, server+"?lead#"+find(t, 3, "pause").ID, desktop)
	before := b.text("main")
	assert.NotContains(t, before, "wo clients are")
	assert.NotContains(t, before, "X: alice and bob")
	assert.Contains(t, before, "Press r")
	b.key("r")
	assert.Contains(t, b.text("#outcome"), "wo clients are inside at once")
}

func TestAnotherLanguage(t *testing.T) {
	t.Parallel()
	const english, chinese = "en Break this lock", "zh-CN 攻破这把锁"
	for _, address := range []string{server, onDisk} {
		b := visit(t, address, desktop)
		b.speaks(english)
		b.selects("#language", "zh-CN")
		b.speaks(chinese)
		b.reload()
		b.speaks(chinese) // remembered
		b.do(chromedp.Navigate(address + "?lang=en"))
		b.ready()
		b.speaks(english) // what the address says comes first
		b.selects("#language", "zh-CN")
		b.reload()
		b.speaks(chinese) // it has not been left behind in the address
	}
	for languages, want := range map[string]string{"zh-TW,en": chinese, "fr,zh": chinese, "fr,en,zh": english, "fr": english} {
		b := visit(t, server, desktop)
		_, err := chromedp.Call(b.ctx, emulation.SetUserAgentOverride, emulation.SetUserAgentOverrideParams{UserAgent: "test", AcceptLanguage: languages})
		b.must(err)
		b.reload()
		b.speaks(want) // the first language of the reader that the page has
	}
}

// In Chinese only commands and what they return are English, and links lead to the Chinese lessons.
func TestInChinese_AGameSaysNothingInEnglish(t *testing.T) {
	t.Parallel()
	l := find(t, 2, "slow")
	for _, v := range []view{desktop, views[2]} {
		t.Run(v.name, func(t *testing.T) {
			b := visit(t, server+"?lang=zh-CN#"+l.name()+"/", v)
			b.key("hhh")
			b.noEnglish("#hints")
			b.plays(l.labels())
			assert.Contains(t, b.text("#outcome"), "业务还没做完，租约就到期了")
			assert.Regexp(t, `step02_expire/README.zh-CN.md$`, eval[string](b, `document.querySelector('.crumbs a[href$=".md"]').getAttribute('href')`))
			b.fits("level")
			b.noEnglish("body")
			b.key("?")
			b.noEnglish("dialog")
			b.key("?")
			b.goTo("#")
			b.fits("menu")
			b.noEnglish("body")
			assert.Empty(t, b.axe())
		})
	}
}

// So does its picture. What a function returns is the output of a program. The list is what
// replay prints in Chinese, and of that TestWhatHappens_IsInChinese in docs/play/page.
func TestInChinese_ThePictureSaysNothingInEnglish_AndTheListIsThatOfReplay(t *testing.T) {
	t.Parallel()
	b := visit(t, server+"?lang=zh-CN", desktop)
	seen := 0
	for _, l := range playable() {
		if l.ID == "" {
			continue
		}
		b.goTo("#" + l.ID)
		told, list := replay(t, l.ID, "zh"), b.list()
		assert.True(t, strings.HasPrefix(told, list), "%s: the page says\n%s\nreplay says\n%s", l.ID, list, told)
		for _, text := range eval[[]string](b, `[...document.querySelectorAll('.diagram text')].map(e => e.textContent)`) {
			seen++
			text = regexp.MustCompile(`：.*|不再等 .* 的响应`).ReplaceAllString(text, "") // there is a command in it
			returned := strings.Contains(text, "→") || strings.HasPrefix(text, "ErrNotAcquired, ") || text == "context deadline exceeded"
			if !returned {
				assert.NotRegexp(t, threeWords, text, l.ID)
			}
		}
	}
	assert.Greater(t, seen, 1000, "labels")
}

// fits fails the test if the page is wider than the window.
func (b *tab) fits(state string) {
	b.t.Helper()
	wide := eval[float64](b, `document.documentElement.scrollWidth - document.documentElement.clientWidth`)
	assert.LessOrEqual(b.t, wide, 0.0, "%s: px wider than the window", state)
}

// speaks fails the test if the page is not in this language, with this title.
func (b *tab) speaks(want string) {
	b.t.Helper()
	assert.Equal(b.t, want, eval[string](b, `document.documentElement.lang + ' ' + document.querySelector('h1').innerText`))
}

var threeWords = regexp.MustCompile(`[a-z]+ [a-z]+ [a-z]+`)

// noEnglish fails the test if there is English in what is not the output of a program.
func (b *tab) noEnglish(selector string) {
	b.t.Helper()
	text := eval[string](b, fmt.Sprintf(`(() => {
		const copy = document.querySelector(%q).cloneNode(true);
		copy.querySelectorAll('script, style, noscript, svg, code, .row, #said').forEach(e => e.remove());
		copy.querySelectorAll('*').forEach(e => e.append('\n'));
		copy.querySelectorAll('[aria-label], [title]').forEach(e => copy.append('\n' + (e.getAttribute('aria-label') ?? e.title)));
		return copy.textContent.replace(/“[^”]*”/g, '');
	})()`, selector))
	assert.NotEmpty(b.t, text, selector)
	assert.Empty(b.t, threeWords.FindAllString(text, -1), selector)
}

var pictures = flag.Bool("pictures", false, "write docs/read/pictures/play*.png: the page after a victory, light and dark, in both languages")

// The pictures in the two READMEs show two clients inside, and what the page says of it.
func TestPictures_ShowAVictory(t *testing.T) {
	t.Parallel()
	for edition, query := range map[string]string{"": "", ".zh-CN": "?lang=zh-CN"} {
		for suffix, scheme := range map[string]string{"": "light", "-dark": "dark"} {
			name := "play" + edition + suffix
			b := visit(t, server+query+"#07/failover/", view{name, 1000, 640, scheme})
			b.plays("aFb")
			eval[any](b, `Promise.all(document.getAnimations().map(a => a.finished)).then(() => null)`)
			eval[any](b, `document.activeElement.blur(); scrollTo(0, document.querySelector('.crumbs').offsetTop - 60)`)
			shot, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
			b.must(err)
			assert.True(t, eval[bool](b, `document.querySelector('.outcome.won').getBoundingClientRect().top < innerHeight - 60`), "%s: the outcome is below the picture", name)
			if *pictures {
				b.must(os.WriteFile(filepath.Join(repository, "docs/read/pictures", name+".png"), shot, 0o666))
			}
		}
	}
}

// Readers who do not see the page, or not well, can use it: in all views, in each state.
func TestAxe_FindsNothing(t *testing.T) {
	t.Parallel()
	for _, v := range views {
		t.Run(v.name, func(t *testing.T) {
			b := visit(t, server, v)
			for _, state := range []struct {
				name  string
				enter func()
			}{
				{"menu", func() { b.goTo("#") }},
				{"chapter", func() { b.goTo("#4") }},
				{"question", func() { b.toBeat(b.beatWith(".ask")) }},
				{"answered", func() { b.click(".read .ask button"); b.playedOut() }},
				{"fix", func() { b.toBeat(b.beatWith("pre.fix")) }},
				{"turn", func() { b.toBeat(b.beatWith(".slot")) }},
				{"won in a chapter", func() { b.plays(won["04/slow"]) }},
				{"missed", func() { b.goTo("#03/twice/abAabA") }},
				{"holds", func() { b.goTo("#02/crash-hold/aFb") }},
				{"choices", func() { b.goTo("#04/slow/"); b.plays("a") }},
				{"broken", func() { b.goTo("#" + find(t, 8, "restart").ID) }},
				{"source", func() { b.click("#timeline .line") }},
				{"help", func() { b.key("?") }},
				{"medal", func() { b.key("?"); b.allSolved(); b.goTo("#"); b.reload() }},
			} {
				state.enter()
				assert.Empty(t, b.axe(), state.name)
				b.fits(state.name)
			}
		})
	}
}

// axe returns what axe-core finds. In the dark, only the colours are others.
func (b *tab) axe() []string {
	b.t.Helper()
	if !eval[bool](b, `'axe' in window`) {
		axe, err := os.ReadFile(axeFile)
		b.must(err)
		eval[any](b, string(axe)+";null")
	}
	return eval[[]string](b, `axe.run(`+b.rules+`).then(r => r.violations.map(v => v.id + ': ' + v.help + ': ' + v.nodes.slice(0, 3).map(n => n.target + ' ' + (n.any[0]?.message ?? '')).join(' | ')))`)
}

// A phone's buttons are large enough, and at its bottom.
func TestOnAPhone_TheButtonsAreAtTheBottom(t *testing.T) {
	t.Parallel()
	b := visit(t, server+"#08/restart/", views[2])
	b.plays("a1")
	assert.Empty(t, eval[[]string](b, `[...document.querySelectorAll('#choices button')].filter(c => c.getBoundingClientRect().height < 44).map(c => c.textContent)`), "less than 44 px high")
	assert.Zero(t, eval[float64](b, `innerHeight - document.querySelector('section.choices').getBoundingClientRect().bottom`), "px above the bottom")
}

// Wherever a phone has scrolled in the picture, it shows whose lane is which, and the tools.
func TestOnAPhone_LaneHeadsAndToolsStayInView(t *testing.T) {
	t.Parallel()
	b := visit(t, server, views[2])
	for schedule, over := range map[string]bool{"08/restart/a1a2b3F": false, "07/pause/abFBbB": false, "07/pause/abFBbBA": true} {
		b.goTo("#" + schedule)
		assert.Equal(t, over, b.has(".outcome.won"), schedule)
		hidden := eval[[]string](b, `(() => {
			const hidden = [], picture = document.getElementById('picture'), from = picture.getBoundingClientRect().top + scrollY;
			for (let y = from; y < from + picture.offsetHeight - 60; y += 40) {
				scrollTo(0, y);
				for (const e of [...document.querySelectorAll('.heads text'), ...document.querySelectorAll('.tools button')]) {
					const r = e.getBoundingClientRect();
					if (r.top < 0 || r.bottom > innerHeight) hidden.push(Math.round(y - from) + ': ' + e.textContent);
				}
			}
			const names = [...document.querySelectorAll('.heads text')].map(e => e.getBoundingClientRect()).sort((a, b) => a.left - b.left);
			names.forEach((r, i) => { if (i > 0 && r.left < names[i - 1].right) hidden.push('two names overlap'); });
			return hidden;
		})()`)
		assert.Empty(t, hidden, schedule)
	}
}

func find(t *testing.T, step int, fault string) level {
	t.Helper()
	i := slices.IndexFunc(data.Levels, func(l level) bool { return l.Step == step && l.Fault == fault })
	require.GreaterOrEqual(t, i, 0, "there is no level %02d/%s", step, fault)
	return data.Levels[i]
}
