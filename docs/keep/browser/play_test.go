package browser

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
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
		labels = cmp.Or(won[l.name()], l.ID[strings.LastIndex(l.ID, "/")+1:])
	}
	b.unsure()
	if _, err := b.choose(labels); err != nil {
		return err
	}
	broken := eval[bool](b, `document.querySelector('.outcome.won') !== null`)
	if l.Kinds != "" && !broken {
		return fmt.Errorf("%s: the page does not say that it is broken: %q", l.ID, b.text("#outcome"))
	}
	for range 60 {
		if eval[bool](b, `document.querySelector('#choices .over') !== null`) {
			break
		}
		b.key("1")
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
	if len(levels) < 200 {
		t.Fatalf("there are %d levels", len(levels))
	}
	for half := range 2 { // two tabs, one for each processor
		t.Run(fmt.Sprint(half), func(t *testing.T) {
			t.Parallel()
			b := open(t, server, desktop)
			solved := 0
			for i, l := range levels {
				if i%2 != half {
					continue
				}
				if err := b.solve(l); err != nil {
					t.Error(err)
				}
				solved++
			}
			b.goTo("#")
			if got, want := b.text("#progress"), fmt.Sprintf("%d of %d levels solved", solved, len(levels)); got != want {
				t.Errorf("the menu says %q, want %q", got, want)
			}
			b.fine()
		})
	}
}

func TestUndo_Branches_AndTheAddress(t *testing.T) {
	b := open(t, server+"#05/pause/", desktop)
	b.unsure()
	b.must(second(b.choose("aFbBA")))
	if got := b.hash(); got != "#05/pause/aFbBA" {
		t.Fatalf("the address is %s", got)
	}
	all := b.list()
	b.key("u")
	b.key("u")
	if got := b.hash(); got != "#05/pause/aFb" {
		t.Errorf("after two u, the address is %s", got)
	}
	b.do(arrow("ArrowRight"))
	b.do(arrow("ArrowRight"))
	if got := b.list(); got != all {
		t.Errorf("undone and done again, it is another story:\n%s", got)
	}
	for range 3 {
		b.do(arrow("ArrowLeft"))
	}
	b.must(second(b.choose("A")))
	if got := b.hash(); got != "#05/pause/aFA" {
		t.Errorf("the other branch is %s", got)
	}
	branch := eval[string](b, `document.querySelector('.branch').getAttribute('aria-label')`)
	if !strings.Contains(branch, "aFbBA") || !strings.Contains(branch, "broken") {
		t.Errorf("the branch that was left is shown as %q", branch)
	}
	eval[any](b, `document.querySelector('.branch').click()`)
	if got := b.list(); got != all {
		t.Errorf("the branch tells another story:\n%s", got)
	}
	b.reload()
	if got := b.list(); got != all {
		t.Errorf("loaded again, it is another story:\n%s", got)
	}
	if got := b.text("#command"); got != "go run ./docs/explore replay 05/pause/aFbBA" {
		t.Errorf("the command is %q", got)
	}
	b.fine()
}

func TestAPastedName_OpensItsSchedule(t *testing.T) {
	b := open(t, server, desktop)
	paste := func(text string) {
		eval[any](b, fmt.Sprintf(`(() => {
			const data = new DataTransfer();
			data.setData('text', %q);
			document.body.dispatchEvent(new ClipboardEvent('paste', {clipboardData: data, bubbles: true}));
		})()`, text))
	}
	paste("go run ./docs/explore replay 03/slow/aFbAa")
	if got := b.hash(); got != "#03/slow/aFbAa" {
		t.Errorf("the address is %q", got)
	}
	paste("08/restart/2c3n-once/ABa1a2F")
	if got := b.text(".problem"); !strings.Contains(got, "go run ./docs/explore replay 08/restart/2c3n-once/ABa1a2F") {
		t.Errorf("a schedule that the page does not have: %q", got)
	}
	paste("03/nothing/aF")
	if got := b.text(".problem"); !strings.Contains(got, "There is no schedule") {
		t.Errorf("what is not a schedule: %q", got)
	}
	b.fine()
}

