package alerting

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/otkit/otkit/alarms"
)

// One transaction plans so many events, or fewer when they go to so many recipients that there would be
// more rows: others wait for it.
const (
	planBatch = 500
	planRows  = 5000
)

// planSize is the number of events that are planned at once.
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
	return max(1, min(planBatch, planRows/most))
}

// plan follows the journal until ctx ends.
func (d *Dispatcher) plan(ctx context.Context) {
	failures, batch := 0, d.planSize()
	for ctx.Err() == nil {
		n, err := d.planOnce(ctx, batch)
		if !errors.Is(err, ErrCursorMoved) && ctx.Err() == nil && d.trouble("journal", err) {
			if err != nil {
				d.log.Error("alarms cannot be dispatched", "error", err)
			} else {
				d.log.Info("alarms are dispatched again")
			}
		}
		switch {
		case errors.Is(err, ErrCursorMoved):
			continue
		case err != nil && ctx.Err() == nil:
			failures++
			wait(ctx, nil, d.o.backoff(failures))
			continue
		}
		failures = 0
		if n < batch && !wait(ctx, d.wake, d.o.Poll) {
			return
		}
	}
}

// planOnce plans at most batch events and gives their number.
func (d *Dispatcher) planOnce(ctx context.Context, batch int) (int, error) {
	from, err := d.deps.Outbox.Cursor(ctx)
	if err != nil {
		return 0, err
	}
	after := from
	if from == 0 {
		after = d.o.StartAfter
	}
	events, err := d.deps.Journal.Events(ctx, after, batch)
	if err != nil {
		return 0, err
	}
	if len(events) == 0 {
		return 0, nil
	}
	p := planner{d: d, now: stamp(d.o.Now()), planned: make(map[string][]int)}
	if err := p.run(ctx, events); err != nil {
		return 0, err
	}
	if d.deps.History != nil && len(p.records)+len(p.completions) > 0 {
		// Before the cursor moves: a repeat after a crash adds no record twice.
		if err := d.deps.History.ApplyRecords(ctx, p.records, p.completions); err != nil {
			return 0, err
		}
	}
	if err := d.deps.Outbox.Plan(ctx, from, events[len(events)-1].Seq, p.add); err != nil {
		return 0, err
	}
	told := make(map[string]bool)
	for _, a := range p.add {
		told[a.Channel] = true
	}
	for channel := range told {
		d.workers[channel].poke()
	}
	return len(events), nil
}

// planner turns a batch of events into deliveries and records.
type planner struct {
	d     *Dispatcher
	now   time.Time
	index *SilenceIndex

	first   map[string][]Delivery // of occurrences that end in this batch, from the outbox
	planned map[string][]int      // of occurrences that begin in this batch, places in add

	add         []Delivery
	records     []Record
	completions []Completion
}

func (p *planner) run(ctx context.Context, events []alarms.Event) error {
	var err error
	if p.index, err = p.d.deps.Silences.Index(ctx); err != nil {
		return err
	}
	if err := p.loadFirst(ctx, events); err != nil {
		return err
	}
	for i := range events {
		e := &events[i]
		silence := p.silenced(e)
		p.record(e, silence)
		if quiet(e) {
			p.dropSilenced(e)
		}
		switch {
		case e.Kind.Ends():
			p.resolved(e)
		case tellable(e):
			p.raised(e, silence)
		}
	}
	return nil
}

// raised tells the channels of the route, at once or, when it is silenced, maybe later.
func (p *planner) raised(e *alarms.Event, silence string) {
	state := Pending
	if silence != "" {
		state = Silenced
	}
	for _, name := range p.d.routes[e.Occurrence.Severity] {
		if w := p.d.workers[name]; w != nil && e.Occurrence.Key != DeadLetterKey(name) {
			p.deliver(e, name, w.order, false, state)
		}
	}
}

// quiet says whether an event leaves nothing to tell of an occurrence that nobody was told of
// yet: it is over, somebody knows of it, or it is withheld and told when it comes back.
func quiet(e *alarms.Event) bool {
	return e.Occurrence.ID != "" && (e.Kind.Ends() || settledDown(&e.Occurrence))
}

// settledDown says whether nobody who was not told of an occurrence needs to be.
func settledDown(o *alarms.Occurrence) bool { return !o.Active || o.Acknowledged() || o.Withheld != 0 }

// dropSilenced gives up what is silenced in this batch; loadFirst has done so with what was before.
func (p *planner) dropSilenced(e *alarms.Event) {
	for _, i := range p.planned[e.Occurrence.ID] {
		if d := &p.add[i]; d.State == Silenced {
			d.State, d.SettledAt = Dropped, p.now
		}
	}
}

// tellable says whether an event brings something new to tell: an occurrence, or that an open one has
// become graver.
func tellable(e *alarms.Event) bool {
	o := &e.Occurrence
	return e.New || e.Kind == alarms.Escalated && o.Withheld == 0 && !o.Acknowledged()
}

// loadFirst reads who was told of the occurrences that end, and gives up what is silenced of those that
// are [quiet] now. That comes before the plan: a repeat after a crash changes nothing.
func (p *planner) loadFirst(ctx context.Context, events []alarms.Event) error {
	var over []string
	for i := range events {
		if quiet(&events[i]) {
			over = append(over, events[i].Occurrence.ID)
		}
	}
	if len(over) == 0 {
		return nil
	}
	slices.Sort(over)
	over = slices.Compact(over)
	for {
		list, err := p.d.deps.Outbox.FirstDeliveries(ctx, over)
		if err != nil {
			return err
		}
		p.first = make(map[string][]Delivery)
		var silenced []string
		for _, f := range list {
			if f.State == Silenced {
				silenced = append(silenced, f.ID)
				continue
			}
			p.first[f.Occurrence] = append(p.first[f.Occurrence], f)
		}
		if len(silenced) == 0 {
			return nil
		}
		n, err := p.d.deps.Outbox.Unsilence(ctx, silenced, Dropped, p.now, time.Time{})
		if err != nil || n == len(silenced) {
			return err
		}
		// Another dispatcher was faster, and some of them may be sent.
	}
}

