package storage

import (
	"context"
	"database/sql"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/otkit/otkit/alerting"
)

// Outbox is alerting.Outbox and alerting.DeadLetters over the database.
type Outbox struct{ db *DB }

var (
	_ alerting.Outbox      = (*Outbox)(nil)
	_ alerting.DeadLetters = (*Outbox)(nil)
)

// update runs a transaction that no other one of the outbox, of whichever engine, runs beside: they
// are short, and would fail one another otherwise.
func (s *Outbox) update(ctx context.Context, op string, fn func(context.Context, *Tx) error) error {
	return s.db.Update(ctx, op, func(ctx context.Context, tx *Tx) error {
		if err := tx.lock(ctx, "alert_cursor"); err != nil {
			return err
		}
		return fn(ctx, tx)
	})
}

func readCursor(ctx context.Context, tx *Tx) (seq int64, err error) {
	err = tx.Row(ctx, "SELECT seq FROM alert_cursor WHERE id = 1", nil, &seq)
	return seq, err
}

// Cursor implements alerting.Outbox.
func (s *Outbox) Cursor(ctx context.Context) (seq int64, err error) {
	err = s.db.View(ctx, "outbox.cursor", func(ctx context.Context, tx *Tx) error {
		seq, err = readCursor(ctx, tx)
		return err
	})
	return seq, err
}

// Plan implements alerting.Outbox.
func (s *Outbox) Plan(ctx context.Context, from, to int64, add []alerting.Delivery) error {
	return s.update(ctx, "outbox.plan", func(ctx context.Context, tx *Tx) error {
		at, err := readCursor(ctx, tx)
		if err != nil {
			return err
		}
		if at != from {
			return alerting.ErrCursorMoved
		}
		if _, err := tx.Exec(ctx, "UPDATE alert_cursor SET seq = ? WHERE id = 1", to); err != nil {
			return err
		}
		return addDeliveries(ctx, tx, add)
	})
}