func TestHints_ShowTheWay_AndTheLevelIsNotSolved(t *testing.T) {
	b := open(t, server+"#03/slow/", desktop)
	b.unsure()
	for range 12 {
		if b.text(".outcome.won") != "" {
			break
		}
		b.key("hhh")
		label := eval[string](b, `document.querySelector('.choice.hinted')?.dataset.label ?? ''`)
		if label == "" {
			t.Fatalf("three hints mark no choice: %q", b.text("#hints"))
		}
		b.must(second(b.choose(label)))
	}
	if got := b.text("#outcome"); !strings.Contains(got, "does not count as solved") {
		t.Errorf("the level was shown, and the page says %q", got)
	}
	b.goTo("#")
	if got := b.text(`a[href="#03/slow/"] .sign`); got != "shown" {
		t.Errorf("the menu says %q", got)
	}
	b.fine()
}

func TestProgress_IsKept_AndCanBeCleared(t *testing.T) {
	b := open(t, server+"#02/crash-hold/", desktop)
	b.unsure()
	b.key("1111111111")
	b.goTo("#")
	if got := b.text(`a[href="#02/crash-hold/"] .sign`); got != "✓ holds" {
		t.Errorf("a level that was solved is %q", got)
	}
	b.reload()
	if got := b.text("#progress"); !strings.HasPrefix(got, "1 of ") {
		t.Errorf("loaded again, the menu says %q", got)
	}
	eval[any](b, `document.getElementById('clear').click(); document.getElementById('clear').click()`)
	if got := b.text("#progress"); !strings.HasPrefix(got, "0 of ") {
		t.Errorf("cleared, the menu says %q", got)
	}
	b.fine()
}

func TestWhatIsLost_SaysWhereTheLastChanceWas(t *testing.T) {
	b := open(t, server+"#03/twice/", desktop)
	b.unsure()
	b.must(second(b.choose("ab")))
	for range 20 {
		b.key("1")
	}
	held := b.text(".outcome.missed")
	if !strings.Contains(held, "schedules break it") || b.text("#goback") == "" {
		t.Fatalf("lost, the page says %q", held)
	}
	eval[any](b, `document.getElementById('goback').click()`)
	if b.text("#outcome") != "" {
		t.Error("it has not gone back")
	}
	b.fine()
}

func TestTheSameSchedule_BesideAnotherLock(t *testing.T) {
	b := open(t, server+"#03/late-reply/", desktop)
	b.unsure()
	b.goTo("#03/slow/aFbAa")
	eval[any](b, `document.getElementById('comparing').click()`)
	if got := b.text("#compare"); !strings.Contains(got, "step 07") {
		t.Errorf("next to another lock, the page says %q", got)
	}
	marked := eval[[]string](b, `[...document.querySelectorAll('#compare .differs .row')].map(r => r.textContent.trim())`)
	if len(marked) != 2 || !strings.Contains(marked[0], "the TTL expired: alice's lock is gone") || !strings.Contains(marked[1], "bob    TryLock -> ErrNotAcquired") {
		t.Errorf("the rows that differ are %q", marked)
	}
	eval[any](b, `(() => { const s = document.getElementById('beside'); s.value = '5'; s.dispatchEvent(new Event('change')); })()`)
	if got := b.text("#compare"); !strings.Contains(got, "step 05") {
		t.Errorf("next to step 05, the page says %q", got)
	}
	b.leads(`document.querySelector('#compare a.button').click()`)
	if got := b.hash(); !strings.HasPrefix(got, "#05/slow/") {
		t.Errorf("to continue leads to %s", got)
	}
	b.fine()
}

