package alerting

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/fault"
)

// Alarms is where alerts become alarms. *alarms.Service is one.
type Alarms interface {
	// Apply carries signals out in order, all or none. Raising what is active and clearing what is
	// not changes nothing.
	Apply(ctx context.Context, signals []alarms.Signal) ([]alarms.Result, error)
}

// WebhookOptions are the options of a [Webhook]. The zero value works.
type WebhookOptions struct {
	Now    func() time.Time // default time.Now
	NewID  func() string    // ids of records; default UUIDv7
	Logger *slog.Logger     // default: nothing is logged
}

// Webhook takes in what Prometheus Alertmanager posts, and others who do as it does. Safe for
// concurrent use; bodies are carried out one after the other.
type Webhook struct {
	alarms   Alarms
	history  HistoryStore
	silences *Silences
	o        WebhookOptions
	turn     chan struct{} // held while a body is carried out
}

// NewWebhook makes a webhook. All of its parts are required.
func NewWebhook(a Alarms, history HistoryStore, silences *Silences, o WebhookOptions) (*Webhook, error) {
	if a == nil || history == nil || silences == nil {
		return nil, errors.New("alerting: a Webhook needs alarms, a history and silences")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = newID
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Webhook{alarms: a, history: history, silences: silences, o: o, turn: make(chan struct{}, 1)}, nil
}

// WebhookResult tells what became of the alerts of a body.
type WebhookResult struct {
	Success        bool   `json:"success"` // none has failed
	ProcessedCount int    `json:"processedCount"`
	FailedCount    int    `json:"failedCount"`
	Message        string `json:"message"` // names the first alerts that failed and says why
}

const (
	webhookBatch = 1000 // alerts that are stored together
	namedFailure = 10   // failures that are named in a message
)

// Receive carries out a body. A firing alert raises an alarm, whose key is made of its labels, and
// adds a record; a resolved one clears the alarm and completes the record. An alert that came before,
// with the same labels, startsAt and status, counts as processed and changes nothing, so a sender may
// repeat a body at any time; where the alarm is not as the repeat says, it is raised or cleared. An alert that cannot be read counts as failed and the others go on.
//
// A set of labels has one alert at a time. While one lasts, a firing alert of the same labels raises
// no second alarm: the alarm stands, the one that began later is the one that lasts, and the record of
// the other is complete when it began. A resolved alert ends the one that lasts even if its
// startsAt is another, as it is with a pair of Alertmanagers, unless its endsAt (its startsAt where
// there is no endsAt) is before the startsAt of the one that lasts. A startsAt that is ahead of now by
// more than [alarms.ClockSlack] counts as earlier than any other: that clock has been set back.
//
// The error is an [ErrInvalidPayload] for a body that is no JSON object or has no alerts, and
// [ErrNothingStored] when the stores failed and not a single alert could be processed: the sender
// should try again.
func (w *Webhook) Receive(ctx context.Context, body []byte) (WebhookResult, error) {
	items, truncated, err := decodePayload(body)
	if err != nil {
		return WebhookResult{}, err
	}
	if truncated > 0 {
		w.o.Logger.Warn("the sender has left out alerts", "count", truncated)
	}
	select {
	case w.turn <- struct{}{}:
		defer func() { <-w.turn }()
	case <-ctx.Done():
		return WebhookResult{}, ErrNothingStored.Wrap(ctx.Err())
	}
	var broken error
	for start := 0; start < len(items); start += webhookBatch {
		if err := w.apply(ctx, items[start:min(start+webhookBatch, len(items))]); err != nil {
			broken = err
			w.o.Logger.Error("alerts cannot be stored", "error", err)
		}
	}
	if broken != nil {
		// The sender takes any other answer for done. What was stored is a repeat the next time.
		return WebhookResult{}, ErrNothingStored.Wrap(broken)
	}
	return sum(items), nil
}

// item is one alert of a body and why it failed.
type item struct {
	alert
	err error
}

// The reasons for which an alert that can be read fails.
var (
	errNotStored = errors.New("could not be stored")
	errNotValid  = errors.New("does not make a valid alarm")
)

func sum(items []item) WebhookResult {
	var (
		r     WebhookResult
		named []string
	)
	for i := range items {
		if items[i].err == nil {
			r.ProcessedCount++
			continue
		}
		if r.FailedCount++; len(named) < namedFailure {
			named = append(named, fmt.Sprintf("alerts[%d] %s", i, items[i].err))
		}
	}
	r.Success = r.FailedCount == 0
	r.Message = fmt.Sprintf("%d alerts processed", r.ProcessedCount)
	if !r.Success {
		r.Message += fmt.Sprintf(", %d failed: %s", r.FailedCount, strings.Join(named, "; "))
		if more := r.FailedCount - len(named); more > 0 {
			r.Message += fmt.Sprintf("; and %d more", more)
		}
	}
	return r
}

// apply stores the alerts of a batch that can be read. Those that cannot be stored get an error; the
// error that is returned says why, and that it was not for the alerts' sake.
func (w *Webhook) apply(ctx context.Context, items []item) error {
	readable := make([]*item, 0, len(items))
	for i := range items {
		if items[i].err == nil {
			readable = append(readable, &items[i])
		}
	}
	if len(readable) == 0 {
		return nil
	}
	// Nobody else may change the records between our reading them and what follows from it.
	return w.history.Exclusive(ctx, func(ctx context.Context) error {
		err := w.applyTogether(ctx, readable)
		if err == nil || fault.KindOf(err) != fault.Invalid || len(readable) < 2 {
			return mark(readable, err)
		}
		// One of them is refused; the others are not to suffer for it.
		var broken error
		for _, one := range readable {
			if err := mark([]*item{one}, w.applyTogether(ctx, []*item{one})); err != nil {
				broken = err
			}
		}
		return broken
	})
}

// mark gives alerts the error for which they failed, and returns it unless it is their own fault.
func mark(items []*item, err error) error {
	if err == nil {
		return nil
	}
	own := fault.KindOf(err) == fault.Invalid
	for _, one := range items {
		if one.err = errNotStored; own {
			one.err = errNotValid
		}
	}
	if own {
		return nil
	}
	return err
}

// applyTogether stores alerts, all or none.
func (w *Webhook) applyTogether(ctx context.Context, items []*item) error {
	keys := make([]RecordKey, len(items))
	for i, one := range items {
		keys[i] = one.key
	}
	related, err := w.history.RelatedRecords(ctx, keys)
	if err != nil {
		return err
	}
	index, err := w.silences.Index(ctx)
	if err != nil {
		return err
	}
	c := newConversion(w, index, related)
	for _, one := range items {
		c.add(&one.alert)
	}
	return c.store(ctx)
}
