package redislock

// How the lock asks all its nodes, and counts their votes.

import (
	"cmp"
	"context"
	"fmt"
	"time"
)

// acquire stores the hold on a majority of the nodes. If that fails, it undoes it on those
// that may have stored it.
func (l *Lock) acquire(ctx context.Context, h *hold, depth int) error {
	t := l.ask(h, func(n *node) (bool, error) { return n.acquire(ctx, h, depth) })
	// A refused attempt waits for the slow nodes too, so that they are free when the undo comes.
	t.count(ctx, l.nodeDeadline(), t.majority)
	tooLate := depth == 1 && !time.Now().Before(h.validUntil)
	if t.majority() && !tooLate {
		return nil
	}
	undo := l.ask(h, func(n *node) (bool, error) { return n.release(ctx, h, depth-1) })
	undo.count(context.Background(), l.nodeDeadline(), undo.onlyBusyLeft)
	return t.whyNot(ctx, depth, tooLate)
}

// whyNot returns the error of an acquisition that was not won.
func (t *tally) whyNot(ctx context.Context, depth int, tooLate bool) error {
	err := error(quorumError{t})
	enough := t.yes+t.no >= t.quorum() && ctx.Err() == nil // a vote, though no one has won it
	switch {
	case tooLate && t.majority():
		err = fmt.Errorf("%w: granted after the validity had ended: %w", ErrNotAcquired, err)
	case t.denied(), depth == 1 && enough: // nested, only a certain no is a loss
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
	deadline := time.Now().Add(releaseTimeout)
	for {
		t := l.ask(h, func(n *node) (bool, error) { return n.release(ctx, h, depth) })
		t.count(context.Background(), deadline, t.decided)
		if t.decided() {
			t.count(context.Background(), l.nodeDeadline(), t.onlyBusyLeft)
		}
		if t.decided() || t.rejected == len(t.errs) || time.Until(deadline) <= releasePause {
			return t.result()
		}
		time.Sleep(releasePause)
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
			owns, err := l.sendRenewal(n.rdb, h)
			n.lacks.Store(err == nil && !owns)
			t.votes <- vote{n.number, owns, err}
		}()
	}
	// This renewal began ttl/3 after the last one. If it ends at 0.88 ttl, another one, ttl/30
	// later, still comes in time: one node may hang, and others fail once.
	t.count(h.lost, time.Now().Add(l.ttl*11/20), t.decided)
	if t.majority() {
		for _, n := range l.nodes {
			if n.lacks.Swap(false) {
				n.heal(h)
			}
		}
	}
	owns, err := t.result()
	if err != nil && len(t.errs) == 0 {
		err = fmt.Errorf("%w: %w", errNotRenewed, err)
	}
	return owns, err
}

func (l *Lock) nodeDeadline() time.Time {
	return time.Now().Add(cmp.Or(l.NodeTimeout, min(50*time.Millisecond, l.ttl/10)))
}

// ask gives all nodes the same job for h, and returns the tally of their votes.
func (l *Lock) ask(h *hold, do func(n *node) (bool, error)) *tally {
	t := newTally(len(l.nodes))
	j := &job{h, do, t.votes}
	for _, n := range l.nodes {
		if n.tell(j) {
			t.busy[n.number] = true
		}
	}
	return t
}

// A tally counts votes.
type tally struct {
	nodes    int
	busy     map[int]bool // nodes that had an earlier job to do first, and have not voted
	votes    chan vote    // with room for all: no node waits for the counter
	yes, no  int
	errs     []error
	rejected int // errs that another attempt does not change
}

type vote struct {
	node int
	yes  bool
	err  error
}

func newTally(nodes int) *tally {
	return &tally{nodes: nodes, busy: map[int]bool{}, votes: make(chan vote, nodes)}
}

// count waits for votes until enough returns true, the deadline passes or ctx ends. It does
// not wait for go-redis, which by default ignores ctx during a read.
func (t *tally) count(ctx context.Context, deadline time.Time, enough func() bool) {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	for t.answered() < t.nodes && !enough() {
		select {
		case v := <-t.votes:
			t.add(v)
		case <-ctx.Done():
			select {
			case v := <-t.votes: // there already: the process may have been paused
				t.add(v)
			default:
				return
			}
		}
	}
}

func (t *tally) add(v vote) {
	delete(t.busy, v.node)
	switch {
	case v.err != nil:
		t.errs = append(t.errs, fmt.Errorf("node %d: %w", v.node, v.err))
		if fateOf(v.err) == rejected {
			t.rejected++
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

// onlyBusyLeft reports whether all nodes have answered but those that were busy.
func (t *tally) onlyBusyLeft() bool { return t.answered()+len(t.busy) >= t.nodes }

// noMajorityLeft reports whether so many nodes fail for good that asking again is pointless.
func (t *tally) noMajorityLeft() bool { return t.nodes-t.rejected < t.quorum() }

// result reports whether a majority voted yes. It is an error if that is not certain.
func (t *tally) result() (bool, error) {
	if t.decided() {
		return t.majority(), nil
	}
	return false, quorumError{t}
}

// A quorumError is a vote that was not won.
type quorumError struct{ *tally }

func (e quorumError) Unwrap() []error { return e.errs }

func (e quorumError) Error() string {
	return fmt.Sprintf("%d of %d nodes said yes, %d no, %d did not answer in time, %d failed %v",
		e.yes, e.nodes, e.no, e.nodes-e.answered(), len(e.errs), e.errs)
}
