package alertsource

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/history"
	"github.com/otkit/otkit/alerting/internal/canon"
	"github.com/otkit/otkit/alerting/silences"
	"github.com/otkit/otkit/fault"
)

// Alarms is where alerts become alarms. *alarms.Service is one.
type Alarms interface {
	// Apply applies signals in order, all or none. Raising what is active and clearing what is not changes nothing.
	Apply(ctx context.Context, signals []alarms.Signal) ([]alarms.Result, error)
}

// Options are the options of a [Receiver]. The zero value works.
type Options struct {
	Now   func() time.Time // default time.Now
	NewID func() string    // ids of records; default UUIDv7
	// LateWindow is the time after the end of an alert within which a firing one of another sender is late and is ignored. Default
	// [DefaultLateWindow].
	LateWindow time.Duration
	// MaxActive is the number of records of firing alerts beyond which further alerts are refused. Default [DefaultMaxActive].
	MaxActive int
	Logger    *slog.Logger // default: nothing is logged
}

// DefaultLateWindow is the default of Options.LateWindow.
const DefaultLateWindow = time.Minute

// Receiver receives alerts in the format of the Prometheus Alertmanager webhook. Safe for concurrent use; bodies are processed one after
// the other.
type Receiver struct {
	alarms   Alarms
	history  history.ReceiverStore
	silences *silences.Service
	o        Options
	turn     chan struct{} // held while a body is carried out
	open     openCount     // of whoever has the turn

	mu        sync.Mutex
	truncated map[string]time.Time // groups whose last post was cut, and when it came
	whole     time.Time            // when the last of them was forgotten
}

// New returns a receiver. All arguments except o are required.
func New(a Alarms, history history.ReceiverStore, silences *silences.Service, o Options) (*Receiver, error) {
	if a == nil || history == nil || silences == nil {
		return nil, errors.New("alertsource: alarms, a history and silences are required")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = canon.NewID
	}
	if o.LateWindow < 0 {
		return nil, fault.Option("alertsource", "Options.LateWindow", "must not be negative, not %s", o.LateWindow)
	}
	if o.MaxActive < 0 {
		return nil, fault.Option("alertsource", "Options.MaxActive", "must not be negative, not %d", o.MaxActive)
	}
	o.MaxActive = cmp.Or(o.MaxActive, DefaultMaxActive)
	o.LateWindow = cmp.Or(o.LateWindow, DefaultLateWindow)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Receiver{alarms: a, history: history, silences: silences, o: o, turn: make(chan struct{}, 1),
		truncated: map[string]time.Time{restartedPost: o.Now()}}, nil
}

// Result is what became of the alerts of a body.
type Result struct {
	Success        bool   `json:"success"` // none has failed
	ProcessedCount int    `json:"processedCount"`
	FailedCount    int    `json:"failedCount"`
	Message        string `json:"message"` // names the first alerts that failed and says why
}

const (
	webhookBatch = 1000 // alerts that are stored together
	namedFailure = 10   // failures that are named in a message
)

// Receive processes a body. A firing alert raises an alarm, whose key is made of its labels, and adds a record; a resolved one clears the
// alarm and completes the record. An alert that came before, with the same labels, startsAt and status, counts as processed and changes
// nothing, so a sender may repeat a body at any time. If the alarm is not in the state of the repeat, it is raised or cleared. An alert
// that cannot be read counts as failed; the others are processed.
//
// A firing alert whose end is known, of the same startsAt, begins again when it comes from a sender that
// reported the end: Prometheus was away for longer than its alerts are valid, and is back. From another sender it
// begins again when it comes later than LateWindow after the end was reported. Before that it is the late
// message of a cluster, of which one member reports each change, and is ignored. Senders differ by externalURL,
// receiver or peer, the network address that a body came from.
//
// A set of labels has one alert at a time. While one lasts, a firing alert of the same labels raises
// no second alarm: the alarm stays as it is, the alert that began later is the one that lasts, and the record of
// the other is complete when it began. A resolved alert ends the one that lasts even if its
// startsAt is another, as it is with a pair of Alertmanagers, unless its endsAt (its startsAt where
// there is no endsAt) is before the startsAt of the one that lasts. A startsAt that is ahead of now by
// more than [alarms.ClockSlack] counts as earlier than any other: that clock has been set back.
//
// If the body is not a JSON object or has no alerts, Receive returns [ErrInvalidPayload]; if a store failed, [ErrNothingStored]; if there
// was no room for some of the alerts, [ErrTooManyAlarms]. After the last two the sender should try again.
func (w *Receiver) Receive(ctx context.Context, peer string, body []byte) (Result, error) {
	p, err := decodePayload(peer, body)
	if err != nil {
		return Result{}, err
	}
	select {
	case w.turn <- struct{}{}:
		defer func() { <-w.turn }()
	case <-ctx.Done():
		return Result{}, ErrNothingStored.Wrap(ctx.Err())
	}
	var broken error
	for batch := range slices.Chunk(p.items, webhookBatch) {
		if err := w.apply(ctx, &p, batch); err != nil {
			broken = err
			w.o.Logger.Error("alerts cannot be stored", "error", err)
		}
	}
	w.noteTruncated(ctx, &p)
	if broken != nil {
		// The sender takes any other answer for done. What was stored is a repeat the next time.
		return Result{}, ErrNothingStored.Wrap(broken)
	}
	result := sum(p.items)
	if n := countFull(p.items); n > 0 {
		w.o.Logger.Error("alerts refused: too many alarms are active", "alerts", n, "limit", w.o.MaxActive, "receiver", p.receiver)
		raisePlatform(ctx, w.alarms, w.o.Logger, fullKey, fmt.Sprintf("Alerts of other systems are not raised: more than %d alarms of them "+
			"are active (alerting.maxActive).", w.o.MaxActive))
		return result, ErrTooManyAlarms
	}
	return result, nil
}

// countFull counts the alerts for which there was no room.
func countFull(items []item) (n int) {
	for i := range items {
		if errors.Is(items[i].err, errNoRoom) {
			n++
		}
	}
	return n
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

func sum(items []item) Result {
	var (
		r     Result
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

// apply stores the alerts of a batch that can be read. Those that cannot be stored get an error. It returns the error of a store.
func (w *Receiver) apply(ctx context.Context, p *post, items []item) error {
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
	return w.history.WithLock(ctx, func(ctx context.Context) error {
		err := w.applyTogether(ctx, p, readable)
		if err == nil || fault.KindOf(err) != fault.Invalid || len(readable) < 2 {
			return mark(readable, err)
		}
		// One of them is refused; the others are not to suffer for it.
		var broken error
		for _, one := range readable {
			if err := mark([]*item{one}, w.applyTogether(ctx, p, []*item{one})); err != nil {
				broken = err
			}
		}
		return broken
	})
}

// mark sets the error of alerts that failed, and returns it unless they are not valid themselves.
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
func (w *Receiver) applyTogether(ctx context.Context, p *post, items []*item) error {
	keys := make([]alerting.RecordKey, len(items))
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
	c := newConversion(w, p, index, related)
	for _, one := range items {
		if one.err, err = c.add(ctx, &one.alert); err != nil {
			return err
		}
	}
	if err := c.store(ctx); err != nil {
		w.open.at = time.Time{}
		return err
	}
	w.open.records += c.added
	return nil
}
