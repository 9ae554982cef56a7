package alarmfailures

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/predictive"
)

// Recorder records failures while [Recorder.Run] runs.
type Recorder struct {
	d Deps
	o Options

	started bool
	read    int64 // the last event that was taken
	saved   int64 // position
	savedAt time.Time
	open    map[int64]*chain // by the code of the condition
	ready   []predictive.Failure
	warned  map[string]time.Time // sources of no equipment, by when the log had them
}

// chain is a failure that may go on: alarms of a condition that follow each other.
type chain struct {
	predictive.Failure
	seq    int64 // of the event that ended the first alarm
	active bool  // raised again
}

// New returns a recorder, which works while [Recorder.Run] does.
func New(d Deps, o Options) (*Recorder, error) {
	for _, dep := range []struct {
		name    string
		missing bool
	}{{"Journal", d.Journal == nil}, {"Records", d.Records == nil}, {"Equipment", d.Equipment == nil}} {
		if dep.missing {
			return nil, fault.Option(pkg, "Deps."+dep.name, "is required")
		}
	}
	if err := o.complete(); err != nil {
		return nil, err
	}
	if d.Positions == nil {
		d.Positions = new(MemoryPositions)
	}
	return &Recorder{d: d, o: o, open: make(map[int64]*chain)}, nil
}

// maxBatch is how many events are read, and maxReady how many failures wait to be stored before reading goes on.
const (
	maxBatch = 1000
	maxReady = 1000
	maxRetry = time.Minute
)

// Run follows the journal until ctx ends. It must be called once. What cannot be read or stored is tried again; the journal keeps it.
// After a crash some alarms are read again: the store skips a failure that it has.
func (r *Recorder) Run(ctx context.Context) {
	if r.o.StartDelay > 0 {
		pause(ctx, r.o.StartDelay)
	}
	retry, failing := r.o.RetryInterval, false
	for ctx.Err() == nil {
		wait, err := r.step(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			if !failing {
				r.o.Logger.Error("failed to record failures from alarms; retrying", "error", err)
			}
			failing = true
			pause(ctx, retry)
			retry = min(2*retry, maxRetry)
			continue
		case failing:
			r.o.Logger.Info("recording failures from alarms resumed")
		}
		retry, failing = r.o.RetryInterval, false
		if wait > 0 {
			waiting, cancel := context.WithTimeout(ctx, wait)
			err = r.d.Journal.Wait(waiting, r.read)
			ended := waiting.Err() != nil
			cancel()
			if err != nil && !ended { // the service is closed
				pause(ctx, retry)
			}
		}
	}
}

// pause waits for a time or the end of ctx.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// maxWait is how long an event is waited for at most: chains end by the clock, which may be set.
const maxWait = time.Minute

// step takes some events and stores the failures that are over. It returns how long to wait for the next event, 0 if there are more.
func (r *Recorder) step(ctx context.Context) (wait time.Duration, err error) {
	if !r.started {
		if r.saved, err = r.d.Positions.Position(ctx); err != nil {
			return 0, err
		}
		r.read, r.started = r.saved, true
	}
	if len(r.ready) < maxReady {
		events, err := r.d.Journal.Events(ctx, r.read, maxBatch)
		if err != nil {
			return 0, err
		}
		for i := range events {
			if err := r.take(ctx, &events[i]); err != nil {
				return 0, errors.Join(err, r.store(ctx))
			}
			r.read = events[i].Seq
		}
		if len(events) < maxBatch {
			r.close(r.o.Now())
			wait = maxWait
		}
	}
	return wait, r.store(ctx)
}

// take follows an event.
func (r *Recorder) take(ctx context.Context, e *alarms.Event) error {
	o := &e.Occurrence
	c := r.open[o.Code]
	switch {
	case e.Kind == alarms.Raised && c != nil && o.Active:
		if o.RaisedAt.Sub(c.End) > r.o.MergeGap {
			r.finish(o.Code)
		} else {
			c.active = true
		}
	case !e.Kind.Ends():
	case !r.counts(o):
		if c != nil && !o.Late() {
			c.active = false
		}
	case c != nil && within(o, c, r.o.MergeGap):
		c.active = c.active && o.Late() // a late one was over before
		if o.RaisedAt.Before(c.Start) {
			c.Start, c.Noticed = o.RaisedAt, o.RaisedAt
		}
		if end := endOf(o); end.After(c.End) {
			c.End = end
		}
	default:
		return r.begin(ctx, e, c)
	}
	return nil
}

// within reports whether an occurrence belongs to a chain.
func within(o *alarms.Occurrence, c *chain, gap time.Duration) bool {
	return o.RaisedAt.Sub(c.End) <= gap && c.Start.Sub(endOf(o)) <= gap
}

