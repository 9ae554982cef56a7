package hubs

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/otkit/otkit/alarms"
)

// DashboardJournal delivers what happens to alarms and lists the active ones. An [alarms.Service] is one.
type DashboardJournal interface {
	Journal
	// EachActive yields every active occurrence.
	EachActive(ctx context.Context) iter.Seq2[alarms.Occurrence, error]
	// EventsOf returns a page of the journal of an occurrence, oldest first, and the number of all its events. Pages count from 1 and
	// have at most [alarms.MaxPageSize] events.
	EventsOf(ctx context.Context, id string, page, size int) ([]alarms.Event, int, error)
}

// DashboardOptions configure a [Dashboard]. The zero value works.
type DashboardOptions struct {
	// Shows reports whether alarms of a severity are sent with ReceiveAlarm. Default: all are.
	Shows  func(alarms.Severity) bool
	Now    func() time.Time // default time.Now
	Logger *slog.Logger     // default: discards
}

// Dashboard sends alarms to the hub /hubs/alarms. Make it with [NewDashboard].
//
// It sends ReceiveAlarm(message, severity, timestamp) for a new alarm, for one that becomes more severe while nobody has acknowledged it,
// and with "Resolved: " before the message when one ends that was sent before. A silenced alarm is sent when the silence ends, if it is
// then still active and unacknowledged. It sends OnAlarmChanged with the alarm for every change, silenced or not.
type Dashboard struct {
	journal  DashboardJournal
	silences *silenceReader
	o        DashboardOptions

	mu      sync.Mutex
	sender  sender
	held    map[string]*heldAlarm // by id of the occurrence
	waiting int                   // of held, those that wait for the end of a silence
	full    bool                  // held could not take all
	unread  bool                  // what is silenced could not be read at the start
	first   int64                 // number of the first event that was received; 0 for none

	began     time.Time
	loaded    activeSilences // at the start
	pastAfter time.Time      // the journal of single occurrences is not read before
	pastUntil time.Time      // nor after this; zero for no limit
}

// heldAlarm is an active occurrence that was not sent, or whose last change was not.
type heldAlarm struct {
	occurrence alarms.Occurrence
	sent       bool // an earlier message of it was sent
	waiting    bool // to be sent when no silence holds for it any more
	earlier    bool // it was found at the start: sent and waiting are guesses until the journal is read
}

const (
	// maxHeld bounds the alarms that are held back; more are sent although they are silenced.
	maxHeld = 50_000
	// releaseInterval is the time between two looks whether silences have ended.
	releaseInterval = time.Second
	releaseTime     = 250 * time.Millisecond // of one release: events wait for it
	loadTimeout     = 10 * time.Second
	loadRetry       = 10 // of these intervals are between attempts to load
)

// NewDashboard returns a Dashboard that sends to hub.
func NewDashboard(hub Hub, journal DashboardJournal, silences Silences, o DashboardOptions) (*Dashboard, error) {
	switch {
	case hub == nil:
		return nil, errors.New("hubs: NewDashboard: hub is nil")
	case journal == nil:
		return nil, errors.New("hubs: NewDashboard: journal is nil")
	case silences == nil:
		return nil, errors.New("hubs: NewDashboard: silences is nil")
	}
	if o.Shows == nil {
		o.Shows = func(alarms.Severity) bool { return true }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Dashboard{journal: journal, silences: newSilenceReader(silences, o.Logger), o: o, sender: sender{hub: hub},
		held: make(map[string]*heldAlarm)}, nil
}

// Run sends until ctx ends or the journal is closed. It must be called once.
func (d *Dashboard) Run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	d.began = d.o.Now()
	var released sync.WaitGroup
	released.Go(func() { d.releaseEnded(ctx) })
	_ = d.journal.Follow(ctx, alarms.SubscribeOptions{Changes: true}, func(events []alarms.Event) { // it ends with ctx or the service
		d.handle(ctx, events)
	})
	cancel()
	released.Wait()
	d.silences.wait()
}

func (d *Dashboard) handle(ctx context.Context, events []alarms.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pastUntil = time.Now().Add(pastTime)
	defer func() { d.pastUntil = time.Time{} }()
	var active activeSilences
	known := false
	for i := range events {
		e := &events[i]
		if e.Occurrence.ID == "" {
			continue
		}
		if d.first == 0 {
			d.first = e.Seq // 0 for what is not stored yet
		}
		if !known && (e.Kind.Ends() || announces(e)) {
			active, known = d.silences.read(ctx, d.o.Now()), true
		}
		d.receive(ctx, e, active)
		d.sender.sendChange(ctx, e)
	}
}

// announces reports whether an event has something that operators must be notified of.
func announces(e *alarms.Event) bool {
	o := &e.Occurrence
	return e.Annunciate || e.Kind == alarms.Escalated && !settled(o)
}

// settled reports whether nobody needs to be notified of an occurrence any more.
func settled(o *alarms.Occurrence) bool { return !o.Active || o.Acknowledged() || o.Suppression != 0 }

