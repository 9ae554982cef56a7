package alertstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/outbox"
	"github.com/otkit/otkit/storage"
)

// updateOutbox runs a transaction that no other one of the outbox, of whichever engine, runs beside: they
// are short, and would fail one another otherwise.
func (s *Store) updateOutbox(ctx context.Context, op string, fn func(context.Context, *storage.Tx) error) error {
	return s.set.UpdateVital(ctx, op, func(ctx context.Context, tx *storage.Tx) error {
		if err := tx.Lock(ctx, "alert_cursor"); err != nil {
			return err
		}
		return fn(ctx, tx)
	})
}

func readCursor(ctx context.Context, tx *storage.Tx) (seq int64, err error) {
	err = tx.Row(ctx, "SELECT seq FROM alert_cursor WHERE id = 1", nil, &seq)
	return seq, err
}

// Cursor implements outbox.Store.
func (s *Store) Cursor(ctx context.Context) (seq int64, err error) {
	err = s.set.View(ctx, "outbox.cursor", func(ctx context.Context, tx *storage.Tx) error {
		seq, err = readCursor(ctx, tx)
		return err
	})
	return seq, err
}

// Plan implements outbox.Store.
func (s *Store) Plan(ctx context.Context, from, to int64, add []outbox.Delivery) error {
	return s.updateOutbox(ctx, "outbox.plan", func(ctx context.Context, tx *storage.Tx) error {
		at, err := readCursor(ctx, tx)
		if err != nil {
			return err
		}
		if at != from {
			return outbox.ErrCursorMoved
		}
		if _, err := tx.Exec(ctx, "UPDATE alert_cursor SET seq = ? WHERE id = 1", to); err != nil {
			return err
		}
		return addDeliveries(ctx, tx, add)
	})
}

func addDeliveries(ctx context.Context, tx *storage.Tx, add []outbox.Delivery) error {
	rows := make([][]any, len(add))
	for i := range add {
		d := &add[i]
		text, err := json.Marshal(d.Notification)
		if err != nil {
			return err
		}
		rows[i] = []any{d.ID, d.Seq, d.EventID, d.Occurrence, storage.Text(d.Channel), storage.Text(d.Recipient), d.Resolved, string(d.State), int64(d.Attempts), d.Uncertain,
			d.NextAttempt.UnixMicro(), storage.Text(d.Owner), storage.Timestamp(d.LeaseUntil), storage.Text(d.LastError), d.DigestID, storage.Timestamp(d.CreatedAt),
			storage.Timestamp(d.ExpiresAt), storage.Timestamp(d.SettledAt), string(text), storage.Text(d.Notification.Source), storage.Text(d.Notification.SourceType), d.NoDeadLetter}
	}
	return tx.Insert(ctx, `INSERT INTO alert_deliveries (id, seq, event_id, occurrence, channel, recipient, resolved, state,
		attempts, uncertain, next_us, owner, lease_us, last_error, digest_id, created_us, expires_us, settled_us, notification, source, source_type,
		own) VALUES`,
		rows, "ON CONFLICT DO NOTHING")
}

const selectDelivery = `SELECT d.id, d.seq, d.event_id, d.occurrence, d.channel, d.recipient, d.resolved, d.state, d.attempts,
	d.uncertain, d.next_us, d.owner, d.lease_us, d.last_error, d.digest_id, d.created_us, d.expires_us, d.settled_us, d.notification, d.own
	FROM alert_deliveries d `

// scanDelivery reads a delivery. One whose message cannot be read is marked so: it must not keep back
// those that can.
func scanDelivery(row storage.Scanner) (outbox.Delivery, error) {
	var (
		d    outbox.Delivery
		text []byte
	)
	err := row.Scan(&d.ID, &d.Seq, &d.EventID, &d.Occurrence, &d.Channel, &d.Recipient, &d.Resolved, &d.State, &d.Attempts, &d.Uncertain,
		(*storage.Timestamp)(&d.NextAttempt), &d.Owner, (*storage.Timestamp)(&d.LeaseUntil), &d.LastError, &d.DigestID, (*storage.Timestamp)(&d.CreatedAt),
		(*storage.Timestamp)(&d.ExpiresAt), (*storage.Timestamp)(&d.SettledAt), &text, &d.NoDeadLetter)
	if err != nil {
		return d, err
	}
	if json.Unmarshal(text, &d.Notification) != nil {
		d.Notification, d.Unreadable = alerting.Notification{}, true
	}
	return d, nil
}

