// Play makes a page on which the reader is the network: the reader decides which command
// reaches Redis next and when something fails, and tries to break a lock. Everything that
// can be chosen was run by docs/explore. See docs/play/README.md.
package main

import (
	"bytes"
	"cmp"
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

// committed is the page in the repository.
const committed = "docs/play/index.html"

const usage = `usage:
  play [ID]    open the page in the browser; ID is a level, 05/pause, or a schedule, 05/pause/aFbBA
  play -write  make docs/play/index.html and docs/read/faults.md anew, after a change of a lock: a minute
  play -check  compare docs/play/index.html with a new one, and docs/read/faults.md

For your own lock: go run ./docs/explore -lock DIR -step N -html FILE
`

type options struct {
	graph, lock, out string // of docs/explore -html, as the flags say
	step             int    // the step whose lock that replaces
	check, write     bool
}

func main() {
	var o options
	flags := flag.NewFlagSet("play", flag.ExitOnError)
	flags.Usage = func() { fmt.Fprint(os.Stderr, usage) }
	flags.StringVar(&o.graph, "graph", "", "for docs/explore -html: the file with what it has found")
	flags.StringVar(&o.lock, "lock", "", "and the folder of the lock")
	flags.IntVar(&o.step, "step", 0, "and the step whose lock it replaces")
	flags.StringVar(&o.out, "o", "", "and the file of the page")
	flags.BoolVar(&o.write, "write", false, "make docs/play/index.html and docs/read/faults.md anew")
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
	made := o.check || o.write || o.graph != ""
	if len(args) > 1 || len(args) == 1 && made {
		return errors.New(strings.TrimSpace(usage))
	}
	out := filepath.Join(root, committed)
	if o.graph != "" {
		out, err = filepath.Abs(o.out)
	}
	if err := errors.Join(err, os.Chdir(root)); err != nil {
		return err
	}
	if !made {
		page, err := os.ReadFile(committed)
		if err != nil {
			return err
		}
		return serve(ctx, handler(page, root), strings.Join(args, ""), openBrowser)
	}
	page, err := thePage(ctx, o)
	if err != nil {
		return err
	}
	if o.check {
		old, err := os.ReadFile(committed)
		if err == nil && !bytes.Equal(page, old) {
			err = errors.New(committed + " is not what a build gives: go run ./docs/play -write")
		}
		return err
	}
	if err := os.WriteFile(out, page, 0o666); err != nil {
		return err
	}
	fmt.Printf("%s: %d kB\n", cmp.Or(o.out, committed), len(page)/1000)
	return nil
}

// thePage makes the page of what docs/explore has found, or finds now. That writes or checks
// the other page of it as well: docs/read/faults.md.
func thePage(ctx context.Context, o options) ([]byte, error) {
	if o.graph == "" {
		dir, err := os.MkdirTemp("", "redislock-play-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		o.graph = filepath.Join(dir, "graph.json")
		fmt.Println("Running every lock through every order of events. This takes a minute.")
		explore := exec.CommandContext(ctx, "go", "run", "-C", "docs/keep", "-buildvcs=false", "./explore",
			"-graph", o.graph, fmt.Sprintf("-check=%v", o.check))
		explore.Stdout, explore.Stderr = os.Stdout, os.Stderr
		if err := explore.Run(); err != nil {
			return nil, fmt.Errorf("docs/explore: %w", err)
		}
	}
	found, err := os.ReadFile(o.graph)
	if err != nil {
		return nil, err
	}
	return newPage(found, o)
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
