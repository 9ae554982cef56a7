package storage

import (
	"context"
	"encoding/json"
	"time"

	"github.com/otkit/otkit/alerting"
)

type alertBoard struct{ db *DB }

// Board gives the board by which engines tell one another what goes to their listeners.
func (db *DB) Board() alerting.Board { return alertBoard{db} }

// Post implements alerting.Board.
func (s alertBoard) Post(ctx context.Context, n alerting.Notification) error {
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return s.db.Update(ctx, "board.post", func(ctx context.Context, tx *Tx) error {
		if err := tx.lock(ctx, "alert_posts"); err != nil { // numbers in the order in which they become visible
			return err
		}
		if err := tx.unhurried(ctx); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "INSERT INTO alert_posts (id, at_us, notification) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING",
			n.ID, Stamp(s.db.opts.Now()), string(text))
		return err
	})
}

// unhurried lets the transaction become durable with the next one that must be, which costs less.
func (t *Tx) unhurried(ctx context.Context) error {
	if t.set.traits.Group {
		return nil // it shares a transaction anyway
	}
	_, err := t.Exec(ctx, "SET LOCAL synchronous_commit = off")
	return err
}

// Posts implements alerting.Board. A post that cannot be read is passed over: those after it can.
func (s alertBoard) Posts(ctx context.Context, after int64, limit int) ([]alerting.Post, error) {
	for {
		all, last, err := s.posts(ctx, after, limit)
		if err != nil || len(all) > 0 || last == after {
			return all, err
		}
		after = last // none of them could be read
	}
}

// posts reads some posts and gives the number of the last one that is there.
func (s alertBoard) posts(ctx context.Context, after int64, limit int) (all []alerting.Post, last int64, err error) {
	err = s.db.View(ctx, "board.posts", func(ctx context.Context, tx *Tx) error {
		all, last = nil, after
		return tx.Each(ctx, "SELECT seq, notification FROM alert_posts WHERE seq > ? ORDER BY seq LIMIT ?", []any{after, max(limit, 0)}, func(row Scanner) error {
			var (
				p    alerting.Post
				text []byte
			)
			if err := row.Scan(&p.Seq, &text); err != nil {
				return err
			}
			last = p.Seq
			if err := json.Unmarshal(text, &p.Notification); err != nil {
				s.unreadable(p.Seq, err)
				return nil
			}
			all = append(all, p)
			return nil
		})
	})
	return all, last, err
}

// unreadable logs a post that cannot be read. It is read again and again, and logged once.
func (s alertBoard) unreadable(seq int64, err error) {
	if newest := s.db.unreadablePost.Load(); seq > newest && s.db.unreadablePost.CompareAndSwap(newest, seq) {
		s.db.opts.Logger.Error("a message to browsers cannot be read and is passed over", "post", seq, "error", err)
	}
}

// LastPost implements alerting.Board.
func (s alertBoard) LastPost(ctx context.Context) (seq int64, err error) {
	err = s.db.View(ctx, "board.last", func(ctx context.Context, tx *Tx) error {
		return tx.Row(ctx, "SELECT COALESCE(MAX(seq), 0) FROM alert_posts", nil, &seq)
	})
	return seq, err
}

// TrimPosts implements alerting.Board.
func (s alertBoard) TrimPosts(ctx context.Context, before time.Time) error {
	return s.db.Update(ctx, "board.trim", func(ctx context.Context, tx *Tx) error {
		if err := tx.lock(ctx, "alert_posts"); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "DELETE FROM alert_posts WHERE at_us < ?", Stamp(before))
		return err
	})
}
