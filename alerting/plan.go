package alerting

import (
	"context"
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/otkit/otkit/alarms"
)

// planBatch is the number of events that are planned in one transaction.
const planBatch = 500

// plan follows the journal until ctx ends.
func (d *Dispatcher) plan(ctx context.Context) {
	failures := 0
	for ctx.Err() == nil {
		n, err := d.planOnce(ctx)
		switch {
		case errors.Is(err, ErrCursorMoved):
			continue
		case err != nil && ctx.Err() == nil:
			failures++
			if failures == 1 {
				d.log.Error("alarms cannot be dispatched", "error", err)
			}
			wait(ctx, nil, d.o.backoff(failures))
			continue
		case failures > 0 && err == nil:
			d.log.Info("alarms are dispatched again")
			failures = 0
		}
		if n < planBatch && !wait(ctx, d.wake, d.o.Poll) {
			return
		}
	}
}

// planOnce plans some events and gives their number.
func (d *Dispatcher) planOnce(ctx context.Context) (int, error) {
	from, err := d.deps.Outbox.Cursor(ctx)
	if err != nil {
		return 0, err
	}
	after := from
	if from == 0 {
		after = d.o.StartAfter
	}
	events, err := d.deps.Journal.Events(ctx, after, planBatch)
	if err != nil {
		return 0, err
	}
	if len(events) == 0 {
		return 0, nil
	}
	p := planner{d: d, now: stamp(d.o.Now()), planned: make(map[string][]Delivery)}
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
	planned map[string][]Delivery // of occurrences that begin in this batch

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
		switch {
		case e.Kind.Ends():
			p.resolved(e)
		case tellable(e) && silence == "":
			for _, channel := range p.d.routes[e.Occurrence.Severity] {
				if p.d.channels[channel] != nil {
					p.deliver(e, channel, false)
				}
			}
		}
	}
	return nil
}

// tellable says whether an event brings something new to tell: an occurrence, or that an open one has
// become graver.
func tellable(e *alarms.Event) bool {
	o := &e.Occurrence
	return e.New || e.Kind == alarms.Escalated && o.Withheld == 0 && !o.Acknowledged()
}

func (p *planner) loadFirst(ctx context.Context, events []alarms.Event) error {
	var ended []string
	for i := range events {
		if events[i].Kind.Ends() {
			ended = append(ended, events[i].Occurrence.ID)
		}
	}
	if len(ended) == 0 {
		return nil
	}
	list, err := p.d.deps.Outbox.FirstDeliveries(ctx, ended)
	p.first = make(map[string][]Delivery)
	for _, f := range list {
		p.first[f.Occurrence] = append(p.first[f.Occurrence], f)
	}
	return err
}

// silenced gives the id of a silence that held when the event happened or holds now that it is to be
// told, or "". A webhook has said so with a label when it raised the alarm; what happens to the alarm
// later is judged by itself.
func (p *planner) silenced(e *alarms.Event) string {
	o := &e.Occurrence
	if e.Kind == alarms.Raised && ofWebhook(o.Key) && o.Labels[LabelSilencedBy] != "" {
		return o.Labels[LabelSilencedBy]
	}
	for _, at := range [...]time.Time{p.now, e.At} {
		if s, ok := p.index.Match(o.SourceType, o.Source, at); ok {
			return s.ID
		}
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

// resolved tells the channels that were or will be told of the occurrence.
func (p *planner) resolved(e *alarms.Event) {
	told := make(map[string]bool)
	for _, list := range [][]Delivery{p.first[e.Occurrence.ID], p.planned[e.Occurrence.ID]} {
		for _, f := range list {
			c := p.d.channels[f.Channel]
			if c != nil && !told[f.Channel] && f.State != Dead && f.State != Dropped && tellsResolved(c) {
				told[f.Channel] = true
				p.deliver(e, f.Channel, true)
			}
		}
	}
}

func (p *planner) deliver(e *alarms.Event, channel string, resolved bool) {
	o := &e.Occurrence
	n := Notification{
		ID: p.d.o.NewID(), EventID: e.ID, Channel: channel, Severity: o.Severity, Source: o.Source, SourceType: o.SourceType,
		Message: o.Message, Labels: o.Labels, At: stamp(o.RaisedAt), Resolved: resolved,
	}
	if resolved {
		n.At = stamp(o.ClearedAt)
	}
	p.d.render(&n, o.ID)
	row := Delivery{
		ID: n.ID, Seq: e.Seq, EventID: e.ID, Occurrence: o.ID, Channel: channel, Resolved: resolved, State: Pending,
		NextAttempt: p.now, CreatedAt: p.now, ExpiresAt: p.now.Add(p.d.o.MaxAge), Notification: n,
	}
	p.add = append(p.add, row)
	if !resolved {
		p.planned[o.ID] = append(p.planned[o.ID], row)
	}
}

// labelDescription carries the description of a webhook's alert to the templates.
const labelDescription = "description"

// render fills in title and body. A template that fails on this alarm gives way to the default one:
// an alarm told in other words is better than one that is not told.
func (d *Dispatcher) render(n *Notification, occurrence string) {
	data := TemplateData{
		ID: occurrence, Title: n.Message, Description: n.Labels[labelDescription], Severity: n.Severity.String(),
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
