package browser

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

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
	labels := ""
	if l.Kinds != "" {
		labels = cmp.Or(won[l.name()], l.labels())
	}
	b.unsure()
	if err := b.choose(labels); err != nil {
		return err
	}
	if l.Kinds != "" && !b.has(".outcome.won") {
		return fmt.Errorf("%s: the page does not say that it is broken: %q", l.ID, b.text("#outcome"))
	}
	for n := 0; n < 15 && !b.has("#choices .over"); n++ {
		b.key("1111")
	}
	id := strings.TrimPrefix(b.hash(), "#")
	if got, want := b.list(), replay(b.t, id); got != want {
		return fmt.Errorf("%s: the page says\n%s\nreplay says\n%s", id, got, want)
	}
	if l.Kinds == "" && !strings.Contains(b.text("#outcome"), "none breaks it") {
		return fmt.Errorf("%s: the page does not say that it holds: %q", id, b.text("#outcome"))
	}
	return nil
}

func TestEveryLevel_IsSolvedByKeyboard_AndTellsWhatReplayTells(t *testing.T) {
	levels := playable()
	require.Greater(t, len(levels), 200)
	for half := range 2 { // two tabs, one for each processor
		t.Run(fmt.Sprint(half), func(t *testing.T) {
			t.Parallel()
			b := visit(t, server, desktop)
			solved := 0
			for i, l := range levels {
				if i%2 == half {
					assert.NoError(t, b.solve(l))
					solved++
				}
			}
			b.goTo("#")
			assert.Equal(t, fmt.Sprintf("%d of %d levels solved", solved, len(levels)), b.text("#progress"))
		})
	}
}

func TestUndo_Branches_AndTheAddress(t *testing.T) {
	b := enter(t, "05/pause/", desktop)
	b.plays("aFbBA")
	require.Equal(t, "#05/pause/aFbBA", b.hash())
	all := b.list()
	b.key("uu")
	assert.Equal(t, "#05/pause/aFb", b.hash())
	b.key(kb.ArrowRight + kb.ArrowRight)
	assert.Equal(t, all, b.list(), "undone and done again")
	b.key(kb.ArrowLeft + kb.ArrowLeft + kb.ArrowLeft)
	b.plays("A")
	assert.Equal(t, "#05/pause/aFA", b.hash(), "the other branch")
	branch := eval[string](b, `document.querySelector('.branch').getAttribute('aria-label')`)
	assert.Contains(t, branch, "aFbBA", "the branch that was left")
	assert.Contains(t, branch, "broken")
	b.click(".branch")
	assert.Equal(t, all, b.list(), "the branch")
	b.reload()
	assert.Equal(t, all, b.list(), "loaded again")
	assert.Equal(t, "go run ./docs/explore replay 05/pause/aFbBA", b.text("#command"))
}

func TestAName_OpensItsSchedule(t *testing.T) {
	b := visit(t, server, desktop)
	submit := func(name string) {
		eval[any](b, fmt.Sprintf(`document.getElementById('paste').value = %q; document.querySelector('.open form').requestSubmit()`, name))
	}
	submit("03/nothing/aF")
	assert.Contains(t, b.text(".open"), "There is no schedule")
	submit("go run ./docs/explore replay 03/slow/aFbAa")
	assert.Equal(t, "#03/slow/aFbAa", b.hash())
}

func TestHints_ShowTheWay_AndTheLevelIsNotSolved(t *testing.T) {
	b := enter(t, "03/slow/", desktop)
	for n := 0; n < 12 && !b.has(".outcome.won"); n++ {
		b.key("hhh")
		label := eval[string](b, `document.querySelector('.choice.hinted')?.dataset.label ?? ''`)
		require.NotEmpty(t, label, "three hints mark no choice: %q", b.text("#hints"))
		b.plays(label)
	}
	assert.Contains(t, b.text("#outcome"), "does not count as solved")
	b.goTo("#")
	assert.Equal(t, "shown", b.text(`a[href="#03/slow/"] .sign`))
}

func TestProgress_IsKept_AndCanBeCleared(t *testing.T) {
	b := enter(t, "02/crash-hold/", desktop)
	b.key("1111111111")
	b.goTo("#")
	assert.Equal(t, "✓ holds", b.text(`a[href="#02/crash-hold/"] .sign`))
	b.reload()
	assert.Regexp(t, "^1 of ", b.text("#progress"), "loaded again")
	b.click("#clear")
	b.click("#clear")
	assert.Regexp(t, "^0 of ", b.text("#progress"), "cleared")
}