func addDeliveries(ctx context.Context, tx *Tx, add []alerting.Delivery) error {
	rows := make([][]any, len(add))
	for i := range add {
		d := &add[i]
		text, err := json.Marshal(d.Notification)
		if err != nil {
			return err
		}
		rows[i] = []any{d.ID, d.Seq, d.EventID, d.Occurrence, plain(d.Channel), plain(d.Recipient), d.Resolved, string(d.State), int64(d.Attempts), d.Uncertain,
			d.NextAttempt.UnixMicro(), plain(d.Owner), Stamp(d.LeaseUntil), plain(d.LastError), d.DigestID, Stamp(d.CreatedAt),
			Stamp(d.ExpiresAt), Stamp(d.SettledAt), string(text), plain(d.Notification.Source), plain(d.Notification.SourceType), d.Own}
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
func scanDelivery(row Scanner) (alerting.Delivery, error) {
	var (
		d    alerting.Delivery
		text []byte
	)
	err := row.Scan(&d.ID, &d.Seq, &d.EventID, &d.Occurrence, &d.Channel, &d.Recipient, &d.Resolved, &d.State, &d.Attempts, &d.Uncertain,
		(*Stamp)(&d.NextAttempt), &d.Owner, (*Stamp)(&d.LeaseUntil), &d.LastError, &d.DigestID, (*Stamp)(&d.CreatedAt),
		(*Stamp)(&d.ExpiresAt), (*Stamp)(&d.SettledAt), &text, &d.Own)
	if err != nil {
		return d, err
	}
	if json.Unmarshal(text, &d.Notification) != nil {
		d.Notification, d.Unreadable = alerting.Notification{}, true
	}
	return d, nil
}

// Claim implements alerting.Outbox.
func (s *Outbox) Claim(ctx context.Context, c alerting.Claim) ([]alerting.Delivery, error) {
	c.Channel, c.Owner = plain(c.Channel), plain(c.Owner)
	free, busy := "", make([]any, len(c.Busy))
	if len(busy) > 0 {
		free = " AND recipient NOT IN (?" + strings.Repeat(", ?", len(busy)-1) + ")"
		for i, r := range c.Busy {
			busy[i] = plain(r)
		}
	}
	due, err := s.due(ctx, c, free, busy)
	if err != nil || !due || c.Limit <= 0 {
		return nil, err
	}
	var claimed []alerting.Delivery
	err = s.update(ctx, "outbox.claim", func(ctx context.Context, tx *Tx) error {
		claimed = nil
		var ids []any
		err := tx.Each(ctx, selectDelivery+`WHERE d.channel = ? AND d.state IN ('pending', 'sending')
			AND (d.state = 'pending' AND (d.next_us <= ? OR d.next_us > ?)
				OR d.state = 'sending' AND (d.lease_us <= ? OR d.lease_us > ? OR d.owner = ?))
			AND (d.occurrence = '' OR NOT EXISTS (SELECT 1 FROM alert_deliveries e WHERE e.occurrence = d.occurrence
				AND e.channel = d.channel AND e.recipient = d.recipient AND e.seq < d.seq AND e.state IN ('pending', 'sending')))
			`+free+" ORDER BY d.seq, d.id LIMIT ?",
			slices.Concat([]any{c.Channel, c.Now.UnixMicro(), latest(c.LatestNext), c.Now.UnixMicro(), latest(c.LatestLease), c.Owner}, busy, []any{c.Limit}), func(row Scanner) error {
				d, err := scanDelivery(row)
				if err != nil {
					return err
				}
				d.Uncertain = d.Uncertain || d.State == alerting.Sending
				d.State, d.Owner, d.LeaseUntil = alerting.Sending, c.Owner, c.LeaseUntil
				d.Attempts++
				claimed, ids = append(claimed, d), append(ids, d.ID)
				return nil
			})
		if err != nil {
			return err
		}
		for marks, part := range lists(ids) {
			args := append([]any{c.Owner, Stamp(c.LeaseUntil)}, part...)
			if _, err := tx.Exec(ctx, `UPDATE alert_deliveries SET uncertain = (uncertain OR state = 'sending'), state = 'sending',
				owner = ?, lease_us = ?, attempts = attempts + 1 WHERE id IN `+marks, args...); err != nil {
				return err
			}
		}
		return nil
	})
	return claimed, err
}

// due says whether there may be something to claim, without a transaction that writes.
func (s *Outbox) due(ctx context.Context, c alerting.Claim, free string, busy []any) (due bool, err error) {
	err = s.db.View(ctx, "outbox.due", func(ctx context.Context, tx *Tx) error {
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

// latest gives the microseconds of a limit, where the zero time is none.
func latest(t time.Time) int64 {
	if t.IsZero() {
		return math.MaxInt64
	}
	return t.UnixMicro()
}

// Settle implements alerting.Outbox.
func (s *Outbox) Settle(ctx context.Context, owner string, done []alerting.Settlement, add []alerting.Delivery) error {
	if len(done) == 0 && len(add) == 0 {
		return nil
	}
	owner = plain(owner)
	done = once(done, func(n alerting.Settlement) string { return n.ID })
	rows := make([][]any, len(done))
	for i, n := range done {
		uncertain := "0"
		if n.Uncertain {
			uncertain = "1"
		}
		rows[i] = []any{n.ID, string(n.State), strconv.Itoa(n.Attempts), uncertain, microText(n.NextAttempt), plain(n.LastError),
			n.DigestID, stampText(n.SettledAt), owner}
	}
	return s.update(ctx, "outbox.settle", func(ctx context.Context, tx *Tx) error {
		err := tx.change(ctx, `UPDATE alert_deliveries SET state = v.column2, attempts = CAST(v.column3 AS BIGINT),
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

// stampText is a Stamp as a text.
func stampText(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return microText(t)
}

// FirstDeliveries implements alerting.Outbox.
func (s *Outbox) FirstDeliveries(ctx context.Context, occurrences []string) ([]alerting.Delivery, error) {
	keys := make([]any, 0, len(occurrences))
	for _, o := range once(occurrences, func(o string) string { return o }) {
		keys = append(keys, plain(o))
	}
	var found []alerting.Delivery
	err := s.db.View(ctx, "outbox.first", func(ctx context.Context, tx *Tx) error {
		found = nil
		return tx.eachIn(ctx, `SELECT d.id, d.occurrence, d.channel, d.recipient, COALESCE(g.state, d.state) FROM alert_deliveries d
			LEFT JOIN alert_deliveries g ON d.state = 'folded' AND g.id = d.digest_id WHERE NOT d.resolved AND d.occurrence IN `,
			keys, "", func(row Scanner) error {
				var d alerting.Delivery
				err := row.Scan(&d.ID, &d.Occurrence, &d.Channel, &d.Recipient, &d.State)
				found = append(found, d)
				return err
			})
	})
	return found, err
}