// silenced gives the id of a silence that held when the event happened or holds now that it is to be
// told, or "". A webhook has said so with a label when it raised the alarm; what happens to the alarm
// later is judged by itself.
func (p *planner) silenced(e *alarms.Event) string {
	o := &e.Occurrence
	if e.Kind == alarms.Raised && ofWebhook(o.Key) && o.Labels[LabelSilencedBy] != "" {
		if _, holds := p.index.Match(o.SourceType, o.Source, p.now); !holds {
			p.d.late.Store(true)
		}
		return o.Labels[LabelSilencedBy]
	}
	if s, ok := p.index.Match(o.SourceType, o.Source, p.now); ok {
		return s.ID
	}
	if s, ok := p.index.Match(o.SourceType, o.Source, e.At); ok {
		p.d.late.Store(true)
		return s.ID
	}
	return ""
}

// record makes the history of alarms that are not of a webhook, which makes its own.
func (p *planner) record(e *alarms.Event, silence string) {
	o := &e.Occurrence
	if ofWebhook(o.Key) {
		return
	}
	key := RecordKey{Alarm: o.Key, At: stamp(o.RaisedAt)}
	switch {
	case e.Kind == alarms.Raised:
		labels := maps.Clone(o.Labels)
		if silence != "" {
			if labels == nil {
				labels = make(map[string]string, 1)
			}
			labels[LabelSilencedBy] = silence
		}
		p.records = append(p.records, Record{
			ID: p.d.o.NewID(), Key: key, Severity: o.Severity, Source: o.Source, SourceType: o.SourceType,
			Title: o.Message, Labels: labels,
		})
	case e.Kind.Ends():
		p.completions = append(p.completions, Completion{Key: key, At: stamp(o.ClearedAt)})
	}
}

// resolved tells those that were told of the occurrence, or will be, or would be if a dead letter were
// sent again: it waits behind the first message, and is dropped when that was not told.
func (p *planner) resolved(e *alarms.Event) {
	firsts := p.first[e.Occurrence.ID]
	for _, i := range p.planned[e.Occurrence.ID] {
		firsts = append(firsts, p.add[i])
	}
	told := make(map[string][]string) // recipients by channel
	for _, f := range firsts {
		w := p.d.workers[f.Channel]
		if w == nil || f.State == Dropped || f.State == Silenced || !tellsResolved(w.channel) {
			continue
		}
		to := []string{f.Recipient}
		if f.Recipient == "" {
			to = w.order // of a time when the channel's recipients had no deliveries of their own
		}
		for _, r := range to {
			if w.to[r] != nil && !slices.Contains(told[f.Channel], r) {
				told[f.Channel] = append(told[f.Channel], r)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(told)) {
		p.deliver(e, name, told[name], true, Pending)
	}
}

// deliver plans one delivery for each recipient.
func (p *planner) deliver(e *alarms.Event, channel string, recipients []string, resolved bool, state DeliveryState) {
	o := &e.Occurrence
	n := Notification{
		EventID: e.ID, AlarmID: o.ID, Code: o.Code, Channel: channel, Severity: o.Severity, Source: o.Source, SourceType: o.SourceType,
		Message: o.Message, Labels: o.Labels, At: stamp(o.RaisedAt), Resolved: resolved,
	}
	if resolved {
		n.At = stamp(o.ClearedAt)
	}
	p.d.render(&n)
	for _, r := range recipients {
		n.ID, n.Recipient = p.d.o.NewID(), r
		if !resolved {
			p.planned[o.ID] = append(p.planned[o.ID], len(p.add))
		}
		p.add = append(p.add, Delivery{
			ID: n.ID, Seq: e.Seq, EventID: e.ID, Occurrence: o.ID, Channel: channel, Recipient: r, Resolved: resolved, State: state,
			Own: strings.HasPrefix(o.Key, deadLetterKeys), NextAttempt: p.now, CreatedAt: p.now, ExpiresAt: p.now.Add(p.d.o.MaxAge), Notification: n,
		})
	}
}

// labelDescription carries the description of a webhook's alert to the templates.
const labelDescription = "description"

// render fills in title and body. A template that fails on this alarm gives way to the default one:
// an alarm told in other words is better than one that is not told.
func (d *Dispatcher) render(n *Notification) {
	data := TemplateData{
		ID: n.AlarmID, Title: n.Message, Description: n.Labels[labelDescription], Severity: n.Severity.String(),
		Source: n.Source, SourceType: n.SourceType, State: "Firing", Resolved: n.Resolved,
		At: n.At.Format(time.RFC3339), Labels: maps.Clone(n.Labels),
	}
	delete(data.Labels, labelDescription)
	if n.Resolved {
		data.State = "Resolved"
	}
	var err error
	if n.Title, n.Body, err = d.templates[n.Channel].Render(data); err == nil {
		return
	}
	d.log.Warn("a template failed; the default one is used", "channel", n.Channel, "error", err)
	standard, err := CompileTemplate(TemplateText{})
	if err == nil {
		n.Title, n.Body, err = standard.Render(data)
	}
	if err != nil {
		n.Title, n.Body = n.Message, n.Message
	}
}

// webhookKey is how the keys of alarms begin that a [Webhook] has raised.
const webhookKey = "webhook:"

func ofWebhook(key string) bool { return strings.HasPrefix(key, webhookKey) }
