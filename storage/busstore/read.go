package busstore

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/otkit/otkit/storage"
)

// reader reads what other sessions have written. The rows of a session become visible in the order of their numbers, since it writes one statement after
// another; those of different sessions are in no order, so there is a position for each.
type reader struct {
	b        *Bus
	begun    bool // the positions are known
	sessions map[string]*session
	looked   time.Time
	trimmed  time.Time
}

// session is what is known of who writes.
type session struct {
	read int64 // number up to which its rows have been read
	head int64 // newest number that was seen
	seen time.Time
	past []mark // numbers of some time ago, oldest first
}

// mark is the head of a session at a time.
type mark struct {
	head int64
	at   time.Time
}

// run reads until ctx ends.
func (r *reader) run(ctx context.Context) {
	for {
		wait := time.Until(r.looked.Add(r.b.interval()))
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
			r.look(ctx)
		case <-r.b.wake.C():
			timer.Stop()
			if r.b.mustLook() || !r.begun {
				r.look(ctx)
			} else {
				r.failed(ctx, r.follow(ctx))
			}
		}
	}
}

// interval is how often all sessions are looked at.
func (b *Bus) interval() time.Duration {
	b.stateMu.Lock()
	defer b.stateMu.Unlock()
	switch {
	case b.reading != nil:
		return retryDelay
	case b.notified:
		return lookInterval
	}
	return pollInterval
}

func (r *reader) failed(ctx context.Context, err error) {
	if ctx.Err() == nil {
		r.b.failed(&r.b.reading, err)
	}
}

// heads finds the newest row of each session by an index scan that leaps from session to session, whatever there are of rows.
const heads = `WITH RECURSIVE head(engine, seq) AS (
	(SELECT engine, seq FROM bus_messages ORDER BY engine DESC, seq DESC LIMIT 1)
	UNION ALL
	SELECT n.engine, n.seq FROM head CROSS JOIN LATERAL
		(SELECT m.engine, m.seq FROM bus_messages m WHERE m.engine < head.engine ORDER BY m.engine DESC, m.seq DESC LIMIT 1) n)
	SELECT COALESCE((SELECT string_agg(engine || ' ' || seq, ',') FROM head), ''), ` + now

// look reads the news of all sessions.
func (r *reader) look(ctx context.Context) {
	r.looked = time.Now()
	err := r.lookOnce(ctx)
	r.failed(ctx, err)
	if err == nil {
		r.trim(ctx)
	}
}

func (r *reader) lookOnce(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var text string
	var us int64
	began := time.Now()
	err := r.b.set.Row(limited, "bus.heads", heads, nil, func(row storage.Scanner) error { return row.Scan(&text, &us) })
	if err != nil {
		return err
	}
	r.b.clock.told(us, began, time.Now())
	for part := range strings.SplitSeq(text, ",") {
		if id, head, ok := parseNotice(part); ok {
			s := r.session(id)
			if !r.begun || id == r.b.id {
				s.read = head
			}
			s.head, s.seen = max(s.head, head), began
		}
	}
	r.begun = true
	maps.DeleteFunc(r.sessions, func(_ string, s *session) bool { return began.Sub(s.seen) > 2*r.b.o.retention }) // its rows are gone
	return r.follow(ctx)
}

func (r *reader) session(id string) *session {
	s := r.sessions[id]
	if s == nil {
		s = &session{seen: time.Now()}
		r.sessions[id] = s
	}
	return s
}

// follow reads the news of those sessions that have any.
func (r *reader) follow(ctx context.Context) error {
	r.b.mu.Lock()
	news := r.b.news
	r.b.news = map[string]int64{}
	wanted := slices.Collect(maps.Keys(r.b.interest))
	r.b.mu.Unlock()
	for id, head := range news {
		s := r.session(id)
		s.head, s.seen = max(s.head, head), time.Now()
	}
	for id, s := range r.sessions {
		for s.head > s.read {
			if err := r.read(ctx, id, s, wanted); err != nil {
				return err
			}
		}
	}
	return nil
}

const newRows = `SELECT seq, subject, request, data FROM bus_messages WHERE engine = ?::text AND seq > ?::bigint AND seq <= ?::bigint AND subject = ANY(?::text[]) ORDER BY seq LIMIT 200`

// maxRead is the limit of newRows.
const maxRead = 200

// request is one of another session.
type request struct {
	seq     int64
	subject string
	number  int64
	data    []byte
}