func TestARow_LeadsToItsLineOfTheLock(t *testing.T) {
	for schedule, file := range map[string]string{"05/pause/aFbBAa": "step05_lua_release/lock.go", "08/slow/a1a2": "step08_redlock/nodes.go"} {
		b := open(t, server+"#"+schedule, desktop)
		line := eval[string](b, `(() => { const l = [...document.querySelectorAll('#timeline .line')].at(-1); l.click(); return l.textContent; })()`)
		name, number, _ := strings.Cut(line, ":")
		if want := filepath.Base(file); name != want && (name != "" || want != "lock.go") {
			t.Errorf("%s: the last row leads to %q, want a line of %s", schedule, line, want)
		}
		source, err := os.ReadFile(repository + "/" + file)
		b.must(err)
		var n int
		fmt.Sscan(number, &n)
		want := strings.Split(string(source), "\n")[n-1]
		if got := eval[string](b, `document.querySelector('.source details[open] .src.hit').textContent`); !strings.HasSuffix(strings.TrimRight(got, "\n"), want) || strings.TrimSpace(want) == "" {
			t.Errorf("%s: line %d is %q, want %q", schedule, n, got, want)
		}
		b.fine()
	}
}

// A command moves to its node, and two who are inside flash: once, and not for readers who
// want no motion.
func TestMotion_OnlyWhereItIsWanted(t *testing.T) {
	for _, motion := range []string{"no-preference", "reduce"} {
		b := open(t, server+"#00/none/aba", desktop)
		_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-reduced-motion", Value: motion}}})
		b.must(err)
		moving := func(js string) string {
			return eval[string](b, js+`; [...new Set(document.getAnimations().map(a => a.animationName).filter(Boolean))].sort().join(' ')`)
		}
		want := map[string]string{"no-preference": "flash travel"}[motion]
		if got := moving(`document.querySelector('.choice[data-label=b]').click()`); got != want {
			t.Errorf("%s: what moves is %q, want %q", motion, got, want)
		}
		if got := moving(`document.getElementById('hint').click()`); got != "" {
			t.Errorf("%s: drawn again, there moves %q", motion, got)
		}
		b.fine()
	}
}

// Below the choices are the lines at which the clients are. They are those of the files.
func TestTheCode_MarksTheLineOfEachClient(t *testing.T) {
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
		b := open(t, server+"#"+schedule, desktop)
		b.unsure()
		marks := strings.Fields(want)
		got := marks[0]
		for _, line := range eval[[]string](b, `[...document.querySelectorAll('.excerpt .hit')].flatMap(line => [...line.querySelectorAll('b')].map(who =>
			[who.textContent, line.closest('pre').getAttribute('aria-label'), line.querySelector('.nr').textContent.trim()].join(' '))).sort()`) {
			var who, name string
			var n int
			fmt.Sscan(line, &who, &name, &n)
			source, err := os.ReadFile(filepath.Join(repository, marks[0], name))
			b.must(err)
			text := strings.Split(string(source), "\n")[n-1]
			for _, mark := range marks[1:] {
				if part, ok := strings.CutPrefix(mark, who+":"); ok && strings.Contains(text, part) {
					got += " " + mark
				}
			}
		}
		if got != want {
			t.Errorf("%s: the lines are %q, want %q:\n%s", schedule, got, want, b.text("#code"))
		}
		if lines := eval[int](b, `Math.max(...[...document.querySelectorAll('.excerpt')].map(e => e.querySelectorAll('.nr').length))`); lines < 5 || lines > 8 {
			t.Errorf("%s: an excerpt of %d lines", schedule, lines)
		}
		b.fine()
	}
}

func TestLeadersMode_HidesTheAnswer(t *testing.T) {
	l := find(t, 3, "pause")
	b := open(t, server+"?lead#"+l.ID, desktop)
	if got := b.text("main"); strings.Contains(got, "wo clients are") || strings.Contains(got, "X: alice and bob") || !strings.Contains(got, "Press r") {
		t.Errorf("before r, the page says %q", got)
	}
	b.key("r")
	if got := b.text("#outcome"); !strings.Contains(got, "wo clients are inside at once") {
		t.Errorf("after r, the page says %q", got)
	}
	b.fine()
}

