package fencing

// The resources. Each keeps the highest token it has seen next to the data, and compares
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
	// ErrStaleToken means that the resource has seen a higher token: the caller's lease
	// has expired, and another client uses the resource. It is about this request only. If
	// the request was resent after a lost reply, the first one may have been carried out
	// before the higher token arrived.
	ErrStaleToken = errors.New("stale token")

	// ErrUnknownResource means that the resource was never created. A write does not create
	// it: a resource that has lost its highest token would accept the next stale write.
	ErrUnknownResource = errors.New("unknown resource")

	// ErrOvertaken means that another client has marked the Marked value since.
	ErrOvertaken = errors.New("overtaken")
)

// A Resource holds named values and checks fencing tokens. It keeps one highest token for
// each name. Tokens are 1 or more and come from a Lock or from Claim, but not from both for
// the same name: they would not know each other's numbers.
type Resource interface {
	// Create adds a resource that has seen no token. It does nothing if the resource exists.
	Create(ctx context.Context, name, value string) error

	// Read returns the value, and raises the highest token: a stale write must not change
	// the value under its reader, even if the reader has not written yet. It returns
	// ErrStaleToken if token is lower than the highest.
	Read(ctx context.Context, token int64, name string) (value string, err error)

	// Write stores the value. It returns ErrStaleToken if token is lower than the highest
	// that the resource has seen. An equal one belongs to the same holder.
	Write(ctx context.Context, token int64, name, value string) error

	// Claim raises the highest token by one and returns it. It is for holders of a lock
	// without numbers, or with numbers that can be lost.
	Claim(ctx context.Context, name string) (token int64, err error)
}

// validate rejects what is not a fencing token, or not a name.
func validate(token int64, name string) error {
	if token < 1 {
		return fmt.Errorf("token %d is below the minimum of 1", token)
	}
	if name == "" {
		return errors.New("resource name is empty")
	}
	return nil
}

// wrap adds to err what failed and for which resource.
func wrap(op, name string, err error) error {
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
	if err := validate(1, name); err != nil {
		return wrap("create", name, err)
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
	return value, wrap("read", name, err)
}

// Write implements Resource.
func (m *Memory) Write(_ context.Context, token int64, name, value string) error {
	return wrap("write", name, m.access(token, name, func(r *entry) { r.value = value }))
}

// Claim implements Resource.
func (m *Memory) Claim(_ context.Context, name string) (token int64, err error) {
	err = m.step(1, name, func(r *entry) error {
		r.fence++
		token = r.fence
		return nil
	})
	return token, wrap("claim", name, err)
}

// access runs fn on an entry if the token is not stale.
func (m *Memory) access(token int64, name string, fn func(*entry)) error {
	return m.step(token, name, func(r *entry) error {
		if err := compare(token, r.fence); err != nil {
			return err
		}
		r.fence = token
		fn(r)
		return nil
	})
}

// step runs fn on an entry, in one step: between a comparison and a write, a higher token
// could come.
func (m *Memory) step(token int64, name string, fn func(*entry) error) error {
	if err := validate(token, name); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.entries[name]
	if r == nil {
		return ErrUnknownResource
	}
	return fn(r)
}

// createScript makes the hash KEYS[1] with the value ARGV[1] unless it exists.
var createScript = redis.NewScript(`-- create value
if redis.call('EXISTS', KEYS[1]) == 0 then
	redis.call('HSET', KEYS[1], 'fence', 0, 'value', ARGV[1])
end
return 1
`)

// readScript raises the fence of the hash KEYS[1] to the token ARGV[1] unless the fence is
// higher, and returns the fence and the value.
var readScript = redis.NewScript(`-- read fence
local fence = redis.call('HGET', KEYS[1], 'fence')
if ` + notStale + ` then
	redis.call('HSET', KEYS[1], 'fence', ARGV[1])
	fence = ARGV[1]
end
return {fence, redis.call('HGET', KEYS[1], 'value')}
`)

// writeScript raises the fence in the same way and stores the value ARGV[2], unless the
// fence is higher. It returns the fence.
var writeScript = redis.NewScript(`-- write fence value
local fence = redis.call('HGET', KEYS[1], 'fence')
if ` + notStale + ` then
	redis.call('HSET', KEYS[1], 'fence', ARGV[1], 'value', ARGV[2])
	fence = ARGV[1]
end
return {fence}
`)

// claimScript raises the fence of the hash KEYS[1] by one and returns it, or 0 if there is
// no such hash.
var claimScript = redis.NewScript(`-- claim
if redis.call('HEXISTS', KEYS[1], 'fence') == 0 then
	return 0
end
redis.call('HINCRBY', KEYS[1], 'fence', 1)
return redis.call('HGET', KEYS[1], 'fence')
`)

// maxRedisToken is the highest token that a Lua script can tell from its neighbours: Lua's
// numbers are float64.
const maxRedisToken = 1 << 53

// Redis is a Resource that keeps each name in a Redis hash with the fields fence and value.
type Redis struct {
	rdb redis.UniversalClient
}

var _ Resource = (*Redis)(nil)

// NewRedis returns the resources in the Redis of rdb. It does not contact Redis.
func NewRedis(rdb redis.UniversalClient) *Redis {
	return &Redis{rdb: rdb}
}

// Create implements Resource.
func (r *Redis) Create(ctx context.Context, name, value string) error {
	if err := r.validate(1, name); err != nil {
		return wrap("create", name, err)
	}
	return wrap("create", name, createScript.Run(ctx, r.rdb, []string{name}, value).Err())
}

// Read implements Resource.
func (r *Redis) Read(ctx context.Context, token int64, name string) (value string, err error) {
	value, err = r.access(ctx, readScript, token, name)
	return value, wrap("read", name, err)
}

// Write implements Resource.
func (r *Redis) Write(ctx context.Context, token int64, name, value string) error {
	_, err := r.access(ctx, writeScript, token, name, value)
	return wrap("write", name, err)
}

// Claim implements Resource. If a reply is lost and go-redis resends the command, a number
// is skipped.
func (r *Redis) Claim(ctx context.Context, name string) (token int64, err error) {
	if err := r.validate(1, name); err != nil {
		return 0, wrap("claim", name, err)
	}
	token, err = claimScript.Run(ctx, r.rdb, []string{name}).Int64()
	if err == nil && token == 0 {
		err = ErrUnknownResource
	}
	return token, wrap("claim", name, err)
}

// access runs a script that returns the fence, and perhaps the value.
func (r *Redis) access(
	ctx context.Context, script *redis.Script, token int64, name string, args ...any,
) (value string, err error) {
	if err := r.validate(token, name); err != nil {
		return "", err
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

func (r *Redis) validate(token int64, name string) error {
	if r.rdb == nil {
		return errors.New("client is nil")
	}
	if token > maxRedisToken {
		return fmt.Errorf("token %d is above %d, the highest that a script can compare",
			token, int64(maxRedisToken))
	}
	return validate(token, name)
}

// Marked is a value with antirez's answer to fencing tokens
// (http://antirez.com/news/101): check-and-set with a random token. The holder marks the
// value with its token, then reads, then writes if the mark is still its own. It must mark
// before it reads. Random tokens have no order: the last client to mark wins, even if its
// lease has expired.
type Marked struct {
	mu          sync.Mutex
	mark, value string
}

// NewMarked returns a value without a mark.
func NewMarked(value string) *Marked {
	return &Marked{value: value}
}

// Mark makes token the mark, and replaces any other.
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
