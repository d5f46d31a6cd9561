package redislock

// How the lock asks all its nodes, and counts their votes.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// acquire stores the hold on a majority of the nodes. If that fails, it undoes it on those
// that may have stored it, and waits for those that are not busy.
func (l *Lock) acquire(ctx context.Context, h *hold, depth int) error {
	r := l.ask(ctx, acquiring, h, depth)
	// Not r.decided: an attempt that is refused waits for the slow nodes too, so that they are
	// free when the undo comes.
	r.count(ctx, l.nodeDeadline(), r.majority)
	expired := depth == 1 && !time.Now().Before(h.validUntil)
	if r.majority() && !expired {
		return nil
	}
	undo := l.ask(ctx, releasing, h, depth-1)
	deadline := l.nodeDeadline() // one for both counts: TryLock returns that soon after ctx ends
	if ctx.Err() != nil {
		// ctx has cut the first count off. Votes that still arrive tell whether the lock is taken.
		r.count(context.Background(), deadline, r.denied)
	}
	undo.count(context.Background(), deadline, undo.onlyBusyLeft)
	return r.whyNot(ctx, expired)
}

// whyNot returns the error of an acquisition that was not won.
func (r *round) whyNot(ctx context.Context, expired bool) error {
	err := error(quorumError{r.tally})
	split := r.depth == 1 && r.yes+r.no >= r.quorum() && ctx.Err() == nil // enough have answered
	switch {
	case expired && r.majority():
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
// majority did; depth 0 deletes the lock. If too few answer, it pauses and asks again (here
// and not in sendRelease, where a pause would keep a node busy). Once the result is certain,
// it waits up to NodeTimeout for the other nodes: the next client should not run into
// leftover keys.
func (l *Lock) release(ctx context.Context, h *hold, depth int) (bool, error) {
	var r *round
	for deadline := time.Now().Add(releaseTimeout); ; time.Sleep(releasePause) {
		previous := r
		r = l.ask(ctx, releasing, h, depth)
		r.count(context.Background(), deadline, r.settled)
		if r.answered() == 0 && previous != nil {
			return previous.result() // this round only says that the time is up
		}
		if r.decided() {
			r.count(context.Background(), l.nodeDeadline(), r.onlyBusyLeft)
		}
		if r.decided() || !slices.ContainsFunc(r.errs, mayPass) || time.Until(deadline) <= releasePause {
			return r.result()
		}
	}
}

// extend renews the lease on all nodes where the hold owns the lock, and reports whether a
// majority does. A renewal does not wait for an earlier command on its node: it may succeed
// on another connection. If a majority owns the lock, the nodes that lack it re-acquire it
// (healing). They count from the next renewal on: while the key was missing, another client
// may have come and gone.
func (l *Lock) extend(h *hold) (bool, error) {
	t := newTally(len(l.nodes))
	for _, n := range l.nodes {
		go func() {
			owns, err := l.sendRenewal(n.rdb, h, &n.renewing)
			n.lacks.Store(err == nil && !owns)
			t.votes <- vote{n.number, owns, err}
		}()
	}
	t.count(h.lost, time.Now().Add(l.ttl), t.decided)
	if t.majority() {
		for _, n := range l.nodes {
			if n.lacks.Swap(false) {
				n.tell(l.newRound(h.lost, acquiring, h, 1)) // depth 1 acquires a free key
			}
		}
	}
	return t.result()
}

func (l *Lock) nodeDeadline() time.Time {
	return time.Now().Add(cmp.Or(l.NodeTimeout, min(50*time.Millisecond, l.ttl/10)))
}

// A round is one request to all nodes, and the tally of their votes.
type round struct {
	*tally
	ctx     context.Context
	request request
	hold    *hold
	depth   int
	waiting atomic.Int32 // nodes that have not begun it, and never will if a newer one replaced it
}

// A request is what a round asks of the nodes.
type request int

const (
	acquiring request = iota // to store the hold with this depth, unless the lock is taken
	releasing                // to set the depth where the hold is stored; 0 deletes it
)

func (l *Lock) newRound(ctx context.Context, q request, h *hold, depth int) *round {
	return &round{tally: newTally(len(l.nodes)), ctx: context.WithoutCancel(ctx),
		request: q, hold: h, depth: depth}
}

// ask begins a round on all nodes.
func (l *Lock) ask(ctx context.Context, q request, h *hold, depth int) *round {
	r := l.newRound(ctx, q, h, depth)
	for _, n := range l.nodes {
		n.tell(r)
	}
	return r
}

// onlyBusyLeft reports whether all nodes have answered but those busy with an earlier round.
func (r *round) onlyBusyLeft() bool { return r.answered()+int(r.waiting.Load()) >= r.nodes }

// A tally counts votes.
type tally struct {
	nodes   int
	votes   chan vote // with room for all: no node waits for the counter
	yes, no int
	errs    []error
	fatal   int // errs that will not pass: Redis replied with one, or the client is closed
}

type vote struct {
	node int
	yes  bool
	err  error
}

func newTally(nodes int) *tally { return &tally{nodes: nodes, votes: make(chan vote, nodes)} }

// count waits for votes until enough returns true, the deadline passes or ctx ends. It does
// not wait for go-redis, which by default ignores ctx during a read.
func (t *tally) count(ctx context.Context, deadline time.Time, enough func() bool) {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	for t.answered() < t.nodes && !enough() {
		select {
		case v := <-t.votes: // even after the deadline: the process may have been paused
			t.add(v)
			continue
		default:
		}
		select {
		case v := <-t.votes:
			t.add(v)
		case <-ctx.Done():
			return
		}
	}
}

func (t *tally) add(v vote) {
	var reply redis.Error
	switch {
	case v.err != nil:
		t.errs = append(t.errs, fmt.Errorf("node %d: %w", v.node, v.err))
		if (errors.As(v.err, &reply) && !isAway(v.err)) || errors.Is(v.err, redis.ErrClosed) {
			t.fatal++
		}
	case v.yes:
		t.yes++
	default:
		t.no++
	}
}

func (t *tally) answered() int  { return t.yes + t.no + len(t.errs) }
func (t *tally) quorum() int    { return t.nodes/2 + 1 } // of all nodes, up or down
func (t *tally) majority() bool { return t.yes >= t.quorum() }
func (t *tally) denied() bool   { return t.nodes-t.no < t.quorum() } // too many said no
func (t *tally) decided() bool  { return t.majority() || t.denied() }

// noMajorityLeft reports whether so many nodes fail for good that asking again is pointless.
func (t *tally) noMajorityLeft() bool { return t.nodes-t.fatal < t.quorum() }

// settled reports whether the vote is decided, or can no longer be: too many have failed.
func (t *tally) settled() bool {
	left := t.nodes - t.answered()
	mayWin, mayBeDenied := t.yes+left >= t.quorum(), t.nodes-t.no-left < t.quorum()
	return t.decided() || (!mayWin && !mayBeDenied)
}

// result reports whether a majority voted yes. It is an error if that is not certain.
func (t *tally) result() (bool, error) {
	if t.decided() {
		return t.majority(), nil
	}
	return false, quorumError{t}
}

// A quorumError is a vote that was not won.
type quorumError struct{ *tally }

// Unwrap leaves out renewals that gave up waiting for a connection, unless all did.
func (e quorumError) Unwrap() []error {
	gaveUp := func(err error) bool { return errors.Is(err, context.Canceled) }
	if errs := slices.DeleteFunc(slices.Clone(e.errs), gaveUp); len(errs) > 0 {
		return errs
	}
	return e.errs
}

func (e quorumError) Error() string {
	return fmt.Sprintf("%d of %d nodes said yes, %d no, %d did not answer in time, %d failed %v",
		e.yes, e.nodes, e.no, e.nodes-e.answered(), len(e.errs), e.errs)
}
