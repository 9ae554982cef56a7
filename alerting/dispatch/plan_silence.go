package dispatch

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/silences"
)

// silenceEvents is the [planStage] that finds the silence of each event.
type silenceEvents struct {
	silences *silences.Service
	// ended is set when an event is silenced by a silence that has ended meanwhile.
	ended *atomic.Bool
}

func (s silenceEvents) plan(ctx context.Context, b *planBatch) error {
	index, err := s.silences.Index(ctx)
	if err != nil {
		return err
	}
	for i := range b.events {
		id, ended := silenceOf(index, &b.events[i], b.now)
		if b.silence[i] = id; ended {
			s.ended.Store(true)
		}
	}
	return nil
}

// silenceOf returns the id of a silence that applied when the event happened or applies now that it is planned, and whether the
// silence has ended. The receiver of an alert has set a label when it raised the alarm; what happens to the alarm later is judged by
// itself.
func silenceOf(index *silences.Index, e *alarms.Event, now time.Time) (id string, ended bool) {
	o := &e.Occurrence
	label := ""
	if e.Kind == alarms.Raised && alerting.IsReceived(o.Key) {
		label = o.Labels[alerting.LabelSilencedBy]
	}
	if label == "" && index.Len() == 0 {
		return "", false
	}
	s, applies := index.Match(o.SourceType, o.Source, now)
	if label != "" {
		return label, !applies
	}
	if applies {
		return s.ID, false
	}
	s, ended = index.Match(o.SourceType, o.Source, e.At)
	return s.ID, ended
}