// read reads some rows of a session up to its head and hands them on.
func (r *reader) read(ctx context.Context, id string, s *session, wanted []string) error {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var requests []request
	n := 0
	err := r.b.set.Each(limited, "bus.read", newRows, []any{id, s.read, s.head, wanted}, func(row storage.Scanner) error {
		var m request
		if err := row.Scan(&m.seq, &m.subject, &m.number, &m.data); err != nil {
			return err
		}
		if m.seq <= s.read {
			return nil // it was read before the statement failed and was repeated
		}
		s.read = m.seq
		n++
		switch kind, subject := m.subject[:2], m.subject[2:]; kind {
		case kindMessage:
			r.b.inbox.Deliver(subject, m.data)
		case kindAnswer:
			r.b.requests.End(uint64(m.number), m.data, nil)
		case kindRequest:
			requests = append(requests, m)
		}
		return nil
	})
	if err == nil && n < maxRead {
		s.read = s.head
	}
	return errors.Join(err, r.claim(ctx, id, requests))
}

// claimRows takes requests, so that of two engines that serve a subject for a moment one has them, and nobody has one whose sender waits no longer.
const claimRows = `WITH taken AS (DELETE FROM bus_messages WHERE engine = ?::text AND seq = ANY(?::bigint[]) RETURNING seq, expires_us)
	SELECT COALESCE(string_agg(seq::text, ','), '') FROM taken WHERE expires_us > ` + now

// claim has requests served.
func (r *reader) claim(ctx context.Context, id string, requests []request) error {
	if len(requests) == 0 {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	seqs := make([]int64, len(requests))
	for i, m := range requests {
		seqs[i] = m.seq
	}
	var text string
	if err := r.b.set.TryRow(limited, "bus.claim", claimRows, []any{id, seqs}, &text); err != nil {
		return err
	}
	taken := strings.Split(text, ",")
	for _, m := range requests {
		if slices.Contains(taken, strconv.FormatInt(m.seq, 10)) {
			r.b.inbox.Request(m.subject[len(kindRequest):], m.data, func(answer []byte) {
				_ = r.b.enqueue(message{subject: kindAnswer + id, request: uint64(m.number), data: slices.Clone(answer)}) // if it cannot be sent, nobody waits for it for long
			})
		}
	}
	return nil
}

// trim removes the rows of sessions that are older than retention: the own ones, and those of others that do not do it themselves.
func (r *reader) trim(ctx context.Context) {
	at := time.Now()
	if at.Sub(r.trimmed) < r.b.o.trimDelay {
		return
	}
	r.trimmed = at
	for id, s := range r.sessions {
		if n := len(s.past); n == 0 || s.past[n-1].head < s.head {
			s.past = append(s.past, mark{s.head, at})
		}
		age := r.b.o.retention
		if id != r.b.id {
			age += 3 * r.b.o.trimDelay
		}
		old := 0
		for old < len(s.past) && at.Sub(s.past[old].at) >= age {
			old++
		}
		if old == 0 {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, timeout)
		var n int
		err := r.b.set.TryRow(limited, "bus.trim", trimRows, []any{id, s.past[old-1].head}, &n)
		cancel()
		if err != nil {
			return // later
		}
		s.past = s.past[old:]
	}
}

const trimRows = `WITH gone AS (DELETE FROM bus_messages WHERE engine = ?::text AND seq <= ?::bigint RETURNING 1) SELECT COUNT(*) FROM gone`

// listen has the reader woken by notifications, again whenever the connection is lost.
func (b *Bus) listen(ctx context.Context) {
	for {
		err := b.set.Listen(ctx, channel, func() { b.listening(true) }, b.notice)
		b.listening(false)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, errors.ErrUnsupported):
			b.o.Logger.Info("no notifications pass from PostgreSQL; polling for messages of other engines", "interval", pollInterval.String())
			return
		}
		timer := time.NewTimer(retryDelay)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

func (b *Bus) listening(on bool) {
	b.stateMu.Lock()
	b.notified = on
	b.missed = true // what was written between the last look and the beginning, or the end
	b.stateMu.Unlock()
	b.wake.Set()
}

// mustLook reports whether notifications may have been missed.
func (b *Bus) mustLook() bool {
	b.stateMu.Lock()
	defer b.stateMu.Unlock()
	missed := b.missed
	b.missed = false
	return missed
}

// notice takes a notification.
func (b *Bus) notice(payload string) {
	id, head, ok := parseNotice(payload)
	if !ok || id == b.id {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	const many = 1000 // sessions; anybody may notify
	if len(b.news) < many {
		b.news[id] = max(b.news[id], head)
	}
	b.wake.Set()
}

// notice is the payload of a notification: a session and the newest number of its rows.
func notice(id string, head int64) string { return id + " " + strconv.FormatInt(head, 10) }

func parseNotice(text string) (id string, head int64, ok bool) {
	id, number, ok := strings.Cut(text, " ")
	head, err := strconv.ParseInt(number, 10, 64)
	return id, head, ok && err == nil
}
