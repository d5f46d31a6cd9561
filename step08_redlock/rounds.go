package redislock

// How the lock asks all its nodes, and counts their votes.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// acquire stores the hold on a majority of the nodes. If that fails, it tells all of them
// to undo it, and waits for those that are not busy.
func (l *Lock) acquire(ctx context.Context, h *hold, depth int) error {
	r := l.ask(ctx, h, depth, true)
	r.count(ctx, l.nodeDeadline(), r.majority)
	expired := depth == 1 && !time.Now().Before(h.validUntil)
	if r.majority() && !expired {
		return nil
	}
	undo, deadline := l.ask(ctx, h, depth-1, false), l.nodeDeadline()
	if ctx.Err() != nil { // it cut off the votes that say whether the lock is taken
		r.count(context.Background(), deadline, r.denied)
	}
	undo.count(context.Background(), deadline, undo.onlyBusyLeft)
	err := error(quorumError{r})
	split := depth == 1 && r.yes+r.no >= r.quorum() && ctx.Err() == nil // no one won
	switch {
	case expired:
		err = fmt.Errorf("%w: granted after the validity had ended: %w", ErrNotAcquired, err)
	case r.denied(), split:
		err = fmt.Errorf("%w: %w", ErrNotAcquired, err)
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return err
}

// release sets the depth of the hold on all nodes that may have it, and reports whether a
// majority did; depth 0 deletes the lock. Once the result is certain, it waits up to
// NodeTimeout for the other nodes: the next client should not run into leftover keys.
func (l *Lock) release(ctx context.Context, h *hold, depth int) (bool, error) {
	r := l.ask(ctx, h, depth, false)
	r.count(context.Background(), time.Now().Add(releaseTimeout), r.decided)
	if r.decided() {
		r.count(context.Background(), l.nodeDeadline(), r.onlyBusyLeft)
	}
	return r.result()
}

// extend renews the lease on all nodes where the hold owns the lock, and reports whether a
// majority does. A renewal does not wait for an earlier command on its node: it may succeed
// on another connection. If a majority owns the lock, the nodes that lack it re-acquire it
// (healing). That is not a vote in this round: another client may have come and gone.
func (l *Lock) extend(h *hold) (bool, error) {
	r, heal := l.newRound(h.lost, h, 1, true), false // only to count; not sent
	counted := make(chan struct{})                   // closed once heal is set
	for _, n := range l.nodes {
		go func() {
			owns, err := sendOnce(h.lost, n.rdb, renewScript, l.key, h.token, l.ttl.Milliseconds())
			r.votes <- vote{n.number, owns, err}
			<-counted
			if heal && err == nil && !owns {
				n.tell(l.newRound(h.lost, h, 1, true)) // depth 1 acquires a free key
			}
		}()
	}
	r.count(h.lost, time.Now().Add(l.ttl), r.decided)
	heal = r.majority()
	close(counted)
	return r.result()
}

func (l *Lock) nodeDeadline() time.Time {
	return time.Now().Add(cmp.Or(l.NodeTimeout, min(50*time.Millisecond, l.ttl/10)))
}

// A round is one request to all nodes, and counts their votes: to acquire the lock for a
// hold, or to set the hold's depth where it is stored.
type round struct {
	ctx     context.Context
	hold    *hold
	depth   int
	acquire bool // otherwise it releases
	nodes   int
	votes   chan vote    // with room for all: no node waits for the counter
	waiting atomic.Int32 // nodes still busy with an earlier round

	yes, no int
	errs    []error
	fatal   int // of the errs, assumed to be permanent: Redis replied, or the client is closed
}

type vote struct {
	node int
	yes  bool
	err  error
}

func (l *Lock) newRound(ctx context.Context, h *hold, depth int, acquire bool) *round {
	return &round{ctx: context.WithoutCancel(ctx), hold: h, depth: depth, acquire: acquire,
		nodes: len(l.nodes), votes: make(chan vote, len(l.nodes))}
}

// ask begins a round on all nodes.
func (l *Lock) ask(ctx context.Context, h *hold, depth int, acquire bool) *round {
	r := l.newRound(ctx, h, depth, acquire)
	for _, n := range l.nodes {
		n.tell(r)
	}
	return r
}

// count waits for votes until enough returns true, the deadline passes or ctx ends. It does
// not wait for go-redis, which by default ignores ctx during a read.
func (r *round) count(ctx context.Context, deadline time.Time, enough func() bool) {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	for r.answered() < r.nodes && !enough() {
		select {
		case <-ctx.Done():
			return
		case v := <-r.votes:
			var reply redis.Error
			switch {
			case v.err != nil:
				r.errs = append(r.errs, fmt.Errorf("node %d: %w", v.node, v.err))
				if errors.As(v.err, &reply) || errors.Is(v.err, redis.ErrClosed) {
					r.fatal++
				}
			case v.yes:
				r.yes++
			default:
				r.no++
			}
		}
	}
}

func (r *round) answered() int        { return r.yes + r.no + len(r.errs) }
func (r *round) quorum() int          { return r.nodes/2 + 1 } // of all nodes, up or down
func (r *round) majority() bool       { return r.yes >= r.quorum() }
func (r *round) denied() bool         { return r.nodes-r.no < r.quorum() }
func (r *round) decided() bool        { return r.majority() || r.denied() }
func (r *round) noMajorityLeft() bool { return r.nodes-r.fatal < r.quorum() }
func (r *round) onlyBusyLeft() bool   { return r.answered()+int(r.waiting.Load()) >= r.nodes }

// result reports whether a majority voted yes. It is an error if that is not certain.
func (r *round) result() (bool, error) {
	if r.decided() {
		return r.majority(), nil
	}
	return false, quorumError{r}
}

// A quorumError is a round that was not won.
type quorumError struct{ *round }

func (e quorumError) Unwrap() []error { return e.errs }
func (e quorumError) Error() string {
	return fmt.Sprintf("%d of %d nodes said yes, %d no, %d did not answer in time, %d failed %v",
		e.yes, e.nodes, e.no, e.nodes-e.answered(), len(e.errs), e.errs)
}