func TestWhatIsLost_SaysWhereTheLastChanceWas(t *testing.T) {
	b := enter(t, "03/twice/", desktop)
	b.plays("ab")
	b.key(strings.Repeat("1", 20))
	require.Contains(t, b.text(".outcome.missed"), "schedules break it")
	require.NotEmpty(t, b.text("#goback"))
	b.click("#goback")
	assert.Empty(t, b.text("#outcome"), "it has not gone back")
}

func TestTheSameSchedule_BesideAnotherLock(t *testing.T) {
	b := enter(t, "03/late-reply/", desktop)
	b.goTo("#03/slow/aFbAa")
	b.click("#comparing")
	assert.Contains(t, b.text("#compare"), "step 07")
	marked := eval[[]string](b, `[...document.querySelectorAll('#compare .differs .row')].map(r => r.textContent.trim())`)
	require.Len(t, marked, 2, "the rows that differ")
	assert.Contains(t, marked[0], "the TTL expired: alice's lock is gone")
	assert.Contains(t, marked[1], "bob    TryLock -> ErrNotAcquired")
	b.selects("#compare select", "5")
	assert.Contains(t, b.text("#compare"), "step 05")
	b.leads(`document.querySelector('#compare a.button').click()`)
	assert.Regexp(t, "^#05/slow/", b.hash(), "to continue")
}

func TestARow_LeadsToItsLineOfTheLock(t *testing.T) {
	b := visit(t, server, desktop)
	for schedule, file := range map[string]string{"05/pause/aFbBAa": "step05_lua_release/lock.go", "08/slow/a1a2": "step08_redlock/nodes.go"} {
		b.goTo("#" + schedule)
		line := eval[string](b, `(() => { const l = [...document.querySelectorAll('#timeline .line')].at(-1); l.click(); return l.textContent; })()`)
		name, number, _ := strings.Cut(line, ":")
		assert.Equal(t, filepath.Base(file), cmp.Or(name, "lock.go"), "%s: the last row leads to %q", schedule, line)
		want := b.lineOf(file, number)
		assert.NotEmpty(t, strings.TrimSpace(want))
		got := eval[string](b, `document.querySelector('.source details[open] .src.hit').textContent`)
		assert.True(t, strings.HasSuffix(strings.TrimRight(got, "\n"), want), "%s: line %s is %q, want %q", schedule, number, got, want)
	}
}

// lineOf is a line of a file of the repository.
func (b *tab) lineOf(file, number string) string {
	b.t.Helper()
	source, err := os.ReadFile(filepath.Join(repository, file))
	b.must(err)
	n, err := strconv.Atoi(number)
	b.must(err)
	return strings.Split(string(source), "\n")[n-1]
}

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

// A command moves to its node, and two who are inside flash: once, and not for readers who
// want no motion.
func TestMotion_OnlyWhereItIsWanted(t *testing.T) {
	for motion, want := range map[string]string{"no-preference": "flash travel", "reduce": ""} {
		b := visit(t, server+"#00/none/aba", desktop)
		b.emulate("prefers-reduced-motion", motion)
		moving := func(button string) string {
			return eval[string](b, `document.querySelector('`+button+`').click();
				[...new Set(document.getAnimations().map(a => a.animationName).filter(Boolean))].sort().join(' ')`)
		}
		assert.Equal(t, want, moving(".choice[data-label=b]"), motion)
		assert.Empty(t, moving("#hint"), "%s: drawn again", motion)
	}
}

// Below the choices are the lines at which the clients are. They are those of the files.
func TestTheCode_MarksTheLineOfEachClient(t *testing.T) {
	b := visit(t, server, desktop)
	for schedule, want := range map[string]string{
		// The data has no lines of this lock.
		"00/none/a":            "docs/step00 a:.Set( b:.Exists(",
		"02/crash-acquire/a":   "step02_expire a:.PExpire( b:\"SETNX\"",
		"02/crash-acquire/aF":  "step02_expire a:\"SETNX\" b:\"SETNX\"", // she died after that
		"04/slow/aAa":          "step04_owner_token a:.Del( b:.SetNX(",
		"04/slow/aAaFb":        "step04_owner_token a:.Del(",
		"08/restart/a1a2":      "step08_redlock a:acquireScript b:acquireScript",
		"08/restart/a1a2b3Fb1": "step08_redlock a:acquireScript b:acquireScript",
	} {
		b.goTo("#" + schedule)
		b.unsure()
		marks := strings.Fields(want)
		got := marks[0]
		for _, line := range eval[[]string](b, `[...document.querySelectorAll('.excerpt .hit')].flatMap(line => [...line.querySelectorAll('b')].map(who =>
			[who.textContent, line.closest('pre').getAttribute('aria-label'), line.querySelector('.nr').textContent.trim()].join(' '))).sort()`) {
			at := strings.Fields(line) // who, file, number
			text := b.lineOf(marks[0]+"/"+at[1], at[2])
			for _, mark := range marks[1:] {
				if part, ok := strings.CutPrefix(mark, at[0]+":"); ok && strings.Contains(text, part) {
					got += " " + mark
				}
			}
		}
		assert.Equal(t, want, got, "%s:\n%s", schedule, b.text("#code"))
		lines := eval[int](b, `Math.max(...[...document.querySelectorAll('.excerpt')].map(e => e.querySelectorAll('.nr').length))`)
		assert.True(t, 5 <= lines && lines <= 8, "%s: an excerpt of %d lines", schedule, lines)
	}
}