// Claim implements outbox.Store.
func (s *Store) Claim(ctx context.Context, c outbox.Claim) ([]outbox.Delivery, error) {
	c.Channel, c.Owner = storage.Text(c.Channel), storage.Text(c.Owner)
	free, busy := "", make([]any, len(c.ExcludeRecipients))
	if len(busy) > 0 {
		free = " AND recipient NOT IN (?" + strings.Repeat(", ?", len(busy)-1) + ")"
		for i, r := range c.ExcludeRecipients {
			busy[i] = storage.Text(r)
		}
	}
	due, err := s.due(ctx, c, free, busy)
	if err != nil || !due || c.Limit <= 0 {
		return nil, err
	}
	var claimed []outbox.Delivery
	err = s.updateOutbox(ctx, "outbox.claim", func(ctx context.Context, tx *storage.Tx) error {
		claimed = nil
		var (
			ids  []any
			room = claimBytes
		)
		err := tx.Each(ctx, selectDelivery+`WHERE d.channel = ? AND d.state IN ('pending', 'sending')
			AND (d.state = 'pending' AND (d.next_us <= ? OR d.next_us > ?)
				OR d.state = 'sending' AND (d.lease_us <= ? OR d.lease_us > ? OR d.owner = ?))
			AND (d.occurrence = '' OR NOT EXISTS (SELECT 1 FROM alert_deliveries e WHERE e.occurrence = d.occurrence
				AND e.channel = d.channel AND e.recipient = d.recipient AND e.seq < d.seq AND e.state IN ('pending', 'sending')))
			`+free+" ORDER BY d.seq, d.id LIMIT ?",
			slices.Concat([]any{c.Channel, c.Now.UnixMicro(), latest(c.LatestNext), c.Now.UnixMicro(), latest(c.LatestLease), c.Owner}, busy, []any{c.Limit}), func(row storage.Scanner) error {
				d, err := scanDelivery(row)
				if err != nil {
					return err
				}
				d.Uncertain = d.Uncertain || d.State == outbox.Sending
				d.State, d.Owner, d.LeaseUntil = outbox.Sending, c.Owner, c.LeaseUntil
				claimed, ids = append(claimed, d), append(ids, d.ID)
				if room -= weight(&d.Notification); room < 0 {
					return errEnough // the others are claimed next time
				}
				return nil
			})
		if err != nil && !errors.Is(err, errEnough) {
			return err
		}
		for marks, part := range storage.InLists(ids) {
			args := append([]any{c.Owner, storage.Timestamp(c.LeaseUntil)}, part...)
			if _, err := tx.Exec(ctx, `UPDATE alert_deliveries SET uncertain = (uncertain OR state = 'sending'), state = 'sending',
				owner = ?, lease_us = ? WHERE id IN `+marks, args...); err != nil {
				return err
			}
		}
		return nil
	})
	return claimed, err
}

// errEnough ends the reading of a claim.
var errEnough = errors.New("enough for one claim")

// claimBytes bounds the messages of one claim, beside its limit.
const claimBytes = 16 << 20

// weight is about how much memory a message takes.
func weight(n *alerting.Notification) int {
	size := 512 + len(n.Message) + len(n.Title) + len(n.Body)
	for name, value := range n.Labels {
		size += len(name) + len(value)
	}
	return size
}

// due reports whether there may be something to claim, without a transaction that writes.
func (s *Store) due(ctx context.Context, c outbox.Claim, free string, busy []any) (due bool, err error) {
	err = s.set.View(ctx, "outbox.due", func(ctx context.Context, tx *storage.Tx) error {
		for _, bound := range [...]string{"MIN", "MAX"} { // the first and the last value in the index
			var next sql.NullInt64
			err := tx.Row(ctx, "SELECT "+bound+"(next_us) FROM alert_deliveries WHERE channel = ? AND state = 'pending'"+free,
				append([]any{c.Channel}, busy...), &next)
			if due = next.Valid && (next.Int64 <= c.Now.UnixMicro() || next.Int64 > latest(c.LatestNext)); err != nil || due {
				return err
			}
		}
		return tx.Row(ctx, `SELECT EXISTS (SELECT 1 FROM alert_deliveries WHERE channel = ? AND state = 'sending'
			AND (lease_us <= ? OR lease_us > ? OR owner = ?)`+free+")",
			append([]any{c.Channel, c.Now.UnixMicro(), latest(c.LatestLease), c.Owner}, busy...), &due)
	})
	return due, err
}