func TestAnotherLanguage(t *testing.T) {
	const english, chinese = "en Break this lock", "zh-CN 攻破这把锁"
	file := "file://" + filepath.ToSlash(pageFile())
	for _, address := range []string{server, file} {
		b := open(t, address, desktop)
		b.speaks(english)
		b.switchTo("zh-CN")
		b.speaks(chinese)
		b.reload()
		b.speaks(chinese) // remembered
		b.do(chromedp.Navigate(address + "?lang=en"))
		b.ready()
		b.speaks(english) // what the address says comes first
		b.switchTo("zh-CN")
		b.reload()
		b.speaks(chinese) // it has not been left behind in the address
		b.fine()
	}
	for languages, want := range map[string]string{"zh-TW,en": chinese, "fr,zh": chinese, "fr,en,zh": english, "fr": english} {
		b := open(t, server, desktop)
		_, err := chromedp.Call(b.ctx, emulation.SetUserAgentOverride, emulation.SetUserAgentOverrideParams{UserAgent: "test", AcceptLanguage: languages})
		b.must(err)
		b.reload()
		b.speaks(want) // the first language of the reader that the page has
		b.fine()
	}
}

// In Chinese only what the programs print is English, and links lead to the Chinese lessons.
func TestInChinese_AGameSaysNothingInEnglish(t *testing.T) {
	l := find(t, 2, "slow")
	for _, v := range []view{desktop, views[2]} {
		t.Run(v.name, func(t *testing.T) {
			b := open(t, server+"?lang=zh-CN#"+l.name()+"/", v)
			b.unsure()
			b.key("hhh")
			b.noEnglish("#hints")
			b.must(second(b.choose(l.ID[strings.LastIndex(l.ID, "/")+1:])))
			eval[any](b, `document.getElementById('comparing').click()`)
			if got := b.text("#outcome"); !strings.Contains(got, "业务还没做完，租约就到期了") {
				t.Errorf("the page says %q", got)
			}
			if got := b.list(); !strings.Contains(got, "the TTL expired") {
				t.Errorf("the list is what replay prints, and says %q", got)
			}
			if got := eval[string](b, `document.querySelector('.crumbs a[href$=".md"]').getAttribute('href')`); !strings.HasSuffix(got, "step02_expire/README.zh-CN.md") {
				t.Errorf("the lesson is %q", got)
			}
			b.fits()
			b.noEnglish("body")
			b.key("?")
			b.noEnglish("dialog")
			b.key("?")
			b.goTo("#")
			b.fits()
			b.noEnglish("body")
			for _, v := range b.axe() {
				t.Errorf("axe: %s", v)
			}
			b.fine()
		})
	}
}

// So does its picture. What a function returns is the output of a program.
func TestInChinese_ThePictureSaysNothingInEnglish(t *testing.T) {
	b := open(t, server+"?lang=zh-CN", desktop)
	seen := 0
	for _, l := range playable() {
		if l.ID == "" {
			continue
		}
		b.goTo("#" + l.ID)
		for _, text := range eval[[]string](b, `[...document.querySelectorAll('.diagram text')].map(e => e.textContent)`) {
			seen++
			text, _, _ = strings.Cut(text, "：") // then comes a command
			if threeWords.MatchString(text) && !strings.Contains(text, "→") && !strings.HasPrefix(text, "ErrNotAcquired, ") {
				t.Errorf("%s: %q", l.ID, text)
			}
		}
	}
	if seen < 1000 {
		t.Errorf("%d labels", seen)
	}
	b.fine()
}

