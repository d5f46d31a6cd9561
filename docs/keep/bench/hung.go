package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

const (
	allWell = "step 08, none hung"
	twoHung = "step 08, 2 of 5 hung"
)

// measureHung compares step 08 on five nodes with step 08 on five others of which two are
// stopped, and then lets redsync try on the latter. The nodes hang: they take connections
// and commands, and never answer.
func (r *results) measureHung(ctx context.Context, well, ill []*server) (err error) {
	var entrants []entrant
	for _, e := range []struct {
		name    string
		servers []*server
	}{{allWell, well}, {twoHung, ill}} {
		l := stepLocker{network{servers: e.servers}.clients(), 8}
		defer l.close()
		entrants = append(entrants, entrant{name: e.name, locker: l, key: "warm"})
		if err := r.round(new(pairs), entrants[len(entrants)-1]); err != nil {
			return err
		}
	}
	for _, s := range ill[:2] {
		if err := s.signal("STOP"); err != nil {
			return err
		}
		defer s.signal("CONT")
	}
	if r.Hung, err = r.measurePairs(ctx, entrants); err != nil {
		return err
	}
	r.Attempts = []attempt{
		tryRedsync(ill, "go-redis's defaults", false, r.Plan.Patience),
		tryRedsync(ill, "ContextTimeoutEnabled", true, r.Plan.Patience),
	}
	return nil
}

// An attempt is one Lock and Unlock of redsync with its default options (expiry 8s) on
// nodes of which two hang.
type attempt struct {
	Options      string
	Lock, Unlock time.Duration
	Failed       string `json:",omitzero"` // why it did not get that far
}

func tryRedsync(servers []*server, options string, contextTimeout bool, patience time.Duration) attempt {
	var pools []redsyncredis.Pool
	for _, s := range servers {
		rdb := redis.NewClient(&redis.Options{Addr: s.Addr, ContextTimeoutEnabled: contextTimeout})
		defer rdb.Close()
		pools = append(pools, goredis.NewPool(rdb))
	}
	m := redsync.New(pools...).NewMutex("redsync")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	a := attempt{Options: options}
	start := time.Now()
	done := make(chan error, 1)
	go func() { done <- m.LockContext(ctx) }()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		err = fmt.Errorf("not locked after %v", patience)
	}
	a.Lock = time.Since(start)
	if err != nil {
		a.Failed = err.Error()
		return a
	}
	start = time.Now()
	ok, err := m.UnlockContext(ctx)
	a.Unlock = time.Since(start)
	if !ok {
		a.Failed = errors.Join(errors.New("not unlocked"), err).Error()
	}
	return a
}
