package alarms

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/otkit/otkit/alarms/internal/limits"
	"github.com/otkit/otkit/fault"
)

// Alarm is an alarm to be raised.
type Alarm struct {
	// Key identifies the condition; it is the same each time. Rules have "rule:<id>"; a program uses a prefix of its
	// own. 1..512 characters.
	Key        string
	ID         string // of a new occurrence, a UUID; default: a new UUIDv7
	Source     string // tag or equipment; 1..512 characters
	SourceType string // default Equipment; at most 128 characters
	Message    string // at most 4096 characters
	Severity   Severity
	Latching   bool              // it stays active until Reset after the condition has returned to normal
	Labels     map[string]string // at most 100; must not be changed afterwards
	Cause      Cause             `json:",omitzero"`
	At         time.Time         // when it began; zero or a future time means now
	// Refresh makes an active occurrence take the message, the cause and the labels with these names, which is journaled as
	// [Updated]. Default: they do not change.
	Refresh []string
}

const (
	maxKey     = 512
	maxType    = 128
	maxLabels  = 100
	maxComment = 4096
	maxBatch   = MaxBatch
)

// Signal is a report of a source about one condition: that it is true, or that it is normal again. Signals that are
// pending are stored in their JSON form, so its names do not change.
type Signal struct {
	Raise *Alarm    // nil if the condition is normal
	Key   string    // of the condition that is normal
	At    time.Time // when it became normal; zero or a future time means now
	// Reset makes a return to normal end a latching occurrence too.
	Reset bool `json:"End"`
	// Comment is why it ends and By who ended it, if it ends for another reason than the source's return to normal.
	Comment, By string
	// NotAfter, if set, keeps a late report from ending what began later: an occurrence that was raised after it
	// stays active. One that was raised more than [MaxClockSkew] from now was raised before a clock was set back,
	// and does not count as later.
	NotAfter time.Time
	// Ended, with Raise, is when the occurrence that began at Raise.At ended: it is over. See "Late reports" in the
	// package documentation. A future time means now.
	Ended time.Time `json:",omitzero"`
	// Valid, if set, reports whether the signal may still be stored, such as by who has a lease. It is asked in the transaction, behind
	// whatever it had to wait for, and must be quick.
	Valid func() bool `json:"-"`
}

// MaxClockSkew is how far clocks may differ. A time further ahead than that comes from a clock that has been set back
// since.
const MaxClockSkew = 5 * time.Minute

// Result is the effect of a [Signal].
type Result struct {
	// Occurrence is the condition's newest occurrence; its ID is empty if there was none. After a signal with Ended, it
	// is the one that has ended.
	Occurrence Occurrence
	// Changed is Raised, Escalated, Recurred, Updated, Cleared or Returned; empty if nothing changed.
	Changed EventKind
}

// Raise raises an alarm; see the package documentation for a condition that is active. The error may be an
// ErrInvalidAlarm.
func (s *Service) Raise(ctx context.Context, a Alarm) (Occurrence, error) {
	results, err := s.Apply(ctx, []Signal{{Raise: &a}})
	if err != nil {
		return Occurrence{}, err
	}
	return results[0].Occurrence, nil
}

// RaiseMany raises alarms in one transaction, all or none. The errors are those of Apply.
func (s *Service) RaiseMany(ctx context.Context, list []Alarm) ([]Result, error) {
	signals := make([]Signal, len(list))
	for i := range list {
		signals[i].Raise = &list[i]
	}
	return s.Apply(ctx, signals)
}