// A fault is offered when it can matter: not before anything has reached Redis. Its button
// says which node fails.
func TestAFault_IsOfferedOnceItMatters(t *testing.T) {
	b := open(t, server+"#08/restart/", desktop)
	b.unsure()
	fault := func() string {
		return eval[string](b, `(() => { const f = document.querySelector('.choice.fault'); return f.getAttribute('aria-disabled') + ' ' + f.querySelector('.words').textContent; })()`)
	}
	if got, want := fault(), "true The fault can strike after the first command"; got != want {
		t.Errorf("at first, it says %q, want %q", got, want)
	}
	b.must(second(b.choose("a1")))
	if got, want := fault(), "null Node 1 restarts empty"; got != want {
		t.Errorf("then it says %q, want %q", got, want)
	}
	b.goTo("#04/slow/aF")
	if got, want := b.text("#h-choices"), "From here no schedule breaks the lock: undo."; got != want {
		t.Errorf("the fault is wasted, and the page says %q, want %q", got, want)
	}
	b.fine()
}

func (b *tab) fits() {
	b.t.Helper()
	if wide := eval[float64](b, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); wide > 0 {
		b.t.Errorf("the page is %v px wider than the window", wide)
	}
}

func (b *tab) switchTo(language string) {
	b.t.Helper()
	eval[any](b, fmt.Sprintf(`(() => { const s = document.getElementById('language'); s.value = %q; s.dispatchEvent(new Event('change')); })()`, language))
}

// speaks fails the test if the page is not in this language, with this title.
func (b *tab) speaks(want string) {
	b.t.Helper()
	if got := eval[string](b, `document.documentElement.lang + ' ' + document.querySelector('h1').innerText`); got != want {
		b.t.Errorf("the page speaks %q, want %q", got, want)
	}
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
	if text == "" {
		b.t.Errorf("%s is empty", selector)
	}
	for _, english := range threeWords.FindAllString(text, -1) {
		b.t.Errorf("%s says %q", selector, english)
	}
}

func TestTheFile_NeedsNothingElse(t *testing.T) {
	page, err := os.ReadFile(pageFile())
	if err != nil {
		t.Fatal(err)
	}
	if len(page) > 600_000 {
		t.Errorf("the page has %d bytes, more than 600 kB", len(page))
	}
	b := open(t, "file://"+filepath.ToSlash(pageFile())+"#03/slow/", desktop)
	b.unsure()
	b.must(second(b.choose("aF")))
	if ms := eval[float64](b, `performance.getEntriesByType('navigation')[0].duration`); ms > 1000 {
		t.Logf("it was loaded after %.0f ms", ms)
	}
	if b.list() == "" {
		t.Error("nothing has happened")
	}
	b.fine()
}

// The page is ready for the first choice within a second of its opening.
func TestTheFirstChoice_IsThereSoon(t *testing.T) {
	b := open(t, "file://"+filepath.ToSlash(pageFile())+"#03/slow/", desktop)
	best := time.Hour
	for range 3 { // the machine may be busy
		start := time.Now()
		b.reload()
		best = min(best, time.Since(start))
	}
	t.Logf("ready after %v", best)
	if best > time.Second {
		t.Errorf("the page is ready after %v", best)
	}
}

func TestWithoutJavaScript_ThereAreTheTables(t *testing.T) {
	page, err := os.ReadFile(pageFile())
	if err != nil {
		t.Fatal(err)
	}
	static := string(between(page, "<noscript>", "</noscript>"))
	for _, l := range data.Levels {
		if l.Kinds != "" && !strings.Contains(static, "\n"+l.ID+"\n") && !strings.Contains(static, "<pre>"+l.ID+"\n") {
			t.Errorf("%s breaks, and has no timeline", l.name())
		}
	}
}

var pictures = flag.Bool("pictures", false, "write docs/read/pictures/play*.png: the page after a victory, light and dark, in both languages")

// The pictures in the two READMEs show two clients inside, and what the page says of it.
func TestPictures_ShowAVictory(t *testing.T) {
	for edition, query := range map[string]string{"": "", ".zh-CN": "?lang=zh-CN"} {
		for suffix, scheme := range map[string]string{"": "light", "-dark": "dark"} {
			pictureOfAVictory(t, "play"+edition+suffix, query, scheme)
		}
	}
}

