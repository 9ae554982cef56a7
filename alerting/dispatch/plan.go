package dispatch

import (
	"context"
	"errors"
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/history"
	"github.com/otkit/otkit/alerting/internal/canon"
	"github.com/otkit/otkit/alerting/outbox"
)

// planStage is one step from journal events to stored deliveries.
type planStage interface {
	// plan adds to b what the next stages need. After an error the whole batch is planned again.
	plan(ctx context.Context, b *planBatch) error
}

// planBatch holds events and what becomes of them.
type planBatch struct {
	now    time.Time
	from   int64 // the position that the outbox has
	events []alarms.Event

	silence     []string                     // by event: the id of the silence that applies, or ""
	first       map[string][]outbox.Delivery // the first messages of occurrences that end, from the outbox
	planned     map[string][]int             // the first messages of occurrences that begin, as places in add
	add         []outbox.Delivery
	records     []alerting.Record
	completions []history.Completion
}

// planStages returns the chain. Without channels there is nothing to route, and without a history nothing to record.
func (d *Dispatcher) planStages() []planStage {
	stages := []planStage{silenceEvents{d.deps.Silences, &d.endedSilence}}
	if d.deps.History != nil {
		stages = append(stages, recordEvents{d.deps.History, d.o.NewID})
	}
	if len(d.workers) > 0 {
		stages = append(stages, loadFirst{d.deps.Outbox}, routeEvents{d.routes, d.workers, d.o.NewID, d.o.DeliveryTimeout}, renderMessages{d.templates, d.log})
	}
	return append(stages, storePlan{d.deps.Outbox, d.workers})
}

// One transaction plans up to planBatchSize events, or fewer if they would make more than planRows deliveries: other writers wait for
// it.
const (
	planBatchSize = 500
	planRows      = 5000
)

// planSize returns the number of events in a batch.
func (d *Dispatcher) planSize() int {
	most := 1
	for _, names := range d.routes {
		n := 0
		for _, name := range names {
			if w := d.workers[name]; w != nil {
				n += len(w.order)
			}
		}
		most = max(most, n)
	}
	return max(1, min(planBatchSize, planRows/most))
}

// runPlanner follows the journal until ctx ends.
func (d *Dispatcher) runPlanner(ctx context.Context) {
	failures, size, stages := 0, d.planSize(), d.planStages()
	woken := d.wake.C()
	if len(d.workers) == 0 { // nobody waits for a message, and records come in fewer transactions
		woken = nil
	}
	for ctx.Err() == nil {
		n, err := d.planBatch(ctx, stages, size)
		if errors.Is(err, outbox.ErrCursorMoved) {
			continue
		}
		if ctx.Err() == nil && d.setError("journal", err) {
			if err != nil {
				d.log.Error("failed to plan notifications", "error", err)
			} else {
				d.log.Info("planning notifications resumed")
			}
		}
		if err != nil {
			failures++
			wait(ctx, nil, d.o.backoff(failures))
			continue
		}
		failures = 0
		if n < size && !wait(ctx, woken, d.o.PollInterval) {
			return
		}
	}
}

// planBatch plans at most size events and returns their number.
func (d *Dispatcher) planBatch(ctx context.Context, stages []planStage, size int) (int, error) {
	from, err := d.deps.Outbox.Cursor(ctx)
	if err != nil {
		return 0, err
	}
	after := from
	if from == 0 {
		after = d.o.StartAfter
	}
	events, err := d.deps.Journal.Events(ctx, after, size)
	if err != nil || len(events) == 0 {
		return 0, err
	}
	b := newPlanBatch(canon.Time(d.o.Now()), from, events)
	for _, s := range stages {
		if err := s.plan(ctx, b); err != nil {
			return 0, err
		}
	}
	return len(events), nil
}

func newPlanBatch(now time.Time, from int64, events []alarms.Event) *planBatch {
	return &planBatch{now: now, from: from, events: events, silence: make([]string, len(events)), planned: make(map[string][]int)}
}

// needsMessage reports whether e is news: a new occurrence, or a higher severity of an open one.
func needsMessage(e *alarms.Event) bool {
	o := &e.Occurrence
	return e.Annunciate || e.Kind == alarms.Escalated && o.Suppression == 0 && !o.Acknowledged()
}

// endsSilenced reports whether nobody needs the first message of an occurrence any more, if it was silenced until now: the occurrence
// is over, acknowledged, or suppressed and notified when the suppression ends.
func endsSilenced(e *alarms.Event) bool {
	return e.Occurrence.ID != "" && (e.Kind.Ends() || needsNoAttention(&e.Occurrence))
}

func needsNoAttention(o *alarms.Occurrence) bool {
	return !o.Active || o.Acknowledged() || o.Suppression != 0
}
