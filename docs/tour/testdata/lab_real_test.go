package redislock

// The stories on real servers: go run ./docs/tour real N URL[,URL...] lays this file over a
// step's folder and names the servers in REDIS_ADDRS. Stories play in
// real time and with a short ttl there, so whatever is measured gets some slack. The
// faults between a client and Redis are made as ever: replies get lost, connections hang
// and break. Faults of Redis itself concern the story's own keys only, which are deleted
// in the end; nothing here changes the server or touches other keys. A story that needs
// more than that is skipped. Of a cluster, a story sees the master that has its keys.

import (
	"bufio"
	"crypto/rand"
	"crypto/sha1"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/proto"
	"github.com/redis/go-redis/v9"
)

var (
	realAddrs = strings.Split(os.Getenv("REDIS_ADDRS"), ",")
	admins    sync.Map                                       // *redis.Client, by node
	tag       = "{" + strings.ToLower(rand.Text()[:8]) + "}" // keeps all keys on one node of a cluster
	cluster   atomic.Bool
)

// twoSlots shows a script that takes a token for a key.
const twoSlots = "TestNumkeysCountsTheTokenAsWell_NobodyCanUnlock"

func init() {
	realTime = true
	ttl, forever, afterwards = 1500*time.Millisecond, 5*time.Second, 20*time.Millisecond
	slack = func(d time.Duration) time.Duration { return d + ttl/3 } // what a busy machine may need
	newRedis = func(node int) backend { return newRealRedis(node) }
	settle = (*lab).quiet
	needsVirtualTime = func(t *testing.T, why string) {
		t.Helper()
		t.Skip("not on real servers: " + why)
	}
	play = func(t *testing.T, story func(t *testing.T)) {
		if len(realAddrs) < nodes {
			t.Fatalf("REDIS_ADDRS names %d servers, this lock needs %d", len(realAddrs), nodes)
		}
		key = tag + strings.ToLower(rand.Text()[:8]) + ":coupons" // others use these servers too
		if newRealRedis(0); cluster.Load() && t.Name() == twoSlots {
			needsVirtualTime(t, "a cluster refuses a script whose keys are in two slots")
		}
		story(t)
	}
}

// quiet lets everything that is in flight arrive. What was sent to a server that hangs does not.
func (l *lab) quiet() {
	for quiet, end := 0, time.Now().Add(slack(0)); quiet < 10 && time.Now().Before(end); quiet++ {
		time.Sleep(time.Millisecond)
		l.trace.mu.Lock()
		if slices.ContainsFunc(l.trace.records, func(r *record) bool { return r.Kind == "command" && r.Reply == "" && !r.held }) {
			quiet = 0
		}
		l.trace.mu.Unlock()
	}
}

// realRedis is a server of REDIS_ADDRS. To each story it looks like a new one.
type realRedis struct {
	opt   *redis.Options
	admin *redis.Client

	mu      sync.Mutex
	conns   []net.Conn
	known   map[string]bool // scripts by their SHA-1, as the server in memory knows them
	message string          // the answer to every command, if any
}

func newRealRedis(node int) *realRedis {
	admin, ok := admins.Load(node)
	if !ok {
		admin, _ = admins.LoadOrStore(node, redis.NewClient(realOptions(realAddrs[node])))
	}
	s := &realRedis{admin: admin.(*redis.Client), known: map[string]bool{}}
	s.opt = s.admin.Options()
	scripts.Range(func(sha, _ any) bool {
		s.known[sha.(string)] = true
		return true
	})
	return s
}

// realOptions reads a URL, or HOST:PORT. Of a cluster, it names the master of these keys.
func realOptions(url string) *redis.Options {
	if !strings.Contains(url, "://") {
		url = "redis://" + url
	}
	opt := must(redis.ParseURL(url))
	one := redis.NewClient(opt)
	defer one.Close()
	if info, _ := one.Info(ctx, "cluster").Result(); strings.Contains(info, "cluster_enabled:1") {
		cluster.Store(true)
		all := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{opt.Addr},
			Username: opt.Username, Password: opt.Password, TLSConfig: opt.TLSConfig})
		defer all.Close()
		opt.Addr = must(all.MasterForKey(ctx, tag)).Options().Addr
	}
	return opt
}

// Keys returns the keys of this story.
func (s *realRedis) Keys() (keys []string) {
	found := s.admin.Scan(ctx, 0, key+"*", 1000).Iterator()
	for found.Next(ctx) {
		keys = append(keys, found.Val())
	}
	must(0, found.Err())
	return keys
}