// pictureOfAVictory takes a picture, and compares its size with that of the committed one.
func pictureOfAVictory(t *testing.T, name, query, scheme string) {
	t.Helper()
	b := open(t, server+query+"#07/failover/", view{name, 1000, 640, scheme})
	b.unsure()
	b.must(second(b.choose("aFb")))
	eval[any](b, `Promise.all(document.getAnimations().map(a => a.finished)).then(() => null)`)
	eval[any](b, `document.activeElement.blur(); scrollTo(0, document.querySelector('.crumbs').offsetTop - 60)`)
	shot, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	b.must(err)
	if !eval[bool](b, `document.querySelector('.outcome.won').getBoundingClientRect().top < innerHeight - 60`) {
		t.Errorf("%s: the outcome is below the picture", name)
	}
	file := filepath.Join(repository, "docs/read/pictures", name+".png")
	if *pictures {
		b.must(os.WriteFile(file, shot, 0o666))
	}
	committed, err := os.ReadFile(file)
	b.must(err)
	if now, then := pngSize(shot), pngSize(committed); now != then {
		t.Errorf("%s is %v, and the page %v: go test -run Pictures -pictures", file, then, now)
	}
}

// pngSize is the width and the height of a picture.
func pngSize(file []byte) image.Point {
	config, err := png.DecodeConfig(bytes.NewReader(file))
	if err != nil {
		return image.Point{}
	}
	return image.Pt(config.Width, config.Height)
}

// Readers who do not see the page, or not well, can use it: in all views, in each state.
func TestAxe_FindsNothing(t *testing.T) {
	for _, v := range views {
		t.Run(v.name, func(t *testing.T) {
			b := open(t, server, v)
			states := map[string]func(){
				"menu":       func() { b.goTo("#") },
				"coach":      func() { b.goTo("#00/none/"); b.must(second(b.choose("aba"))) },
				"won":        func() { b.must(second(b.choose("b"))) },
				"prediction": func() { b.goTo("#04/slow/") },
				"missed":     func() { b.goTo("#03/twice/abAabA") },
				"holds":      func() { b.goTo("#02/crash-hold/aFb") },
				"choices":    func() { b.goTo("#04/slow/"); b.unsure(); b.must(second(b.choose("a"))) },
				"broken":     func() { b.goTo("#" + find(t, 8, "restart").ID) },
				"compared":   func() { eval[any](b, `document.getElementById('comparing').click()`) },
				"source":     func() { eval[any](b, `document.querySelector('#timeline .line').click()`) },
				"help":       func() { b.key("?") },
			}
			for _, name := range []string{"menu", "coach", "won", "prediction", "missed", "holds", "choices", "broken", "compared", "source", "help"} {
				states[name]()
				for _, violation := range b.axe() {
					t.Errorf("%s: %s", name, violation)
				}
				if wide := eval[int](b, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); wide > 0 {
					t.Errorf("%s: the page is %d px wider than the window", name, wide)
				}
			}
			b.fine()
		})
	}
}

// axe returns what axe-core finds.
func (b *tab) axe() []string {
	b.t.Helper()
	if !eval[bool](b, `'axe' in window`) {
		source, err := os.ReadFile(axeFile)
		b.must(err)
		eval[any](b, string(source)+";null")
	}
	return eval[[]string](b, `axe.run().then(r => r.violations.map(v => v.id + ': ' + v.help + ': ' + v.nodes.slice(0, 3).map(n => n.target + ' ' + (n.any[0]?.message ?? '')).join(' | ')))`)
}