// Apply applies signals in order and in one transaction, all or none. The error is an ErrBatchSizeExceeded for more than
// MaxBatch, an ErrInvalidAlarm that names each bad member of each alarm, or an ErrSignalLapsed if one is not valid any more.
func (s *Service) Apply(ctx context.Context, signals []Signal) ([]Result, error) {
	if len(signals) > maxBatch {
		return nil, ErrBatchSizeExceeded.Because("at most %d signals in one call", maxBatch)
	}
	if err := ValidateSignals(signals); err != nil {
		return nil, err
	}
	results := make([]Result, len(signals))
	if len(signals) == 0 {
		return results, nil
	}
	refs := make([]Ref, 0, len(signals))
	for i := range signals {
		refs = signals[i].refs(refs)
	}
	err := s.do(ctx, refs, func(d *draft, found []RefResult) error {
		if slices.ContainsFunc(signals, func(sig Signal) bool { return sig.Valid != nil && !sig.Valid() }) {
			return ErrSignalLapsed
		}
		for i := range signals {
			c := found[0].Condition
			found = found[1:]
			if !signals[i].past() {
				results[i] = d.signal(signals[i], c)
				continue
			}
			results[i] = d.past(&signals[i], c, found[0].Occurrence)
			found = found[1:]
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// refs appends what the signal needs of the store.
func (sig *Signal) refs(refs []Ref) []Ref {
	if sig.Raise == nil {
		return append(refs, ByKey(sig.Key))
	}
	refs = append(refs, Ref{Key: sig.Raise.Key, Create: true})
	if sig.past() {
		refs = append(refs, ByID(sig.Raise.ID))
	}
	return refs
}

func (d *draft) signal(sig Signal, c *Condition) Result {
	switch {
	case sig.Raise != nil:
		kind := d.raise(sig.Raise, c)
		return Result{Occurrence: *c.Last, Changed: kind}
	case c == nil:
		return Result{Occurrence: Occurrence{Key: sig.Key}}
	case c.Last == nil:
		return Result{Occurrence: Occurrence{Key: sig.Key, Code: c.Code}}
	case sig.late(c.Last.RaisedAt, d.wall):
		return Result{Occurrence: *c.Last}
	}
	kind := d.clear(c, d.at(sig.At), sig.By, sig.Comment, sig.Reset)
	return Result{Occurrence: *c.Last, Changed: kind}
}

// late reports whether a return to normal is older than an occurrence.
func (sig *Signal) late(raised, now time.Time) bool {
	return !sig.NotAfter.IsZero() && raised.After(sig.NotAfter) && !raised.After(now.Add(MaxClockSkew))
}

// at returns the time that a source reports, or now if it is zero or in the future.
func (d *draft) at(t time.Time) time.Time {
	if t.IsZero() || t.After(d.now) {
		return d.now
	}
	return stamp(t)
}

func (d *draft) raise(a *Alarm, c *Condition) EventKind {
	began := d.at(a.At)
	if last := c.Last; last != nil {
		if last.Active {
			why := last.changedBy(a)
			if why == "" || !last.Acknowledged() {
				return d.again(a, c)
			}
			began = d.supersede(c, began, why)
		}
		// No two occurrences of a condition begin at one time, because the alert history distinguishes them by it.
		// One call may raise a condition many times within a tick of the clock.
		if behind := last.RaisedAt.Sub(began); behind >= 0 && behind < maxBatch*time.Microsecond {
			began = last.RaisedAt.Add(time.Microsecond)
		}
	}
	id := canonical(a.ID)
	if id == "" || c.Last != nil && c.Last.ID == id {
		id = d.newID()
	}
	o := a.occurrence(id, c, began)
	c.Last = o
	d.condition(c)
	d.event(Event{At: o.RaisedAt, Kind: Raised, Annunciate: c.Suppression == 0}, c, o)
	return Raised
}

// occurrence returns a new active occurrence of a condition.
func (a *Alarm) occurrence(id string, c *Condition, began time.Time) *Occurrence {
	return &Occurrence{
		ID: id, Code: c.Code, Key: c.Key, Source: a.Source, SourceType: cmp.Or(a.SourceType, "Equipment"), Message: a.Message,
		Severity: a.Severity, RaisedAt: began, Active: true, Latching: a.Latching, Suppression: c.Suppression, Labels: maps.Clone(a.Labels), Cause: a.Cause,
	}
}

// changedBy returns how raising an active occurrence again changes it; empty if it does not.
func (o *Occurrence) changedBy(a *Alarm) string {
	switch {
	case !o.ReturnedAt.IsZero():
		return "recurred"
	case a.Severity > o.Severity:
		return "severity increased"
	}
	return ""
}

// again raises an occurrence that is active and unacknowledged.
func (d *draft) again(a *Alarm, c *Condition) (kind EventKind) {
	o := c.Last
	if !o.ReturnedAt.IsZero() {
		o.ReturnedAt = time.Time{}
		kind = Recurred
		d.event(Event{At: d.at(a.At), Kind: kind}, c, o)
	}
	if a.Severity > o.Severity {
		o.Severity, o.Message, o.Cause = a.Severity, a.Message, a.Cause
		kind = Escalated
		d.event(Event{At: d.at(a.At), Kind: kind}, c, o)
	}
	if a.Refresh != nil && o.refresh(a) && kind == "" {
		kind = Updated
		d.event(Event{Kind: kind}, c, o)
	}
	return kind
}

// refresh sets the message, the cause and some labels to those of an alarm, and reports whether they are different.
func (o *Occurrence) refresh(a *Alarm) bool {
	labels := maps.Clone(o.Labels)
	if labels == nil {
		labels = make(map[string]string)
	}
	for _, name := range a.Refresh {
		if text, ok := a.Labels[name]; ok {
			labels[name] = text
		} else {
			delete(labels, name)
		}
	}
	if o.Message == a.Message && maps.Equal(labels, o.Labels) && o.Cause == a.Cause {
		return false
	}
	o.Message, o.Labels, o.Cause = a.Message, labels, a.Cause
	return true
}

// supersede ends an acknowledged occurrence, because its acknowledgement does not cover the change, and returns the time
// at which the next one begins.
func (d *draft) supersede(c *Condition, at time.Time, why string) time.Time {
	o := c.Last
	for _, earliest := range []time.Time{o.RaisedAt, o.ReturnedAt, o.AcknowledgedAt} {
		at = notBefore(at, earliest)
	}
	o.Active, o.ClearedAt = false, at
	d.event(Event{At: at, Kind: Cleared, Comment: why + " after acknowledgement; continues as a new occurrence"}, c, o)
	return at
}

// clear ends the active occurrence of a condition. A latching one only returns to normal, unless end is true.
func (d *draft) clear(c *Condition, at time.Time, by, comment string, end bool) EventKind {
	o := c.Last
	if !o.Active || !o.ReturnedAt.IsZero() && !end {
		return ""
	}
	at = notBefore(notBefore(at, o.RaisedAt), o.ReturnedAt)
	if o.Latching && !end {
		o.ReturnedAt = at
		d.event(Event{At: at, Kind: Returned, By: by, Comment: comment}, c, o)
		return Returned
	}
	o.Active, o.ClearedAt = false, at
	d.event(Event{At: at, Kind: Cleared, By: by, Comment: comment}, c, o)
	return Cleared
}

// notBefore returns the later of t and earliest: after the clock was set back, nothing ends before it began.
func notBefore(t, earliest time.Time) time.Time {
	if t.Before(earliest) {
		return earliest
	}
	return t
}

// Clear reports that a condition is normal again; by may be empty for the system. It changes nothing if the condition is
// not active, or if a Ref by ID names another occurrence than the newest. For an unknown condition it returns an
// ErrAlarmNotFound.
func (s *Service) Clear(ctx context.Context, ref Ref, by, comment string) (Occurrence, error) {
	if err := checkRemarks(by, comment); err != nil {
		return Occurrence{}, err
	}
	var out Occurrence
	ref.Create = false
	err := s.do(ctx, []Ref{ref}, func(d *draft, found []RefResult) error {
		c, o := found[0].Condition, found[0].Occurrence
		if o == nil {
			return ErrAlarmNotFound
		}
		if o == c.Last {
			d.clear(c, d.now, by, comment, false)
		}
		out = *o
		return nil
	})
	if err != nil {
		return Occurrence{}, err
	}
	return out, nil
}

// Reset clears a latching occurrence whose condition is normal again. If nothing is active, it returns an
// ErrAlarmNotFound; before the condition is normal, an ErrNotReturned.
func (s *Service) Reset(ctx context.Context, ref Ref, by, comment string) (Occurrence, error) {
	if err := requireBy(by, comment); err != nil {
		return Occurrence{}, err
	}
	var out Occurrence
	ref.Create = false
	err := s.do(ctx, []Ref{ref}, func(d *draft, found []RefResult) error {
		c, o := found[0].Condition, found[0].Occurrence
		switch {
		case o == nil || !o.Active:
			return ErrAlarmNotFound
		case o.ReturnedAt.IsZero():
			return ErrNotReturned
		}
		o.Active, o.ClearedAt = false, notBefore(d.now, o.ReturnedAt)
		d.event(Event{Kind: Reset, By: by, Comment: comment}, c, o)
		out = *o
		return nil
	})
	if err != nil {
		return Occurrence{}, err
	}
	return out, nil
}

// ValidateSignals returns an ErrInvalidAlarm that names each bad member of signals, or nil.
func ValidateSignals(signals []Signal) error {
	var bad []fault.Field
	for i, sig := range signals {
		prefix := ""
		if len(signals) > 1 {
			prefix = fmt.Sprintf("[%d].", i)
		}
		if sig.Raise == nil {
			if !sig.Ended.IsZero() {
				bad = append(bad, fault.Field{Field: prefix + "ended", Message: "is for an alarm to raise"})
			}
			if msg := limits.Violation(sig.Key, 1, maxKey); msg != "" {
				bad = append(bad, fault.Field{Field: prefix + "key", Message: msg})
			}
			if msg := limits.Violation(sig.Comment, 0, maxComment); msg != "" {
				bad = append(bad, fault.Field{Field: prefix + "comment", Message: msg})
			}
			if msg := limits.Violation(sig.By, 0, maxKey); msg != "" {
				bad = append(bad, fault.Field{Field: prefix + "by", Message: msg})
			}
			continue
		}
		bad = sig.Raise.faults(prefix, bad)
		if sig.past() && (sig.Raise.At.IsZero() || sig.Ended.Before(sig.Raise.At)) {
			bad = append(bad, fault.Field{Field: prefix + "ended", Message: "must not be before the time at which it began, which is required"})
		}
	}
	if len(bad) > 0 {
		return ErrInvalidAlarm.Invalid(bad...)
	}
	return nil
}

// faults appends the errors of an alarm to bad.
func (a *Alarm) faults(prefix string, bad []fault.Field) []fault.Field {
	for _, s := range []struct {
		name, text  string
		least, most int
	}{{"key", a.Key, 1, maxKey}, {"source", a.Source, 1, maxKey}, {"sourceType", a.SourceType, 0, maxType}, {"message", a.Message, 0, limits.MaxMessage},
		{"cause.tag", a.Cause.Tag, 0, maxKey}, {"cause.rule", a.Cause.Rule, 0, maxKey}, {"cause.value", a.Cause.Value, 0, limits.MaxMessage},
		{"cause.limit", a.Cause.Limit, 0, limits.MaxMessage}, {"cause.instructions", a.Cause.Instructions, 0, limits.MaxMessage}} {
		if msg := limits.Violation(s.text, s.least, s.most); msg != "" {
			bad = append(bad, fault.Field{Field: prefix + s.name, Message: msg})
		}
	}
	if a.ID != "" && uuid.Validate(a.ID) != nil {
		bad = append(bad, fault.Field{Field: prefix + "id", Message: "must be a UUID"})
	}
	if !a.Severity.Valid() {
		bad = append(bad, fault.Field{Field: prefix + "severity", Message: "must be Info, Warning, Error or Critical"})
	}
	if len(a.Labels) > maxLabels {
		bad = append(bad, fault.Field{Field: prefix + "labels", Message: fmt.Sprintf("must not be more than %d", maxLabels)})
	}
	for k, v := range a.Labels {
		if limits.Violation(k, 0, limits.MaxMessage) != "" || limits.Violation(v, 0, limits.MaxMessage) != "" {
			bad = append(bad, fault.Field{Field: prefix + "labels", Message: fmt.Sprintf("must be valid UTF-8 of at most %d bytes", limits.MaxMessage)})
			break
		}
	}
	return bad
}

// checkRemarks checks the name of a person and a comment.
func checkRemarks(by, comment string) error {
	if msg := limits.Violation(by, 0, maxKey); msg != "" {
		return ErrInvalidRequest.Invalid(fault.Field{Field: "by", Message: msg})
	}
	if msg := limits.Violation(comment, 0, maxComment); msg != "" {
		return ErrInvalidRequest.Invalid(fault.Field{Field: "comment", Message: msg})
	}
	return nil
}

// requireBy is checkRemarks for actions of operators, which need a name.
func requireBy(by, comment string) error {
	if strings.TrimSpace(by) == "" {
		return ErrInvalidRequest.Invalid(fault.Field{Field: "by", Message: "is required"})
	}
	return checkRemarks(by, comment)
}
