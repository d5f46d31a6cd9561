// Play makes a page on which the reader is the network: the reader decides which command
// reaches Redis next and when something fails, and tries to break a lock. Everything that
// can be chosen was run by docs/explore. See docs/play/README.md.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"example.com/redislock-steps/docs/internal/course"
)

const usage = `usage:
  play [ID]              open the page in the browser; ID is a level, 05/pause, or a schedule, 05/pause/aFbBA
  play -no-browser [ID]  the same, and only say where it is
  play -o FILE           write the page into a file, which needs nothing else
  play -write            make docs/play/index.html anew
  play -check            compare docs/play/index.html with a new one, and docs/read/faults.md

The page is docs/play/index.html. It is made anew, in a minute, only if a source of it has changed.

For your own lock: go run ./docs/explore -lock DIR -step N -html FILE
`

type options struct {
	out                     string
	graph, lock             string // what docs/explore -html has found, and in which lock
	step                    int    // the step whose lock that replaces
	noBrowser, check, write bool
}

func main() {
	var o options
	flags := flag.NewFlagSet("play", flag.ExitOnError)
	flags.Usage = func() { fmt.Fprint(os.Stderr, usage) }
	flags.StringVar(&o.out, "o", "", "write the page into this file")
	flags.StringVar(&o.graph, "graph", "", "for docs/explore -html: the file with what it has found")
	flags.StringVar(&o.lock, "lock", "", "and the folder of the lock")
	flags.IntVar(&o.step, "step", 0, "and the step whose lock it replaces")
	flags.BoolVar(&o.noBrowser, "no-browser", false, "do not open the browser")
	flags.BoolVar(&o.write, "write", false, "make docs/play/index.html anew")
	flags.BoolVar(&o.check, "check", false, "compare docs/play/index.html with a new one, and docs/read/faults.md")
	flags.Parse(os.Args[1:])
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	if err := run(ctx, o, flags.Args()); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "play:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, args []string) error {
	root, err := course.Root()
	if err != nil {
		return err
	}
	if len(args) > 1 || len(args) == 1 && (o.out != "" || o.check || o.write) {
		return errors.New(strings.TrimSpace(usage))
	}
	file, err := filepath.Abs(o.out)
	if err := errors.Join(err, os.Chdir(root)); err != nil {
		return err
	}
	page, err := thePage(ctx, o)
	switch {
	case err != nil || o.check:
		return err
	case o.write:
		o.out, file = committed, committed
	case o.out == "":
		browse := openBrowser
		if o.noBrowser {
			browse = func(string) {}
		}
		return serve(ctx, handler(page, root), strings.Join(args, ""), browse)
	}
	if err := os.WriteFile(file, page, 0o666); err != nil {
		return err
	}
	fmt.Printf("%s: %d kB\n", o.out, len(page)/1000)
	return nil
}

// thePage is the one in the repository if it is of these sources, or a new one.
func thePage(ctx context.Context, o options) ([]byte, error) {
	if o.graph != "" {
		g, err := os.ReadFile(o.graph)
		if err != nil {
			return nil, err
		}
		return newPage(g, "", o)
	}
	inputs, err := inputsOf(ctx)
	if err != nil {
		return nil, err
	}
	old, _ := os.ReadFile(committed) // without it, there is nothing that fits
	switch fits := isOf(old, inputs); {
	case o.check && !fits:
		return nil, errors.New(stale)
	case !fits:
		fmt.Println("The sources have changed since " + committed + " was made, so it is made anew.")
	case !o.write && !o.check:
		return old, nil
	}
	g, err := exploration(ctx, o.check)
	if err != nil {
		return nil, err
	}
	page, err := newPage(g, inputs, o)
	if err == nil && o.check && !bytes.Equal(page, old) {
		err = errors.New(committed + " is not what a build gives: go run ./docs/play -write")
	}
	return page, err
}

// exploration returns what docs/explore finds: the levels and their graph. It takes a
// minute, so it is kept for the next time. A check makes it anew, and compares the other
// page of it as well: docs/read/faults.md.
func exploration(ctx context.Context, check bool) ([]byte, error) {
	dir, err := os.MkdirTemp("", "redislock-play-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	explore, file := filepath.Join(dir, "explore.exe"), filepath.Join(dir, "graph.json")
	if err := command(ctx, "go", "build", "-C", "docs/keep", "-buildvcs=false", "-o", explore, "./explore"); err != nil {
		return nil, err
	}
	kept := keptFor(explore)
	if g, err := os.ReadFile(kept); err == nil && !check {
		return g, nil
	}
	fmt.Println("Running every lock through every order of events. This takes a minute.")
	if err := command(ctx, explore, "-graph", file, fmt.Sprintf("-check=%v", check)); err != nil {
		return nil, err
	}
	g, err := os.ReadFile(file)
	if err == nil && os.MkdirAll(filepath.Dir(kept), 0o777) == nil {
		os.WriteFile(kept, g, 0o666) // if it cannot be kept, it is made again
	}
	return g, err
}

// command runs a command that says itself what is wrong.
func command(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("docs/explore: %w", err)
	}
	return nil
}

// serve shows the page to the browsers of this machine until it is interrupted.
func serve(ctx context.Context, h http.Handler, schedule string, browse func(url string)) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	url := fmt.Sprintf("http://%s/%s", listener.Addr(), committed)
	if schedule != "" {
		url += "#" + schedule
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { server.Close() })
	fmt.Printf("Break this lock: %s\nCtrl-C ends it.\n", url)
	go browse(url)
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// handler has the page, and the folders of the lessons to which it links.
func handler(page []byte, root string) http.Handler {
	files := os.DirFS(root)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/"+committed, http.StatusFound) })
	mux.HandleFunc("GET /"+committed, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Write(page)
	})
	for _, s := range course.Entries() {
		mux.HandleFunc("GET /"+s.Dir+"/{name}", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			http.ServeFileFS(w, r, files, s.Dir+"/"+r.PathValue("name"))
		})
	}
	return mux
}

// openBrowser does what it can: the address is printed as well.
func openBrowser(url string) {
	open := map[string][]string{"darwin": {"open"}, "windows": {"rundll32", "url.dll,FileProtocolHandler"}}[runtime.GOOS]
	if open == nil {
		open = []string{"xdg-open"}
	}
	exec.Command(open[0], append(open[1:], url)...).Run()
}