// A phone's buttons are large enough, and at its bottom.
func TestOnAPhone_TheButtonsAreAtTheBottom(t *testing.T) {
	b := open(t, server+"#08/restart/", views[2])
	b.unsure()
	b.must(second(b.choose("a1")))
	small := eval[[]string](b, `[...document.querySelectorAll('#choices button')].filter(c => c.getBoundingClientRect().height < 44).map(c => c.textContent)`)
	if len(small) > 0 {
		t.Errorf("less than 44 px high: %q", small)
	}
	if bottom := eval[float64](b, `innerHeight - document.querySelector('section.choices').getBoundingClientRect().bottom`); bottom != 0 {
		t.Errorf("the buttons end %v px above the bottom", bottom)
	}
	b.fine()
}

// Wherever a phone has scrolled in the picture, it shows whose lane is which, and the tools.
func TestOnAPhone_LaneHeadsAndToolsStayInView(t *testing.T) {
	for schedule, over := range map[string]bool{"08/restart/a1a2b3F": false, "07/pause/abFBbB": false, "07/pause/abFBbBA": true} {
		b := open(t, server+"#"+schedule, views[2])
		b.unsure()
		if got := b.text(".outcome.won") != ""; got != over {
			t.Errorf("%s is won: %v", schedule, got)
		}
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
		for _, what := range hidden {
			t.Errorf("%s, scrolled by %s", schedule, what)
		}
		b.fine()
	}
}

// Checks that cannot fail prove nothing: pages that are broken on purpose are caught.
func TestABrokenPage_IsCaught(t *testing.T) {
	page, err := os.ReadFile(pageFile())
	if err != nil {
		t.Fatal(err)
	}
	l := find(t, 3, "slow")
	replaced := func(old, new string) []byte {
		if !bytes.Contains(page, []byte(old)) {
			t.Fatalf("the page has no %q", old)
		}
		return bytes.ReplaceAll(page, []byte(old), []byte(new))
	}
	js, err := unpack(page)
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		page []byte
		find func(*tab) bool
	}{
		"another story":            {repack(t, page, bytes.ReplaceAll(js, []byte(`SET coupons locked`), []byte(`SET coupon locked`))), func(b *tab) bool { return b.solve(l) != nil }},
		"another time":             {replaced("Math.floor(r.at / 100) / 10", "Math.ceil(r.at / 100) / 10 + 0.1"), func(b *tab) bool { return b.solve(l) != nil }},
		"no keys":                  {replaced("addEventListener('keydown'", "addEventListener('keydowm'"), func(b *tab) bool { return b.solve(l) != nil }},
		"a word is missing":        {replaced(`"choices":"What happens next?",`, ""), func(b *tab) bool { b.goTo("#" + l.name()); return len(b.wrong()) > 0 }},
		"a picture from elsewhere": {replaced("<div id=\"app\">", "<img alt=\"\" src=\"http://192.0.2.1/x.png\"><div id=\"app\">"), func(b *tab) bool { return len(b.wrong()) > 0 }},
		"pale letters":             {replaced("--dim: #59636e", "--dim: #b9c3ce"), func(b *tab) bool { return len(b.axe()) > 0 }},
	} {
		t.Run(what, func(t *testing.T) {
			b := open(t, write(t, c.page), desktop)
			if !c.find(b) {
				t.Errorf("%s, and nothing was found", what)
			}
		})
	}
}

func find(t *testing.T, step int, fault string) level {
	t.Helper()
	i := slices.IndexFunc(data.Levels, func(l level) bool { return l.Step == step && l.Fault == fault })
	if i < 0 {
		t.Fatalf("there is no level %02d/%s", step, fault)
	}
	return data.Levels[i]
}

// write writes a page, and returns its address.
func write(t *testing.T, page []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "play.html")
	if err := os.WriteFile(file, page, 0o666); err != nil {
		t.Fatal(err)
	}
	return "file://" + filepath.ToSlash(file)
}

func between(page []byte, from, to string) []byte {
	_, rest, _ := bytes.Cut(page, []byte(from))
	found, _, _ := bytes.Cut(rest, []byte(to))
	return slices.Clone(found)
}

func second[T any](_ T, err error) error { return err }
