// Package browser plays the page of docs/play in a real browser:
//
//	npm ci && go test .
//
// It needs chromium, and npm for axe-core. It plays docs/play/index.html, so after a change
// of the page or of a lock, go run ./docs/explore comes first.
package browser

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/play/page"
)

const (
	repository = "../../.."
	axeFile    = "node_modules/axe-core/axe.min.js"
)

// What all tests share.
var (
	browser context.Context
	explore string // the explorer
	server  string // the address of the page on a server
	onDisk  string // and of its file
	html    []byte // the page
	data    pageData
)

// pageData is what the tests read of the data in the page.
type pageData struct {
	Levels []level
	Graph  struct{ Cells []struct{ Name string } }
	Bench  page.Bench
	Path   []struct {
		Step  int
		Fault string
	}
	Chapters []struct {
		Step  int
		Beats []struct{ Ask, Level string }
	}
}

type level struct {
	Step                  int
	Fault, Kinds, ID, Why string
}

func (l level) name() string { return fmt.Sprintf("%02d/%s", l.Step, l.Fault) }

// labels are the choices that break it.
func (l level) labels() string { return l.ID[strings.LastIndex(l.ID, "/")+1:] }

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Println(err)
		code = 1
	}
	os.Exit(code)
}

// run builds the explorer, starts a server and the browser, and runs the tests.
func run(m *testing.M) (code int, err error) {
	chromium := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			chromium = found
		}
	}
	if _, err := os.Stat(axeFile); err != nil || chromium == "" {
		fmt.Println("NOT RUN: the page in a browser; it needs chromium (Debian: apt-get install chromium) and axe-core (npm ci)")
		if os.Getenv("CI") != "" {
			code = 1
		}
		return code, nil
	}
	dir, err := os.MkdirTemp("", "redislock-play-check-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	explore = filepath.Join(dir, "explore")
	if out, err := exec.Command("go", "build", "-o", explore, "../explore").CombinedOutput(); err != nil {
		return 0, fmt.Errorf("docs/keep/explore: %w\n%s", err, out)
	}
	if err := readPage(); err != nil {
		return 0, err
	}
	s := httptest.NewServer(http.FileServer(http.Dir(repository)))
	defer s.Close()
	server = s.URL + "/docs/play/"
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium), chromedp.DisableGPU)
	if os.Geteuid() == 0 || os.Getenv("CI") != "" { // there, the system allows no sandbox
		options = append(options, chromedp.NoSandbox)
	}
	allocator, cancel := chromedp.NewExecAllocator(ctx, options...)
	defer cancel()
	browser, cancel = chromedp.NewContext(allocator)
	defer cancel()
	if err := chromedp.Do(browser); err != nil {
		return 0, fmt.Errorf("chromium does not start: %w", err)
	}
	return m.Run(), nil
}

// readPage reads the page in the repository, and its data.
func readPage() error {
	path, err := filepath.Abs(filepath.Join(repository, "docs/play/index.html"))
	if err != nil {
		return err
	}
	onDisk = "file://" + filepath.ToSlash(path)
	if html, err = os.ReadFile(path); err != nil {
		return err
	}
	packed := regexp.MustCompile(`id="data">(.*?)</script>`).FindSubmatch(html)[1]
	js := flate.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(packed)))
	return json.NewDecoder(js).Decode(&data)
}

// A tab is a page in the browser, with what went wrong in it.
type tab struct {
	t      *testing.T
	ctx    context.Context
	clicks bool   // instead of pressing keys
	rules  string // of axe-core, all if it is empty

	mu       sync.Mutex
	problems []string
}

// A view is how a reader looks at the page.
type view struct {
	name          string
	width, height int64
	scheme        string
}

var desktop = view{"desktop, light", 1280, 900, "light"}

var views = []view{desktop, {"desktop, dark", 1280, 900, "dark"}, {"phone, light", 358, 780, "light"}, {"phone, dark", 358, 780, "dark"}}

// open opens an address in a new tab, with nothing remembered. Whatever it asks of another
// host, and whatever it complains of, is a problem.
func open(t *testing.T, address string, v view) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 5*time.Minute)
	t.Cleanup(cancel)
	b := &tab{t: t, ctx: ctx}
	home, err := url.Parse(address)
	b.must(err)
	b.do(chromedp.EmulateViewport(v.width, v.height))
	b.must(chromedp.Listen(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventConsoleAPICalled:
			b.problem("console: %s", e.Type)
		case *runtime.EventExceptionThrown:
			b.problem("exception: %s", e.ExceptionDetails.Exception.Description)
		case *log.EventEntryAdded:
			b.problem("log: %s", e.Entry.Text)
		case *network.EventRequestWillBeSent:
			if to, err := url.Parse(e.Request.URL); err != nil || to.Scheme != "data" && to.Scheme != "blob" && (to.Scheme != home.Scheme || to.Host != home.Host) {
				b.problem("it asks for %s", e.Request.URL)
			}
		}
	}))
	_, err = chromedp.Call(ctx, network.Enable, network.EnableParams{})
	b.must(err)
	b.emulate("prefers-color-scheme", v.scheme)
	if v.scheme == "dark" {
		b.rules = `{runOnly: ['color-contrast']}`
	}
	b.do(chromedp.Navigate(address))
	b.ready()
	return b
}