// ReleaseClaims implements outbox.ClaimReleaser.
func (s *Store) ReleaseClaims(ctx context.Context, alive []string) (released int, err error) {
	names := make([]any, max(len(alive), 1))
	names[0] = "" // nobody's, but a list cannot be empty
	for i, name := range alive {
		names[i] = storage.Text(name)
	}
	// A lease that has ended so is over by every clock.
	which := "state = 'sending' AND lease_us <> 0 AND owner NOT IN (?" + strings.Repeat(", ?", len(names)-1) + ")"
	var some bool
	err = s.set.View(ctx, "outbox.lost", func(ctx context.Context, tx *storage.Tx) error {
		return tx.Row(ctx, "SELECT EXISTS (SELECT 1 FROM alert_deliveries WHERE "+which+")", names, &some)
	})
	if err != nil || !some {
		return 0, err
	}
	err = s.updateOutbox(ctx, "outbox.release", func(ctx context.Context, tx *storage.Tx) error {
		n, err := tx.Exec(ctx, "UPDATE alert_deliveries SET lease_us = 0 WHERE "+which, names...)
		released = int(n)
		return err
	})
	return released, err
}

// latest returns the microseconds of a limit, where the zero time is none.
func latest(t time.Time) int64 {
	if t.IsZero() {
		return math.MaxInt64
	}
	return t.UnixMicro()
}

// Settle implements outbox.Store.
func (s *Store) Settle(ctx context.Context, owner string, done []outbox.Settlement, add []outbox.Delivery) error {
	if len(done) == 0 && len(add) == 0 {
		return nil
	}
	owner = storage.Text(owner)
	done = storage.Distinct(done, func(n outbox.Settlement) string { return n.ID })
	rows := make([][]any, len(done))
	for i, n := range done {
		uncertain := "0"
		if n.Uncertain {
			uncertain = "1"
		}
		rows[i] = []any{n.ID, string(n.State), strconv.Itoa(n.Attempts), uncertain, microText(n.NextAttempt), storage.Text(n.LastError),
			n.DigestID, stampText(n.SettledAt), owner}
	}
	return s.updateOutbox(ctx, "outbox.settle", func(ctx context.Context, tx *storage.Tx) error {
		err := tx.UpdateRows(ctx, `UPDATE alert_deliveries SET state = v.column2, attempts = CAST(v.column3 AS BIGINT),
			uncertain = CAST(v.column4 AS BOOLEAN), next_us = CAST(v.column5 AS BIGINT), last_error = v.column6,
			digest_id = v.column7, settled_us = CAST(v.column8 AS BIGINT), owner = '', lease_us = NULL`, rows,
			"WHERE alert_deliveries.id = v.column1 AND owner = v.column9 AND state = 'sending'")
		if err != nil {
			return err
		}
		return addDeliveries(ctx, tx, add)
	})
}

func microText(t time.Time) string { return strconv.FormatInt(t.UnixMicro(), 10) }

// stampText is a storage.Timestamp as a text.
func stampText(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return microText(t)
}

// FirstDeliveries implements outbox.Store.
func (s *Store) FirstDeliveries(ctx context.Context, occurrences []string) ([]outbox.Delivery, error) {
	keys := make([]any, 0, len(occurrences))
	for _, o := range storage.Distinct(occurrences, func(o string) string { return o }) {
		keys = append(keys, storage.Text(o))
	}
	var found []outbox.Delivery
	err := s.set.View(ctx, "outbox.first", func(ctx context.Context, tx *storage.Tx) error {
		found = nil
		return tx.EachIn(ctx, `SELECT d.id, d.occurrence, d.channel, d.recipient, COALESCE(g.state, d.state) FROM alert_deliveries d
			LEFT JOIN alert_deliveries g ON d.state = 'folded' AND g.id = d.digest_id WHERE NOT d.resolved AND d.occurrence IN `,
			keys, "", func(row storage.Scanner) error {
				var d outbox.Delivery
				err := row.Scan(&d.ID, &d.Occurrence, &d.Channel, &d.Recipient, &d.State)
				found = append(found, d)
				return err
			})
	})
	return found, err
}
