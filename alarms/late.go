package alarms

import "time"

// LabelLate is the label of an occurrence that was over when it was reported, see [Signal.Ended]. Its value is "true".
const LabelLate = "late"

// Late reports whether the occurrence was over when it was reported.
func (o *Occurrence) Late() bool { return o.Labels[LabelLate] == "true" }

// past reports whether the signal is about an occurrence that is over.
func (sig *Signal) past() bool { return !sig.Ended.IsZero() }

// past journals an occurrence that is over. stored is the one with its ID, nil for none.
func (d *draft) past(sig *Signal, c *Condition, stored *Occurrence) Result {
	id := canonical(sig.Raise.ID)
	if stored == nil {
		stored = d.late[id] // of an earlier signal of the transaction
	}
	if stored != nil {
		return Result{Occurrence: *stored}
	}
	if id == "" {
		id = d.newID()
	}
	began, last := d.at(sig.Raise.At), c.Last
	if last != nil && last.RaisedAt.Equal(began) { // see draft.raise
		began = began.Add(time.Microsecond)
	}
	ended := notBefore(d.at(sig.Ended), began)
	o := sig.Raise.occurrence(id, c, began)
	if o.Labels == nil {
		o.Labels = make(map[string]string, 1)
	}
	o.Labels[LabelLate] = "true"
	newest := last == nil || !last.Active && last.RaisedAt.Before(began)
	kind := Cleared
	if newest && o.Latching {
		kind, o.ReturnedAt = Returned, ended
	} else {
		o.Active, o.ClearedAt = false, ended
	}
	if newest {
		c.Last = o
		d.condition(c)
	}
	if d.late == nil {
		d.late = make(map[string]*Occurrence)
	}
	d.late[id] = o
	d.event(Event{At: began, Kind: Raised, Annunciate: c.Suppression == 0}, c, o)
	d.event(Event{At: ended, Kind: kind}, c, o)
	return Result{Occurrence: *o, Changed: Raised}
}
