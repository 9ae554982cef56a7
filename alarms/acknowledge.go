package alarms

import (
	"context"
	"errors"
	"strings"

	"github.com/otkit/otkit/fault"
)

// Acknowledge records that somebody has seen an alarm. Of concurrent calls for one occurrence, exactly one succeeds.
//
// A Ref by ID names that occurrence, active or not. If it is acknowledged, Acknowledge returns an
// ErrAlreadyAcknowledged. A Ref by code or key names the condition's occurrence that is active and unacknowledged; if
// there is none, Acknowledge returns an ErrAlarmNotFound. For an alarm that is listed but not stored yet it returns an
// ErrNotJournaled.
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

// MaxAcknowledge is the largest number of IDs for AcknowledgeMany.
const MaxAcknowledge = 500

// AcknowledgeMany acknowledges occurrences by their IDs in one transaction. It returns an error for each ID, nil if it
// was acknowledged: ErrAlarmNotFound, ErrNotJournaled, or ErrAlreadyAcknowledged, also for an ID that occurs twice. If
// the second result is not nil, none was acknowledged: it is an ErrInvalidRequest for a bad by or comment or for no IDs,
// and an ErrBatchSizeExceeded for more than MaxAcknowledge.
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
		if id == "" { // an empty ID names no occurrence
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

// acknowledge acknowledges the occurrence that a Ref by ID has found.
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

// Comment journals a comment on an occurrence, active or not, without acknowledging it. The error is an ErrInvalidRequest for a blank or
// too long comment, an ErrAlarmNotFound, or an ErrNotJournaled for an alarm that is listed but not stored yet.
func (s *Service) Comment(ctx context.Context, id, by, comment string) error {
	if strings.TrimSpace(comment) == "" {
		return ErrInvalidRequest.Invalid(fault.Field{Field: "comment", Message: "is required"})
	}
	if err := requireBy(by, comment); err != nil {
		return err
	}
	if id == "" { // an empty ID names no occurrence
		return ErrAlarmNotFound
	}
	ref := ByID(id)
	err := s.do(ctx, []Ref{ref}, func(d *draft, found []RefResult) error {
		if found[0].Occurrence == nil {
			return ErrAlarmNotFound
		}
		d.event(Event{Kind: Commented, By: by, Comment: comment}, found[0].Condition, found[0].Occurrence)
		return nil
	})
	if errors.Is(err, ErrAlarmNotFound) && s.pending.find(ref) != nil {
		return ErrNotJournaled
	}
	return err
}