// visit opens an address, and fails the test in the end if anything went wrong in the page.
func visit(t *testing.T, address string, v view) *tab {
	t.Helper()
	b := open(t, address, v)
	t.Cleanup(func() { assert.Empty(t, b.wrong()) })
	return b
}

// emulate lets the reader prefer something.
func (b *tab) emulate(feature, value string) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: feature, Value: value}}})
	b.must(err)
}

// ready waits until the page is unpacked.
func (b *tab) ready() {
	b.t.Helper()
	eval[bool](b, `new Promise(done => { const look = () => document.querySelector('#app main, #app > .problem') ? done(true) : setTimeout(look, 5); look(); })`)
}

func (b *tab) problem(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.problems = append(b.problems, fmt.Sprintf(format, args...))
}

func (b *tab) wrong() []string {
	eval[int](b, "1") // what came before has been told by now
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.problems
}

func (b *tab) must(err error) {
	b.t.Helper()
	require.NoError(b.t, err)
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	b.must(chromedp.Do(b.ctx, steps...))
}

func (b *tab) key(keys string) {
	b.t.Helper()
	b.do(chromedp.KeyEvent(keys))
}

func eval[T any](b *tab, js string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](js, chromedp.EvalAwaitPromise))
	require.NoError(b.t, err, "%.200s", js)
	return value
}

// goTo changes the address, as a link does.
func (b *tab) goTo(hash string) {
	b.t.Helper()
	if b.hash() != strings.TrimSuffix(hash, "#") && b.hash() != hash {
		b.leads(fmt.Sprintf(`location.hash = %q`, hash))
	}
}

// leads does what leads to another address.
func (b *tab) leads(js string) {
	b.t.Helper()
	eval[bool](b, fmt.Sprintf(`new Promise(done => { addEventListener('hashchange', () => setTimeout(done, 0, true), {once: true}); %s; })`, js))
}

// reload loads the page again.
func (b *tab) reload() {
	b.t.Helper()
	b.do(chromedp.Reload())
	b.ready()
}

func (b *tab) hash() string { return eval[string](b, "location.hash") }
func (b *tab) text(selector string) string {
	b.t.Helper()
	return eval[string](b, fmt.Sprintf(`document.querySelector(%q)?.innerText ?? ''`, selector))
}

func (b *tab) has(selector string) bool {
	b.t.Helper()
	return eval[bool](b, fmt.Sprintf(`document.querySelector(%q) !== null`, selector))
}

// list is the timeline of the page.
func (b *tab) list() string {
	b.t.Helper()
	return eval[string](b, `[...document.querySelectorAll('#timeline .row')].map(r => r.textContent + '\n').join('')`)
}

// replay is what the explorer prints, in a language.
func replay(t *testing.T, id, lang string) string {
	t.Helper()
	cmd := exec.Command(explore, "replay", id, "-lang", lang)
	cmd.Dir = repository
	out, err := cmd.Output()
	require.NoError(t, err, "replay %s", id)
	return string(out)
}

// plays plays labels.
func (b *tab) plays(labels string) {
	b.t.Helper()
	b.must(b.choose(labels))
}

// choose plays labels by keyboard, or by click. What has no digit is reached by Tab.
func (b *tab) choose(labels string) error {
	for labels != "" {
		at := eval[map[string]string](b, fmt.Sprintf(`(() => {
			const labels = %q;
			const fit = [...document.querySelectorAll('#choices .choice:not([aria-disabled])')].filter(c => labels.startsWith(c.dataset.label));
			const best = fit.sort((a, b) => b.dataset.label.length - a.dataset.label.length)[0];
			return {label: best?.dataset.label ?? '', key: best?.getAttribute('aria-keyshortcuts') ?? ''};
		})()`, labels))
		choice := fmt.Sprintf(`.choice[data-label=%q]`, at["label"])
		switch {
		case at["label"] == "":
			return fmt.Errorf("%s: there is no choice for %q", b.hash(), labels)
		case at["key"] != "" || b.clicks:
			b.press(choice, at["key"])
		case b.tabTo(choice):
			b.key("\r")
		default:
			return fmt.Errorf("%s: Tab does not reach %q", b.hash(), at["label"])
		}
		labels = strings.TrimPrefix(labels, at["label"])
	}
	return nil
}

// press presses a key, or clicks at what it stands for.
func (b *tab) press(selector, key string) {
	b.t.Helper()
	if b.clicks {
		b.click(selector)
	} else {
		b.key(key)
	}
}

func (b *tab) click(selector string) {
	b.t.Helper()
	eval[any](b, fmt.Sprintf(`document.querySelector(%q).click()`, selector))
}

// selects chooses from a menu.
func (b *tab) selects(menu, value string) {
	b.t.Helper()
	eval[any](b, fmt.Sprintf(`(() => { const s = document.querySelector(%q); s.value = %q; s.dispatchEvent(new Event('change')); })()`, menu, value))
}

func (b *tab) tabTo(selector string) bool {
	for range 80 {
		b.key("\t")
		if eval[bool](b, fmt.Sprintf(`document.activeElement.matches(%q)`, selector)) {
			return true
		}
	}
	return false
}
