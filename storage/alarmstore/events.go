package alarmstore

import (
	"context"
	"encoding/json"
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/internal/search"
)

// snapshot is the JSON form of an occurrence in the journal. Times are microseconds since 1970.
type snapshot struct {
	Seq            int64             `json:"seq,omitempty"`
	ID             string            `json:"id,omitempty"`
	Code           int64             `json:"code"`
	Key            string            `json:"key"`
	Source         string            `json:"source,omitempty"`
	SourceType     string            `json:"sourceType,omitempty"`
	Message        string            `json:"message,omitempty"`
	Severity       uint8             `json:"severity,omitempty"`
	Raised         *int64            `json:"raised,omitempty"`
	Returned       *int64            `json:"returned,omitempty"`
	Cleared        *int64            `json:"cleared,omitempty"`
	Acknowledged   *int64            `json:"acknowledged,omitempty"`
	AcknowledgedBy string            `json:"acknowledgedBy,omitempty"`
	Comment        string            `json:"comment,omitempty"`
	Active         bool              `json:"active,omitempty"`
	Latching       bool              `json:"latching,omitempty"`
	Suppression    uint8             `json:"withheld,omitempty"`
	Cause          alarms.Cause      `json:"cause,omitzero"`
	Labels         map[string]string `json:"labels,omitempty"`
}

func micros(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	us := t.UnixMicro()
	return &us
}

func ofMicros(us *int64) time.Time {
	if us == nil {
		return time.Time{}
	}
	return time.UnixMicro(*us).UTC()
}

func writeSnapshot(o *alarms.Occurrence) ([]byte, error) {
	text, err := json.Marshal(snapshot{
		Seq: o.Seq, ID: o.ID, Code: o.Code, Key: o.Key, Source: o.Source, SourceType: o.SourceType, Message: o.Message,
		Severity: uint8(o.Severity), Raised: micros(o.RaisedAt), Returned: micros(o.ReturnedAt), Cleared: micros(o.ClearedAt),
		Acknowledged: micros(o.AcknowledgedAt), AcknowledgedBy: o.AcknowledgedBy, Comment: o.Comment, Active: o.Active,
		Latching: o.Latching, Suppression: uint8(o.Suppression), Cause: o.Cause,
	})
	if err != nil || len(o.Labels) == 0 {
		return text, err
	}
	text, err = search.AppendLabels(append(text[:len(text)-1], `,"labels":`...), o.Labels)
	return append(text, '}'), err
}

func readSnapshot(text []byte) (alarms.Occurrence, error) {
	var s snapshot
	if err := json.Unmarshal(text, &s); err != nil {
		return alarms.Occurrence{}, err
	}
	return alarms.Occurrence{
		Seq: s.Seq, ID: s.ID, Code: s.Code, Key: s.Key, Source: s.Source, SourceType: s.SourceType, Message: s.Message,
		Severity: alarms.Severity(s.Severity), RaisedAt: ofMicros(s.Raised), ReturnedAt: ofMicros(s.Returned),
		ClearedAt: ofMicros(s.Cleared), AcknowledgedAt: ofMicros(s.Acknowledged), AcknowledgedBy: s.AcknowledgedBy,
		Comment: s.Comment, Active: s.Active, Latching: s.Latching, Suppression: alarms.Suppression(s.Suppression), Cause: s.Cause, Labels: s.Labels,
	}, nil
}

func addEvents(ctx context.Context, tx *storage.Tx, list []alarms.Event) error {
	rows := make([][]any, len(list))
	for i := range list {
		e := &list[i]
		text, err := writeSnapshot(&e.Occurrence)
		if err != nil {
			return err
		}
		rows[i] = []any{e.Seq, e.ID, storage.Timestamp(e.At), string(e.Kind), storage.Text(e.By), storage.Text(e.Comment), storage.Timestamp(e.Until), e.Annunciate, string(text), e.Occurrence.Seq}
	}
	return tx.Insert(ctx, "INSERT INTO alarm_events (seq, id, at_us, kind, done_by, comment, until_us, is_new, occurrence, occurrence_seq) VALUES", rows, "")
}

// Events implements alarms.Store. An unreadable event is skipped.
func (s *Store) Events(ctx context.Context, after int64, limit int) ([]alarms.Event, error) {
	for {
		all, last, err := s.events(ctx, after, limit)
		if err != nil || len(all) > 0 || last == after {
			return all, err
		}
		after = last // all of them are unreadable
	}
}

// events reads some events and returns the number of the last one, readable or not.
func (s *Store) events(ctx context.Context, after int64, limit int) (all []alarms.Event, last int64, err error) {
	err = s.set.View(ctx, "alarms.events", func(ctx context.Context, tx *storage.Tx) error {
		all, last = nil, after
		return tx.Each(ctx, selectEvent+"WHERE seq > ? ORDER BY seq LIMIT ?", []any{after, max(limit, 0)}, func(row storage.Scanner) error {
			e, broken, err := scanEvent(row)
			if err != nil {
				return err
			}
			last = e.Seq
			if broken != nil {
				s.unreadable(e.Seq, broken)
				return nil
			}
			all = append(all, e)
			return nil
		})
	})
	return all, last, err
}

const selectEvent = "SELECT seq, id, at_us, kind, done_by, comment, until_us, is_new, occurrence FROM alarm_events "

// scanEvent reads an event; broken is the reason why its occurrence cannot be read.
func scanEvent(row storage.Scanner) (e alarms.Event, broken, err error) {
	var text []byte
	err = row.Scan(&e.Seq, &e.ID, (*storage.Timestamp)(&e.At), &e.Kind, &e.By, &e.Comment, (*storage.Timestamp)(&e.Until), &e.Annunciate, &text)
	if err == nil {
		e.Occurrence, broken = readSnapshot(text)
	}
	return e, broken, err
}

// EventsOf implements [alarms.EventLister]. An unreadable event is omitted.
func (s *Store) EventsOf(ctx context.Context, occurrence int64, offset, limit int) (all []alarms.Event, total int, err error) {
	err = s.set.View(ctx, "alarms.eventsof", func(ctx context.Context, tx *storage.Tx) error {
		all = []alarms.Event{}
		if err := tx.Row(ctx, "SELECT COUNT(*) FROM alarm_events WHERE occurrence_seq = ?", []any{occurrence}, &total); err != nil {
			return err
		}
		return tx.Each(ctx, selectEvent+"WHERE occurrence_seq = ? ORDER BY seq LIMIT ? OFFSET ?",
			[]any{occurrence, max(limit, 0), max(offset, 0)}, func(row storage.Scanner) error {
				e, broken, err := scanEvent(row)
				if err != nil {
					return err
				}
				if broken != nil {
					s.unreadable(e.Seq, broken)
					return nil
				}
				all = append(all, e)
				return nil
			})
	})
	return all, total, err
}

// unreadable logs an unreadable event, once although it is read repeatedly.
func (s *Store) unreadable(seq int64, err error) {
	if newest := s.skipped.Load(); seq > newest && s.skipped.CompareAndSwap(newest, seq) {
		s.set.Logger().Error("unreadable alarm event skipped", "event", seq, "error", err)
	}
}
