package fencing

// The resources. Each keeps the highest token it has seen beside the data, and compares
// (check.go) and writes in one step.

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/redis/go-redis/v9"
)

var (
	// ErrStaleToken means that the resource has seen a higher token: the caller's hold is
	// over, and somebody else works there. It is about this request. If its reply was
	// lost and it was sent again, the first one may have been carried out, before the
	// higher token came.
	ErrStaleToken = errors.New("stale token")

	// ErrUnknownResource means that the resource was never created. It is not created by
	// a write: one that has lost its record of the highest token would let the next stale
	// write pass.
	ErrUnknownResource = errors.New("unknown resource")

	// ErrOvertaken means that somebody else has marked the Marked value since.
	ErrOvertaken = errors.New("overtaken")
)

// A Resource holds named values and checks fencing tokens, a highest token for each name.
// Tokens are 1 or more and come from a Lock, or from Claim. Both for one name do not go
// together: they would not know each other's numbers.
type Resource interface {
	// Create adds a resource that has seen no token. It does nothing if the resource is there.
	Create(ctx context.Context, name, value string) error

	// Read returns the value, and raises the highest token: what was read must not change
	// under its reader by a late write, even if the reader has not written yet. A lower
	// token is refused with ErrStaleToken.
	Read(ctx context.Context, token int64, name string) (value string, err error)

	// Write stores the value. A lower token than the highest that the resource has seen
	// is refused with ErrStaleToken. An equal one is the same holder.
	Write(ctx context.Context, token int64, name, value string) error

	// Claim returns a token that is one higher than the highest and makes it the highest.
	// It is for those who hold a lock without numbers, or with numbers that can be lost.
	Claim(ctx context.Context, name string) (token int64, err error)
}

// checkToken refuses what is neither a fencing token nor a name.
func checkToken(token int64, name string) error {
	if token < 1 {
		return fmt.Errorf("the token is %d, it must be at least 1", token)
	}
	return checkName(name)
}

// checkName refuses the empty name.
func checkName(name string) error {
	if name == "" {
		return errors.New("the name of the resource is empty")
	}
	return nil
}

// fail says which resource err is about.
func fail(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("fencing: %s %q: %w", op, name, err)
}

// Memory is a Resource in the memory of one process.
type Memory struct {
	mu      sync.Mutex
	entries map[string]*entry
}

type entry struct {
	fence int64
	value string
}

var _ Resource = (*Memory)(nil)

// NewMemory returns a Memory without resources.
func NewMemory() *Memory {
	return &Memory{entries: map[string]*entry{}}
}