func (s *realRedis) Exists(key string) bool             { return must(s.admin.Exists(ctx, key).Result()) == 1 }
func (s *realRedis) Type(key string) string             { return must(s.admin.Type(ctx, key).Result()) }
func (s *realRedis) Get(key string) (string, error)     { return s.admin.Get(ctx, key).Result() }
func (s *realRedis) HKeys(key string) ([]string, error) { return s.admin.HKeys(ctx, key).Result() }
func (s *realRedis) Set(key, value string) error        { return s.admin.Set(ctx, key, value, 0).Err() }
func (s *realRedis) SetTTL(key string, d time.Duration) { must(s.admin.PExpire(ctx, key, d).Result()) }

// TTL returns 0 for a key without one, as miniredis does.
func (s *realRedis) TTL(key string) time.Duration {
	return max(0, must(s.admin.PTTL(ctx, key).Result()))
}

func (s *realRedis) FastForward(d time.Duration) {
	for _, key := range s.Keys() {
		if left := s.TTL(key); left > 0 {
			s.SetTTL(key, left-d)
		}
	}
}

func (s *realRedis) FlushAll() {
	if keys := s.Keys(); len(keys) > 0 {
		must(s.admin.Del(ctx, keys...).Result())
	}
}

func (s *realRedis) SetError(message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.message = message
}

// Close breaks all connections and deletes what the story has stored.
func (s *realRedis) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, conn := range s.conns {
		conn.Close()
	}
	s.FlushAll()
}

// Dial returns a connection on which some commands are translated in flight.
func (s *realRedis) Dial() (net.Conn, error) {
	conn, err := net.DialTimeout(s.opt.Network, s.opt.Addr, time.Second)
	if err != nil {
		return nil, err
	}
	if s.opt.TLSConfig != nil {
		conn = tls.Client(conn, s.opt.TLSConfig)
	}
	s.logIn(conn)
	s.mu.Lock()
	s.conns = append(s.conns, conn)
	s.mu.Unlock()
	near, far := net.Pipe()
	go func() {
		defer conn.Close()
		for r, w := bufio.NewReader(far), bufio.NewWriter(conn); ; w.Flush() {
			command, err := proto.Read(r)
			if err != nil {
				return
			}
			args, _ := proto.ReadStrings(command)
			proto.Write(w, s.translate(args))
		}
	}()
	go func() {
		defer far.Close()
		io.Copy(far, conn)
	}()
	return near, nil
}

// logIn sends what the URL says. What the story's clients send comes later.
func (s *realRedis) logIn(conn net.Conn) {
	r := bufio.NewReader(conn)
	for _, command := range [][]string{{"auth", s.opt.Username, s.opt.Password}, {"select", fmt.Sprint(s.opt.DB)}} {
		command = slices.DeleteFunc(command, func(arg string) bool { return arg == "" })
		if len(command) == 1 || command[1] == "0" {
			continue
		}
		proto.Write(conn, command)
		if reply := must(proto.Read(r)); !strings.HasPrefix(reply, "+OK") {
			must(0, fmt.Errorf("%s: %s", command[0], reply))
		}
	}
}

// translate returns what is sent instead of a command, so that the server looks like one
// that has forgotten its scripts, or like one that has only errors to tell.
func (s *realRedis) translate(args []string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch command := strings.ToLower(args[0]); {
	case command == "hello" && s.opt.Protocol == 2: // of the URL; the clients ask for 3
		return []string{"hello", "2"}
	case command == "hello" || command == "client":
	case s.message != "":
		return []string{"eval", "return redis.error_reply(ARGV[1])", "0", s.message}
	case command == "script" && strings.EqualFold(args[1], "flush"):
		clear(s.known)
		return []string{"eval", "return redis.status_reply(ARGV[1])", "0", "OK"}
	case command == "evalsha" && !s.known[args[1]]:
		return []string{"evalsha", strings.Repeat("0", 40), "0"} // no script has this one
	case command == "eval":
		s.known[fmt.Sprintf("%x", sha1.Sum([]byte(args[1])))] = true
	}
	return args
}

// must ends the tests when a real server does not do as ordered.
func must[V any](value V, err error) V {
	if err != nil {
		panic(fmt.Errorf("the real Redis: %w", err))
	}
	return value
}