func TestLeadersMode_HidesTheAnswer(t *testing.T) {
	b := visit(t, server+"?lead#"+find(t, 3, "pause").ID, desktop)
	before := b.text("main")
	assert.NotContains(t, before, "wo clients are")
	assert.NotContains(t, before, "X: alice and bob")
	assert.Contains(t, before, "Press r")
	b.key("r")
	assert.Contains(t, b.text("#outcome"), "wo clients are inside at once")
}

func TestAnotherLanguage(t *testing.T) {
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

// In Chinese only what the programs print is English, and links lead to the Chinese lessons.
func TestInChinese_AGameSaysNothingInEnglish(t *testing.T) {
	l := find(t, 2, "slow")
	for _, v := range []view{desktop, views[2]} {
		t.Run(v.name, func(t *testing.T) {
			b := visit(t, server+"?lang=zh-CN#"+l.name()+"/", v)
			b.unsure()
			b.key("hhh")
			b.noEnglish("#hints")
			b.plays(l.labels())
			b.click("#comparing")
			assert.Contains(t, b.text("#outcome"), "业务还没做完，租约就到期了")
			assert.Contains(t, b.list(), "the TTL expired", "the list is what replay prints")
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

// So does its picture. What a function returns is the output of a program.
func TestInChinese_ThePictureSaysNothingInEnglish(t *testing.T) {
	b := visit(t, server+"?lang=zh-CN", desktop)
	seen := 0
	for _, l := range playable() {
		if l.ID == "" {
			continue
		}
		b.goTo("#" + l.ID)
		for _, text := range eval[[]string](b, `[...document.querySelectorAll('.diagram text')].map(e => e.textContent)`) {
			seen++
			text, _, _ = strings.Cut(text, "：") // then comes a command
			returned := strings.Contains(text, "→") || strings.HasPrefix(text, "ErrNotAcquired, ") || text == "context deadline exceeded"
			if !returned {
				assert.NotRegexp(t, threeWords, text, l.ID)
			}
		}
	}
	assert.Greater(t, seen, 1000, "labels")
}

// A fault is offered when it can matter: not before anything has reached Redis. Its button
// says which node fails.
func TestAFault_IsOfferedOnceItMatters(t *testing.T) {
	b := enter(t, "08/restart/", desktop)
	fault := func() string {
		return eval[string](b, `(() => { const f = document.querySelector('.choice.fault'); return f.getAttribute('aria-disabled') + ' ' + f.querySelector('.words').textContent; })()`)
	}
	assert.Equal(t, "true The fault can strike after the first command", fault(), "at first")
	b.plays("a1")
	assert.Equal(t, "null Node 1 restarts empty", fault())
	b.goTo("#04/slow/aF")
	assert.Equal(t, "From here no schedule breaks the lock: undo.", b.text("#h-choices"), "the fault is wasted")
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

// The page is ready for the first choice within a second of its opening.
func TestTheFirstChoice_IsThereSoon(t *testing.T) {
	b := visit(t, onDisk+"#03/slow/", desktop)
	best := time.Hour
	for range 3 { // the machine may be busy
		start := time.Now()
		b.reload()
		best = min(best, time.Since(start))
	}
	assert.LessOrEqual(t, best, time.Second)
}

var pictures = flag.Bool("pictures", false, "write docs/read/pictures/play*.png: the page after a victory, light and dark, in both languages")

// The pictures in the two READMEs show two clients inside, and what the page says of it.
func TestPictures_ShowAVictory(t *testing.T) {
	for edition, query := range map[string]string{"": "", ".zh-CN": "?lang=zh-CN"} {
		for suffix, scheme := range map[string]string{"": "light", "-dark": "dark"} {
			name := "play" + edition + suffix
			b := visit(t, server+query+"#07/failover/", view{name, 1000, 640, scheme})
			b.unsure()
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
	for _, v := range views {
		t.Run(v.name, func(t *testing.T) {
			b := visit(t, server, v)
			for _, state := range []struct {
				name  string
				enter func()
			}{
				{"menu", func() { b.goTo("#") }},
				{"coach", func() { b.goTo("#00/none/"); b.plays("aba") }},
				{"won", func() { b.plays("b") }},
				{"prediction", func() { b.goTo("#04/slow/") }},
				{"missed", func() { b.goTo("#03/twice/abAabA") }},
				{"holds", func() { b.goTo("#02/crash-hold/aFb") }},
				{"choices", func() { b.goTo("#04/slow/"); b.unsure(); b.plays("a") }},
				{"broken", func() { b.goTo("#" + find(t, 8, "restart").ID) }},
				{"compared", func() { b.click("#comparing") }},
				{"source", func() { b.click("#timeline .line") }},
				{"help", func() { b.key("?") }},
			} {
				state.enter()
				assert.Empty(t, b.axe(), state.name)
				b.fits(state.name)
			}
		})
	}
}

// axe returns what axe-core finds.
func (b *tab) axe() []string {
	b.t.Helper()
	if !eval[bool](b, `'axe' in window`) {
		axe, err := os.ReadFile(axeFile)
		b.must(err)
		eval[any](b, string(axe)+";null")
	}
	return eval[[]string](b, `axe.run().then(r => r.violations.map(v => v.id + ': ' + v.help + ': ' + v.nodes.slice(0, 3).map(n => n.target + ' ' + (n.any[0]?.message ?? '')).join(' | ')))`)
}

// A phone's buttons are large enough, and at its bottom.
func TestOnAPhone_TheButtonsAreAtTheBottom(t *testing.T) {
	b := enter(t, "08/restart/", views[2])
	b.plays("a1")
	assert.Empty(t, eval[[]string](b, `[...document.querySelectorAll('#choices button')].filter(c => c.getBoundingClientRect().height < 44).map(c => c.textContent)`), "less than 44 px high")
	assert.Zero(t, eval[float64](b, `innerHeight - document.querySelector('section.choices').getBoundingClientRect().bottom`), "px above the bottom")
}

// Wherever a phone has scrolled in the picture, it shows whose lane is which, and the tools.
func TestOnAPhone_LaneHeadsAndToolsStayInView(t *testing.T) {
	b := visit(t, server, views[2])
	for schedule, over := range map[string]bool{"08/restart/a1a2b3F": false, "07/pause/abFBbB": false, "07/pause/abFBbBA": true} {
		b.goTo("#" + schedule)
		b.unsure()
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

// Checks that cannot fail prove nothing: pages that are broken on purpose are caught.
func TestABrokenPage_IsCaught(t *testing.T) {
	l := find(t, 3, "slow")
	otherwise := func(b *tab) bool { return b.solve(l) != nil }
	complains := func(b *tab) bool { return len(b.wrong()) > 0 }
	for what, c := range map[string]struct {
		old, new string
		find     func(*tab) bool
	}{
		"another time":             {"Math.floor(r.at / 100) / 10", "Math.ceil(r.at / 100) / 10 + 0.1", otherwise},
		"no keys":                  {"addEventListener('keydown'", "addEventListener('keydowm'", otherwise},
		"a word is missing":        {`"choices":"What happens next?",`, "", func(b *tab) bool { b.goTo("#" + l.name()); return complains(b) }},
		"a picture from elsewhere": {"<div id=\"app\">", "<img alt=\"\" src=\"http://192.0.2.1/x.png\"><div id=\"app\">", complains},
		"pale letters":             {"--dim: #59636e", "--dim: #b9c3ce", func(b *tab) bool { return len(b.axe()) > 0 }},
	} {
		t.Run(what, func(t *testing.T) {
			spoilt := strings.ReplaceAll(string(html), c.old, c.new)
			require.NotEqual(t, string(html), spoilt)
			file := filepath.Join(t.TempDir(), "play.html")
			require.NoError(t, os.WriteFile(file, []byte(spoilt), 0o666))
			assert.True(t, c.find(open(t, "file://"+filepath.ToSlash(file), desktop)), "nothing was found")
		})
	}
}

func find(t *testing.T, step int, fault string) level {
	t.Helper()
	i := slices.IndexFunc(data.Levels, func(l level) bool { return l.Step == step && l.Fault == fault })
	require.GreaterOrEqual(t, i, 0, "there is no level %02d/%s", step, fault)
	return data.Levels[i]
}
