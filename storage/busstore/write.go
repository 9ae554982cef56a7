package busstore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/otkit/otkit/cluster/bus"
	"github.com/otkit/otkit/internal/backoff"
)

// send writes what is queued, until the queue ends.
func (b *Bus) send(ctx context.Context) {
	seq := int64(0)
	for {
		asked, cancel := ctx, func() {}
		if b.problem() != nil {
			asked, cancel = context.WithTimeout(ctx, retryDelay)
		}
		list, err := b.queue.Next(asked, 0)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, context.DeadlineExceeded):
			b.write(ctx, nil) // to see whether it works again
			continue
		case err != nil:
			return
		}
		for len(list) > 0 {
			list = b.wanted(list)
			n := b.part(list)
			switch {
			case len(list) == 0:
				continue
			case n == 0:
				close(list[0].written)
				list = list[1:]
				continue
			}
			began := time.Now()
			if b.write(ctx, b.rows(list[:n], &seq)) {
				list = list[n:]
				backoff.Wait(ctx, writeDelay-time.Since(began))
				continue
			}
			b.drop(list[n:])
			break
		}
	}
}

// wanted removes the requests whose callers have given up.
func (b *Bus) wanted(list []message) []message {
	return slices.DeleteFunc(list, func(m message) bool {
		gone := strings.HasPrefix(m.subject, kindRequest) && !b.requests.Waiting(m.request)
		if gone {
			b.bytes.Add(-int64(len(m.data)))
		}
		return gone
	})
}

// part returns how many messages one statement writes.
func (b *Bus) part(list []message) (n int) {
	size := 0
	for n < len(list) && n < maxRows && list[n].written == nil {
		if size += len(list[n].data); n > 0 && size > maxBytes {
			break
		}
		n++
	}
	return n
}

// drop gives up what need not be tried after a failure.
func (b *Bus) drop(list []message) {
	for _, m := range list {
		b.bytes.Add(-int64(len(m.data)))
		switch {
		case m.written != nil:
			close(m.written)
		case strings.HasPrefix(m.subject, kindRequest):
			b.requests.End(m.request, nil, bus.ErrDown.Wrap(b.problem()))
		}
	}
}

// rows are the columns of messages.
type rows struct {
	seqs, requests, expires []int64
	subjects                []string
	data                    [][]byte
}

func (b *Bus) rows(list []message, seq *int64) *rows {
	r := &rows{}
	for _, m := range list {
		b.bytes.Add(-int64(len(m.data)))
		*seq++
		expires := int64(0)
		if !m.expires.IsZero() {
			expires = b.clock.of(m.expires)
		}
		data := m.data
		if data == nil {
			data = []byte{}
		}
		r.seqs, r.subjects, r.requests = append(r.seqs, *seq), append(r.subjects, m.subject), append(r.requests, int64(m.request))
		r.expires, r.data = append(r.expires, expires), append(r.data, data)
	}
	return r
}

const (
	channel = "otkit_bus"
	now     = "(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::bigint"

	// A statement that the server gets to late writes nothing. It is one, so that a client that hangs keeps nobody waiting.
	writeRows = `WITH new AS (INSERT INTO bus_messages (engine, seq, subject, request, expires_us, data)
		SELECT ?::text, * FROM unnest(?::bigint[], ?::text[], ?::bigint[], ?::bigint[], ?::bytea[]) WHERE (SELECT ` + now + `) <= ?::bigint RETURNING 1),
		told AS (SELECT COUNT(*) AS n FROM new)
		SELECT n, ` + now + `, CASE WHEN n > 0 THEN (SELECT COUNT(*) FROM pg_notify('` + channel + `', ?::text)) ELSE 0 END FROM told`
)

// write writes rows, or none to see whether it could. What cannot be written now is lost: a request that is written later might be carried out when nobody expects it.
func (b *Bus) write(ctx context.Context, r *rows) bool {
	if r == nil {
		r = &rows{}
	}
	n, err := b.try(ctx, r)
	if err == nil && n < len(r.seqs) { // the clock of the database was set; what it is now is known
		n, err = b.try(ctx, r)
	}
	if err == nil && n < len(r.seqs) {
		err = errors.New("the clock of the database is not steady")
	}
	if ctx.Err() == nil {
		b.failed(&b.writing, err)
	}
	return err == nil
}

func (b *Bus) try(ctx context.Context, r *rows) (n int, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	payload := b.id
	if len(r.seqs) > 0 {
		payload = notice(b.id, r.seqs[len(r.seqs)-1])
	}
	var us, told int64
	began := time.Now()
	err = b.set.TryRow(ctx, "bus.write", writeRows, []any{b.id, list(r.seqs), list(r.subjects), list(r.requests), list(r.expires), list(r.data), b.clock.of(began.Add(timeout)), payload}, &n, &us, &told)
	if err == nil {
		b.clock.told(us, began, time.Now())
	}
	return n, err
}

// list returns an array that is not null.
func list[T any](l []T) []T { return append([]T{}, l...) }