// receive sends ReceiveAlarm for an event, or holds it back.
func (d *Dashboard) receive(ctx context.Context, e *alarms.Event, active activeSilences) {
	o := &e.Occurrence
	shows := d.o.Shows(o.Severity)
	switch h := d.held[o.ID]; {
	case e.Kind.Ends():
		sent := d.known(ctx, e, active).sent
		d.remove(o.ID)
		if sent { // also with a severity that is not: somebody waits for the end
			d.sendAlarm(ctx, o, true)
		}
	case announces(e) && shows:
		if active.silence(o, e.At) && d.hold(heldAlarm{occurrence: *o, sent: d.known(ctx, e, active).sent, waiting: true}) {
			return
		}
		d.remove(o.ID)
		d.sendAlarm(ctx, o, false)
	case h != nil: // if the severity is not sent any more, what waits is that it had one that is
		now := *h
		if shows {
			now.occurrence = *o
		}
		now.waiting = h.waiting && !settled(o)
		d.hold(now)
	case shows && e.Kind == alarms.Raised: // while it is suppressed
		d.hold(heldAlarm{occurrence: *o})
	}
}

// known returns what became of an occurrence before an event.
func (d *Dashboard) known(ctx context.Context, e *alarms.Event, active activeSilences) heldAlarm {
	h := d.held[e.Occurrence.ID]
	switch {
	case h != nil && !h.earlier:
		return *h
	case e.Kind == alarms.Raised:
		return heldAlarm{}
	}
	return d.past(ctx, &e.Occurrence, e.Seq, active)
}

// hold keeps an alarm back until it is sent or ends. It returns false when there is no room.
func (d *Dashboard) hold(h heldAlarm) bool {
	id := h.occurrence.ID
	if d.held[id] == nil && len(d.held) >= maxHeld {
		if !d.full {
			d.full = true
			d.o.Logger.Warn("too many silenced alarms; dashboards receive further ones although they are silenced", "limit", maxHeld)
		}
		return false
	}
	d.remove(id)
	d.held[id] = &h
	if h.waiting {
		d.waiting++
	}
	return true
}

func (d *Dashboard) remove(id string) {
	if h := d.held[id]; h != nil && h.waiting {
		d.waiting--
	}
	delete(d.held, id)
}

// sendAlarm sends ReceiveAlarm.
func (d *Dashboard) sendAlarm(ctx context.Context, o *alarms.Occurrence, resolved bool) {
	d.sender.send(ctx, "ReceiveAlarm", func() []any {
		message, at := o.Message, o.RaisedAt
		if resolved {
			message, at = "Resolved: "+message, o.ClearedAt
		}
		return []any{message, o.Severity.ThreeLevel(), at.UTC().Truncate(time.Microsecond).Format(time.RFC3339Nano)}
	})
}

// releaseEnded sends alarms for which no silence holds any more, until ctx ends.
func (d *Dashboard) releaseEnded(ctx context.Context) {
	loaded := d.load(ctx)
	ticker := time.NewTicker(releaseInterval)
	defer ticker.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if !loaded && n%loadRetry == 0 {
				loaded = d.load(ctx)
			}
			for d.release(ctx) {
			}
		}
	}
}

// load holds back what was silenced already when the Dashboard began. It is sent when the silence ends, although it was raised before
// that. It returns false when it could not be read.
func (d *Dashboard) load(ctx context.Context) bool {
	d.mu.Lock() // what happens meanwhile comes afterwards
	defer d.mu.Unlock()
	active := d.silences.read(ctx, d.o.Now())
	if d.silences.failing {
		return false
	}
	if active.none() {
		return true
	}
	d.loaded = active
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	for o, err := range d.journal.EachActive(ctx) {
		if err != nil {
			if !errors.Is(err, context.Canceled) && !d.unread {
				d.unread = true
				d.o.Logger.Error("failed to read silenced alarms; retrying", "error", err)
			}
			return false
		}
		if d.isEarlier(&o) && d.held[o.ID] == nil && active.silence(&o, d.began) &&
			!d.hold(heldAlarm{occurrence: o, waiting: !settled(&o), earlier: true}) {
			return true
		}
	}
	return true
}

// release sends what no silence holds any more. It returns true if it stopped before the end, so that what happens meanwhile does not
// wait: after a restart the journal is read for each alarm.
func (d *Dashboard) release(ctx context.Context) (more bool) {
	if !d.mu.TryLock() {
		return false // events are being handled; the next look is soon
	}
	defer d.mu.Unlock()
	if d.waiting == 0 {
		return false
	}
	began, now := time.Now(), d.o.Now()
	active := d.silences.read(ctx, now)
	var ended []*heldAlarm
	for _, h := range d.held {
		if h.waiting && !active.silence(&h.occurrence, now) {
			ended = append(ended, h)
		}
	}
	slices.SortFunc(ended, func(a, b *heldAlarm) int { return cmp.Compare(a.occurrence.Seq, b.occurrence.Seq) })
	for _, h := range ended {
		if ctx.Err() == nil && time.Since(began) > releaseTime {
			return true
		}
		known := *h
		if h.earlier {
			known = d.past(ctx, &h.occurrence, 0, active)
		}
		d.remove(h.occurrence.ID)
		if known.waiting {
			d.sendAlarm(ctx, &known.occurrence, false)
		}
	}
	return false
}
