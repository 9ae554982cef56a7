package accounts

import (
	"context"
	"slices"
	"sync"
)

// rank is who goes first among those who wait for a turn.
type rank uint8

const (
	stranger rank = iota // an address from which nobody is known
	neighbor             // an address from which somebody has a session
	familiar             // an account that had a session from this address lately, or the service itself
	ranks
)

// queue grants turns at something costly: familiar ones first, then neighbors and strangers by turns. Within a rank it goes
// one address after the other, and within an address in the order of coming. Neither many connections of one address nor
// many addresses keep those out who are known, and those of a known address keep no stranger out.
type queue struct {
	mu        sync.Mutex
	free      int // turns that nobody has
	most      int // waiters
	waiting   int
	lines     [ranks]line
	strangers bool // have the next turn that familiar ones leave
}

// line is the waiters of one rank.
type line struct {
	next []string             // addresses with waiters, in the order of their turns
	by   map[string][]*waiter // never empty
}

type waiter struct {
	address string
	rank    rank
	turn    chan struct{} // closed when it has its turn, or is turned away
	away    bool          // turned away; set before turn is closed
}

func newQueue(turns, most int) *queue {
	q := &queue{free: turns, most: most}
	for i := range q.lines {
		q.lines[i].by = make(map[string][]*waiter)
	}
	return q
}

// enter waits for a turn, which done returns. When too many wait, one of the address that has the most waiters is
// turned away: of strangers, or of neighbors where one of their addresses has more, and over an eighth of the places. A
// familiar one goes only where all are. Who is turned away gets an [ErrTooManyLogins], which may be who just comes.
func (q *queue) enter(ctx context.Context, address string, r rank) (done func(), err error) {
	q.mu.Lock()
	if q.free > 0 {
		q.free--
		q.mu.Unlock()
		return q.done, nil
	}
	w := &waiter{address: address, rank: r, turn: make(chan struct{})}
	q.lines[r].add(w)
	q.waiting++
	if q.waiting > q.most {
		q.turnAway()
	}
	q.mu.Unlock()
	select {
	case <-w.turn:
		if w.away {
			return nil, tooMany(1)
		}
		return q.done, nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case <-w.turn:
		if !w.away {
			q.pass()
		}
	default:
		q.lines[r].remove(w)
		q.waiting--
	}
	return nil, ctx.Err()
}

func (q *queue) done() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.pass()
}

// pass hands a turn to the next waiter. q.mu is held.
func (q *queue) pass() {
	for _, r := range q.order() {
		l := &q.lines[r]
		if len(l.next) == 0 {
			continue
		}
		if r != familiar {
			q.strangers = r == neighbor
		}
		address := l.next[0]
		w := l.by[address][0]
		l.remove(w)
		if len(l.by[address]) > 0 { // the others of this address wait for those of all other addresses
			l.next = append(slices.DeleteFunc(l.next, func(a string) bool { return a == address }), address)
		}
		q.waiting--
		close(w.turn)
		return
	}
	q.free++
}

// order returns the ranks in the order in which they have the next turn. q.mu is held.
func (q *queue) order() [ranks]rank {
	if q.strangers {
		return [ranks]rank{familiar, stranger, neighbor}
	}
	return [ranks]rank{familiar, neighbor, stranger}
}

// turnAway ends the waiting of the last that came of the address with the most waiters. q.mu is held.
func (q *queue) turnAway() {
	l, worst := q.longest(stranger)
	if other, address := q.longest(neighbor); other != nil && (l == nil || len(other.by[address]) > max(q.most/8, len(l.by[worst]))) {
		l, worst = other, address
	}
	if l == nil {
		l, worst = q.longest(familiar)
	}
	of := l.by[worst]
	w := of[len(of)-1]
	l.remove(w)
	q.waiting--
	w.away = true
	close(w.turn)
}

// longest returns the line of a rank and the address with the most waiters in it, or nil without waiters. q.mu is held.
func (q *queue) longest(r rank) (l *line, address string) {
	l = &q.lines[r]
	if len(l.next) == 0 {
		return nil, ""
	}
	worst := l.next[len(l.next)-1] // of equal ones the last: it came last or was served last
	for _, address := range l.next {
		if len(l.by[address]) > len(l.by[worst]) {
			worst = address
		}
	}
	return l, worst
}

func (l *line) add(w *waiter) {
	if len(l.by[w.address]) == 0 {
		l.next = append(l.next, w.address)
	}
	l.by[w.address] = append(l.by[w.address], w)
}

func (l *line) remove(w *waiter) {
	left := slices.DeleteFunc(l.by[w.address], func(o *waiter) bool { return o == w })
	if len(left) > 0 {
		l.by[w.address] = left
		return
	}
	delete(l.by, w.address)
	l.next = slices.DeleteFunc(l.next, func(a string) bool { return a == w.address })
}
