package redislock

// From step 02 on: clients that die half-way, and commands that Redis refuses.

import (
	"errors"
	"reflect"
	"time"

	"github.com/redis/go-redis/v9"
)

// crashAfter kills the client when Redis has run its nth command from now on.
func (l *lab) crashAfter(name string, nth int) *twist {
	match := func(_ redis.Cmder, n int) bool { return n == nth }
	return l.announce(name, &twist{match: match, after: func() { l.crash(name) }})
}

// refuse lets Redis answer an error to the client's nth command from now on, and to all that follow.
func (l *lab) refuse(name string, nth int, message string) *twist {
	match := func(_ redis.Cmder, n int) bool { return n >= nth }
	return l.announce(name, &twist{match: match, reply: errors.New(message), again: true})
}

// limitHold sets MaxHold on the locks that have it. Their watchdog would hold a forgotten lock as long as its
// process lives.
func limitHold(l *Lock, d time.Duration) {
	if f := reflect.ValueOf(l).Elem().FieldByName("MaxHold"); f.IsValid() {
		f.SetInt(int64(d))
	}
}
