// Play opens docs/play/index.html, on which the reader is the network: the reader decides
// which command reaches Redis next and when something fails, and tries to break a lock.
// docs/explore makes that page. See docs/play/README.md.
package main

import (
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
	"example.com/redislock-steps/docs/play/page"
)

// committed is the page in the repository.
const committed = "docs/play/index.html"

const usage = `usage:
  play [ID]         open the page in the browser; ID is a level, 05/pause, or a schedule, 05/pause/aFbBA
  play -site DIR    write what is published: the page, and what previews of links to it show

For your own lock: go run ./docs/explore -lock DIR -step N -html FILE

用法：play 在浏览器里打开页面；play 05/pause 打开一关；play 05/pause/aFbBA 打开一条执行顺序
自己的锁：go run ./docs/explore -lock 目录 -step N -html 文件
`

func main() {
	flag.Usage = func() { fmt.Fprint(os.Stderr, usage) }
	site := flag.String("site", "", "")
	flag.Parse()
	if flag.NArg() > 1 {
		flag.Usage()
		os.Exit(1)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	if err := run(ctx, flag.Arg(0), *site); err != nil {
		fmt.Fprintln(os.Stderr, "play:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, schedule, site string) error {
	root, err1 := course.Root()
	index, err2 := os.ReadFile(filepath.Join(root, committed))
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if site != "" {
		return publish(site, index, root)
	}
	return serve(ctx, handler(index, root), schedule, openBrowser)
}

// publish writes a folder for any host of static files: the page, and what previews show.
func publish(dir string, index []byte, root string) error {
	picture, err := os.ReadFile(filepath.Join(root, "docs/read/pictures/play.png"))
	err = errors.Join(err, os.MkdirAll(dir, 0o777))
	site := page.Stubs()
	site["index.html"], site["play.png"] = index, picture
	for name, text := range site {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), text, 0o666))
	}
	return err
}

// serve shows the page to the browsers of this machine until it is interrupted.
func serve(ctx context.Context, h http.Handler, schedule string, browse func(url string)) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	url := strings.TrimSuffix(fmt.Sprintf("http://%s/%s#%s", listener.Addr(), committed, schedule), "#")
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { server.Close() })
	says := map[bool]string{false: "Break this lock: %s\nCtrl-C ends it.\n", true: "攻破这把锁：%s\n按 Ctrl-C 结束。\n"}
	fmt.Printf(says[course.ChineseLocale(os.Getenv)], url)
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
	open := map[string]string{"darwin": "open", "windows": "rundll32 url.dll,FileProtocolHandler"}[runtime.GOOS]
	with := append(strings.Fields(cmp.Or(open, "xdg-open")), url)
	exec.Command(with[0], with[1:]...).Run()
}