// Create implements Resource.
func (m *Memory) Create(_ context.Context, name, value string) error {
	if err := checkName(name); err != nil {
		return fail("create", name, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entries[name] == nil {
		m.entries[name] = &entry{value: value}
	}
	return nil
}

// Read implements Resource.
func (m *Memory) Read(_ context.Context, token int64, name string) (value string, err error) {
	err = m.access(token, name, func(r *entry) { value = r.value })
	return value, fail("read", name, err)
}

// Write implements Resource.
func (m *Memory) Write(_ context.Context, token int64, name, value string) error {
	return fail("write", name, m.access(token, name, func(r *entry) { r.value = value }))
}

// Claim implements Resource.
func (m *Memory) Claim(_ context.Context, name string) (token int64, err error) {
	if err := checkName(name); err != nil {
		return 0, fail("claim", name, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.entries[name]
	if r == nil {
		return 0, fail("claim", name, ErrUnknownResource)
	}
	r.fence++
	return r.fence, nil
}

// access runs fn on an entry if the token is not stale.
func (m *Memory) access(token int64, name string, fn func(*entry)) error {
	if err := checkToken(token, name); err != nil {
		return err
	}
	m.mu.Lock() // one step: between a comparison and a write, a higher token could come
	defer m.mu.Unlock()
	r := m.entries[name]
	if r == nil {
		return ErrUnknownResource
	}
	if err := compare(token, r.fence); err != nil {
		return err
	}
	r.fence = token
	fn(r)
	return nil
}

// createScript makes the hash KEYS[1] with the value ARGV[1] unless it is there.
var createScript = redis.NewScript(`-- create value
if redis.call('EXISTS', KEYS[1]) == 0 then
	redis.call('HSET', KEYS[1], 'fence', 0, 'value', ARGV[1])
end
return 1
`)

// readScript raises the fence of the hash KEYS[1] to the token ARGV[1] unless it is
// higher, and returns the fence and the value.
var readScript = redis.NewScript(`-- read fence
local fence = redis.call('HGET', KEYS[1], 'fence')
if ` + notStale + ` then
	redis.call('HSET', KEYS[1], 'fence', ARGV[1])
	fence = ARGV[1]
end
return {fence, redis.call('HGET', KEYS[1], 'value')}
`)

// writeScript raises the fence likewise and stores the value ARGV[2], unless the fence is
// higher. It returns the fence.
var writeScript = redis.NewScript(`-- write fence value
local fence = redis.call('HGET', KEYS[1], 'fence')
if ` + notStale + ` then
	redis.call('HSET', KEYS[1], 'fence', ARGV[1], 'value', ARGV[2])
	fence = ARGV[1]
end
return {fence}
`)

// claimScript raises the fence of the hash KEYS[1] by one and returns it, 0 if there is
// no such hash.
var claimScript = redis.NewScript(`-- claim
if redis.call('HEXISTS', KEYS[1], 'fence') == 0 then
	return 0
end
redis.call('HINCRBY', KEYS[1], 'fence', 1)
return redis.call('HGET', KEYS[1], 'fence')
`)

// maxRedisToken is the highest token that a Lua script can tell from its neighbours: its
// numbers are float64.
const maxRedisToken = 1 << 53

// Redis is a Resource that keeps each name in a Redis hash with the fields fence and value.
type Redis struct {
	rdb redis.UniversalClient
}

var _ Resource = (*Redis)(nil)

// NewRedis returns the resources in that Redis. It sends nothing.
func NewRedis(rdb redis.UniversalClient) *Redis {
	return &Redis{rdb: rdb}
}

// Create implements Resource.
func (r *Redis) Create(ctx context.Context, name, value string) error {
	if err := r.check(name); err != nil {
		return fail("create", name, err)
	}
	return fail("create", name, createScript.Run(ctx, r.rdb, []string{name}, value).Err())
}

// Read implements Resource.
func (r *Redis) Read(ctx context.Context, token int64, name string) (value string, err error) {
	value, err = r.access(ctx, readScript, token, name)
	return value, fail("read", name, err)
}

// Write implements Resource.
func (r *Redis) Write(ctx context.Context, token int64, name, value string) error {
	_, err := r.access(ctx, writeScript, token, name, value)
	return fail("write", name, err)
}

// Claim implements Resource. When the reply is lost and go-redis sends the command again,
// a number is skipped.
func (r *Redis) Claim(ctx context.Context, name string) (token int64, err error) {
	if err := r.check(name); err != nil {
		return 0, fail("claim", name, err)
	}
	token, err = claimScript.Run(ctx, r.rdb, []string{name}).Int64()
	if err == nil && token == 0 {
		err = ErrUnknownResource
	}
	return token, fail("claim", name, err)
}

// access runs a script that answers with the fence, and perhaps with the value.
func (r *Redis) access(
	ctx context.Context, script *redis.Script, token int64, name string, args ...any,
) (value string, err error) {
	if err := checkToken(token, name); err != nil {
		return "", err
	}
	if err := r.check(name); err != nil {
		return "", err
	}
	if token > maxRedisToken {
		return "", fmt.Errorf("the token is %d, a script can compare none above %d",
			token, int64(maxRedisToken))
	}
	reply, err := script.Run(ctx, r.rdb, []string{name}, append([]any{token}, args...)...).Slice()
	if err != nil {
		return "", err
	}
	text, ok := reply[0].(string)
	if !ok {
		return "", ErrUnknownResource
	}
	fence, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return "", err
	}
	if err := compare(token, fence); err != nil {
		return "", err
	}
	if len(reply) > 1 {
		value, _ = reply[1].(string)
	}
	return value, nil
}

func (r *Redis) check(name string) error {
	if r.rdb == nil {
		return errors.New("the Redis client is nil")
	}
	return checkName(name)
}

// Marked is a value with antirez's answer to fencing tokens
// (http://antirez.com/news/101): check-and-set by a random token. Whoever holds the lock
// marks the value with its token, then reads, then writes if the mark is still its own.
// The mark must come before the read. A random token has no order: the last one to mark
// wins, also if it is late.
type Marked struct {
	mu          sync.Mutex
	mark, value string
}

// NewMarked returns a value that nobody has marked.
func NewMarked(value string) *Marked {
	return &Marked{value: value}
}

// Mark makes token the mark, whoever was there before.
func (m *Marked) Mark(token string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mark = token
}

// Read returns the value.
func (m *Marked) Read() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.value
}

// Write stores the value if the mark is token, and returns ErrOvertaken if it is not.
func (m *Marked) Write(token, value string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := compareMarks(token, m.mark); err != nil {
		return fmt.Errorf("fencing: write: %w", err)
	}
	m.value = value
	return nil
}