// begin begins a chain with an occurrence that is over. One that was reported late is recorded alone if there is a newer chain.
func (r *Recorder) begin(ctx context.Context, e *alarms.Event, c *chain) error {
	o := &e.Occurrence
	equipment, err := r.d.Equipment(ctx, cmp.Or(o.Labels[EquipmentLabel], o.Source))
	if err != nil {
		return err
	}
	if equipment == "" {
		r.warn(o)
		return nil
	}
	f := failureOf(o, equipment)
	switch {
	case c != nil && f.Start.Before(c.Start):
		r.add(f)
	case c != nil:
		r.finish(o.Code)
		fallthrough
	default:
		r.open[o.Code] = &chain{Failure: f, seq: e.Seq}
	}
	return nil
}

const (
	warnInterval = time.Hour
	maxWarned    = 1000 // sources; more are not logged
)

// warn logs that an alarm is not recorded, once in an hour for each source.
func (r *Recorder) warn(o *alarms.Occurrence) {
	now, source := r.o.Now(), cmp.Or(o.Labels[EquipmentLabel], o.Source)
	maps.DeleteFunc(r.warned, func(_ string, at time.Time) bool { return now.Sub(at).Abs() >= warnInterval })
	if _, known := r.warned[source]; known || len(r.warned) >= maxWarned {
		return
	}
	if r.warned == nil {
		r.warned = make(map[string]time.Time)
	}
	r.warned[source] = now
	r.o.Logger.Warn("an alarm is not recorded as a failure: its source belongs to no equipment", "source", source, "key", o.Key)
}

// counts reports whether an occurrence that is over was a failure.
func (r *Recorder) counts(o *alarms.Occurrence) bool {
	return o.Severity == alarms.Critical && o.Suppression&(alarms.SuppressionByDesign|alarms.SuppressionOutOfService) == 0 && r.o.chosen(o)
}

// endOf returns when the condition of an occurrence was normal again, which may be before a latching one was reset.
func endOf(o *alarms.Occurrence) time.Time {
	if !o.ReturnedAt.IsZero() && o.ReturnedAt.Before(o.ClearedAt) {
		return o.ReturnedAt
	}
	return o.ClearedAt
}

// failureOf returns the failure of an occurrence that is over.
func failureOf(o *alarms.Occurrence, equipment string) predictive.Failure {
	f := predictive.Failure{ID: "alarm-" + o.ID, EquipmentID: equipment, Code: strconv.FormatInt(o.Code, 10), Source: predictive.SourceAlarm,
		Note: clip(o.Message, predictive.MaxRecordNote), Start: o.RaisedAt, Noticed: o.RaisedAt, End: endOf(o)}
	if component := o.Labels[ComponentLabel]; len(component) <= predictive.MaxRecordName {
		f.Component = component
	}
	return f
}

// clip returns at most n bytes of a text.
func clip(text string, n int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	for len(text) > n {
		_, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
	}
	return text
}

// close finishes the chains whose alarms cannot go on any more, as all events were taken.
func (r *Recorder) close(now time.Time) {
	for code, c := range r.open {
		if !c.active && now.Sub(c.End) > r.o.MergeGap {
			r.finish(code)
		}
	}
}

func (r *Recorder) finish(code int64) {
	r.add(r.open[code].Failure)
	delete(r.open, code)
}

// add lets a failure wait to be stored.
func (r *Recorder) add(f predictive.Failure) {
	if err := f.Validate(); err != nil {
		r.o.Logger.Warn("an alarm is not recorded as a failure", "equipment", f.EquipmentID, "code", f.Code, "error", err)
		return
	}
	r.ready = append(r.ready, f)
}

// saveInterval is how often the position is stored if there are no failures: each alarm moves it.
const saveInterval = time.Minute

// store stores the failures that are over.
func (r *Recorder) store(ctx context.Context) error {
	stored := len(r.ready) > 0
	if stored {
		if err := r.addAll(ctx); err != nil {
			return err
		}
		r.ready = nil
	}
	if now := time.Now(); stored || r.savedAt.IsZero() || now.Sub(r.savedAt) >= saveInterval {
		return r.save(ctx, now)
	}
	return nil
}

// save stores from where alarms are to be read after a restart.
func (r *Recorder) save(ctx context.Context, now time.Time) error {
	position := r.read
	for _, c := range r.open {
		position = min(position, c.seq-1)
	}
	if position != r.saved {
		if err := r.d.Positions.SetPosition(ctx, position); err != nil {
			return err
		}
	}
	r.saved, r.savedAt = position, now
	return nil
}

// addAll adds the failures, one by one if there is another record with the id of one of them.
func (r *Recorder) addAll(ctx context.Context) error {
	err := r.d.Records.AddFailures(ctx, r.ready)
	if !errors.Is(err, predictive.ErrRecordExists) {
		return err
	}
	for _, f := range r.ready {
		err := r.d.Records.AddFailures(ctx, []predictive.Failure{f})
		if err != nil && !errors.Is(err, predictive.ErrRecordExists) {
			return err
		}
	}
	return nil
}
