package alarms

import (
	"context"
	"errors"

	"github.com/otkit/otkit/fault"
)

// Acknowledge notes that somebody has seen an alarm. Exactly one of any number of parallel calls
// succeeds.
//
// By ID it is about that occurrence, active or not: one that is acknowledged is an
// ErrAlreadyAcknowledged. By code or key it is about the active and unacknowledged occurrence of the
// condition: when there is none, also because it was acknowledged before, that is an ErrAlarmNotFound. One
// that is listed and not stored yet is an ErrNotJournaled.
func (s *Service) Acknowledge(ctx context.Context, ref Ref, by, comment string) (Occurrence, error) {
	if err := requireBy(by, comment); err != nil {
		return Occurrence{}, err
	}
	var out Occurrence
	ref.Create = false
	err := s.do(ctx, []Ref{ref}, func(d *draft, found []RefResult) error {
		o := found[0].Occurrence
		if o != nil && ref.ID == "" && (!o.Active || o.Acknowledged()) {
			return ErrAlarmNotFound
		}
		if err := d.acknowledge(found[0], by, comment); err != nil {
			return err
		}
		out = *o
		return nil
	})
	if errors.Is(err, ErrAlarmNotFound) {
		if o := s.pending.find(ref); o != nil && (o.Active || ref.ID != "") && !o.Acknowledged() {
			err = ErrNotJournaled
		}
	}
	if err != nil {
		return Occurrence{}, err
	}
	return out, nil
}

// MaxAcknowledge is the largest number of alarms of AcknowledgeMany.
const MaxAcknowledge = 500

// AcknowledgeMany acknowledges occurrences by their IDs in one transaction. It returns an error for each ID, nil
// where it was acknowledged: ErrAlarmNotFound, or ErrAlreadyAcknowledged, also for an ID that is given twice. Its own
// error means that none was acknowledged: ErrInvalidRequest for a bad by or comment or no IDs, ErrBatchSizeExceeded for
// more than MaxAcknowledge.
func (s *Service) AcknowledgeMany(ctx context.Context, ids []string, by, comment string) ([]error, error) {
	if err := requireBy(by, comment); err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		return nil, ErrInvalidRequest.Invalid(fault.Field{Field: "alarmIds", Message: "must not be empty"})
	}
	if len(ids) > MaxAcknowledge {
		return nil, ErrBatchSizeExceeded.Because("at most %d alarms are acknowledged at once", MaxAcknowledge)
	}
	results := make([]error, len(ids))
	refs := make([]Ref, len(ids))
	for i, id := range ids {
		refs[i] = ByID(id)
		if id == "" { // it names nothing
			refs[i] = ByCode(0)
		}
	}
	err := s.do(ctx, refs, func(d *draft, found []RefResult) error {
		for i, f := range found {
			results[i] = d.acknowledge(f, by, comment)
			if errors.Is(results[i], ErrAlarmNotFound) && s.pending.find(refs[i]) != nil {
				results[i] = ErrNotJournaled
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// acknowledge notes that somebody has seen what a Ref by ID has found.
func (d *draft) acknowledge(f RefResult, by, comment string) error {
	c, o := f.Condition, f.Occurrence
	switch {
	case o == nil:
		return ErrAlarmNotFound
	case o.Acknowledged():
		return ErrAlreadyAcknowledged
	}
	o.AcknowledgedAt, o.AcknowledgedBy, o.Comment = notBefore(d.now, o.RaisedAt), by, comment
	d.event(Event{Kind: Acknowledged, By: by, Comment: comment}, c, o)
	return nil
}
