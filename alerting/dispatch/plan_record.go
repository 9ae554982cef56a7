package dispatch

import (
	"context"
	"maps"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/history"
	"github.com/otkit/otkit/alerting/internal/canon"
)

// recordEvents is the [planStage] that stores the records of alarms, other than those of received alerts, whose receiver does so. It
// comes before the journal position is stored: repeating it after a crash adds nothing twice.
type recordEvents struct {
	history history.Writer
	newID   func() string
}

func (s recordEvents) plan(ctx context.Context, b *planBatch) error {
	for i := range b.events {
		s.record(b, &b.events[i], b.silence[i])
	}
	if len(b.records)+len(b.completions) == 0 {
		return nil
	}
	return s.history.ApplyRecords(ctx, history.Changes{Add: b.records, Complete: b.completions})
}

func (s recordEvents) record(b *planBatch, e *alarms.Event, silence string) {
	o := &e.Occurrence
	if alerting.IsReceived(o.Key) {
		return
	}
	key := alerting.RecordKey{Alarm: o.Key, At: canon.Time(o.RaisedAt)}
	switch {
	case e.Kind == alarms.Raised:
		labels := o.Labels
		if silence != "" {
			if labels = maps.Clone(labels); labels == nil {
				labels = make(map[string]string, 1)
			}
			labels[alerting.LabelSilencedBy] = silence
		}
		b.records = append(b.records, alerting.Record{ID: s.newID(), Key: key, Severity: o.Severity, Source: o.Source,
			SourceType: o.SourceType, Title: o.Message, Labels: labels})
	case e.Kind.Ends():
		b.completions = append(b.completions, history.Completion{Key: key, At: canon.Time(o.ClearedAt)})
	}
}
