package redislock

// The same stories on real servers: REDIS_ADDRS=host:port[,host:port...] go test. There they play in real time and with
// a short ttl, so whatever is measured gets some slack. The faults between a client and Redis are made as ever: replies
// get lost, connections hang and break. Faults of Redis itself concern the story's own keys only, which are deleted in
// the end; nothing here changes the server or touches other keys. A story that needs more than that is skipped.

import (
	"crypto/rand"
	"crypto/sha1"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
)

// realAddrs are the real servers, nil in virtual time.
var realAddrs []string

func init() {
	if addrs := os.Getenv("REDIS_ADDRS"); addrs != "" {
		realAddrs = strings.Split(addrs, ",")
		clock, ttl, afterwards, forever = "real", 1500*time.Millisecond, 20*time.Millisecond, 5*time.Second
	}
}

// play runs a story in a bubble of virtual time, or as it is on real servers.
func play(t *testing.T, story func(t *testing.T)) {
	if realAddrs == nil {
		synctest.Test(t, story)
		return
	}
	if len(realAddrs) < nodes {
		t.Fatalf("REDIS_ADDRS names %d servers, this lock needs %d", len(realAddrs), nodes)
	}
	for node, addr := range realAddrs[:nodes] {
		if slices.Contains(realAddrs[:node], addr) {
			t.Fatalf("REDIS_ADDRS names %s twice: the nodes must be independent", addr)
		}
		if err := newRealRedis(node).admin.Ping(ctx).Err(); err != nil {
			t.Fatalf("REDIS_ADDRS names %s: %v", addr, err)
		}
	}
	key = strings.ToLower(rand.Text()[:8]) + ":coupons" // whoever else uses these servers
	story(t)
}

// needsVirtualTime skips a story that cannot be played on real servers.
func needsVirtualTime(t *testing.T, why string) {
	t.Helper()
	if realAddrs != nil {
		t.Skip("not on real servers: " + why)
	}
}

// slack adds to a duration what a busy machine may need, nothing in virtual time.
func slack(d time.Duration) time.Duration {
	if realAddrs != nil {
		d += ttl / 3
	}
	return d
}

// wait lets everything that is on its way arrive. What was sent to a server that hangs does not.
func (l *lab) wait() {
	if realAddrs == nil {
		synctest.Wait()
		return
	}
	for quiet, end := 0, time.Now().Add(slack(0)); quiet < 10 && time.Now().Before(end); quiet++ {
		time.Sleep(time.Millisecond)
		if l.underWay() {
			quiet = 0
		}
	}
}

// underWay reports whether a command will be answered that is not yet.
func (l *lab) underWay() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timeline.mu.Lock()
	defer l.timeline.mu.Unlock()
	return slices.ContainsFunc(l.timeline.events, func(e *event) bool {
		return e.args != nil && e.reply == "" && l.servers[l.masters[e.node]].hold.Load() == nil
	})
}

// backend is what a story sees of a Redis, past the clients: a miniredis, or a real one.
type backend interface {
	Dial() (net.Conn, error)
	Close()
	Keys() []string
	Exists(key string) bool
	Type(key string) string
	Get(key string) (string, error)
	HKeys(key string) ([]string, error)
	Set(key, value string) error
	TTL(key string) time.Duration
	SetTTL(key string, ttl time.Duration)
	FastForward(d time.Duration) // lets keys expire early
	SetError(message string)     // the answer to every command, until it is ""
	CommandCount() int
}

// realRedis is a server of REDIS_ADDRS. To each story it looks like a new one.
type realRedis struct {
	addr  string
	admin *redis.Client

	mu      sync.Mutex
	conns   []net.Conn
	sent    int
	scripts map[string]bool // known by their SHA-1
	message string          // the answer to every command, if any
}

var admins sync.Map // *redis.Client, by address

func newRealRedis(node int) *realRedis {
	addr := realAddrs[node]
	admin, _ := admins.LoadOrStore(addr, redis.NewClient(&redis.Options{Addr: addr}))
	return &realRedis{addr: addr, admin: admin.(*redis.Client), scripts: map[string]bool{}}
}

// Keys returns the keys of this story.
func (s *realRedis) Keys() (keys []string) {
	found := s.admin.Scan(ctx, 0, key+"*", 1000).Iterator()
	for found.Next(ctx) {
		keys = append(keys, found.Val())
	}
	must(found.Err())
	return keys
}

func (s *realRedis) Exists(key string) bool             { return must1(s.admin.Exists(ctx, key).Result()) == 1 }
func (s *realRedis) Type(key string) string             { return must1(s.admin.Type(ctx, key).Result()) }
func (s *realRedis) Get(key string) (string, error)     { return s.admin.Get(ctx, key).Result() }
func (s *realRedis) HKeys(key string) ([]string, error) { return s.admin.HKeys(ctx, key).Result() }
func (s *realRedis) Set(key, value string) error        { return s.admin.Set(ctx, key, value, 0).Err() }

// TTL returns 0 for a key without one, as miniredis does.
func (s *realRedis) TTL(key string) time.Duration {
	return max(0, must1(s.admin.PTTL(ctx, key).Result()))
}

func (s *realRedis) SetTTL(key string, ttl time.Duration) {
	must(s.admin.PExpire(ctx, key, ttl).Err())
}

func (s *realRedis) FastForward(d time.Duration) {
	for _, key := range s.Keys() {
		if left := s.TTL(key); left > 0 {
			s.SetTTL(key, left-d)
		}
	}
}

func (s *realRedis) SetError(message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.message = message
}

func (s *realRedis) CommandCount() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent
}

// Close breaks all connections and deletes what the story has stored.
func (s *realRedis) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, conn := range s.conns {
		conn.Close()
	}
	if keys := s.Keys(); len(keys) > 0 {
		must(s.admin.Del(ctx, keys...).Err())
	}
}

func (s *realRedis) Dial() (net.Conn, error) {
	conn, err := net.DialTimeout("tcp", s.addr, time.Second)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns = append(s.conns, conn)
	return realConn{conn, s}, nil
}

// realConn is a connection to a real server.
type realConn struct {
	net.Conn
	server *realRedis
}

func (c realConn) Write(b []byte) (int, error) {
	if _, err := c.Conn.Write(c.server.translate(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// translate returns what is sent in place of a command, so that the server looks like a new one, which knows no scripts
// yet, or like one that has only errors to tell.
func (s *realRedis) translate(b []byte) []byte {
	words := strings.Split(string(b), "\r\n") // *2 $3 get ...
	if len(words) < 6 {
		return b
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent++
	switch command, arg := words[2], words[4]; {
	case command == "hello" || command == "client":
	case s.message != "":
		return request("eval", "return redis.error_reply(ARGV[1])", "0", s.message)
	case command == "script" && arg == "flush":
		clear(s.scripts)
		return request("eval", "return redis.status_reply(ARGV[1])", "0", "OK")
	case command == "evalsha" && !s.scripts[arg]:
		return request("evalsha", strings.Repeat("0", 40), "0") // no script has this one
	case command == "eval":
		s.scripts[fmt.Sprintf("%x", sha1.Sum([]byte(arg)))] = true
	}
	return b
}

// request writes a command as Redis wants it.
func request(words ...string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, word := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(word), word)
	}
	return []byte(b.String())
}

// must ends the tests when a real server does not do as it is told.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

func must1[T any](value T, err error) T {
	must(err)
	return value
}
