package alarms

import "context"

// Acknowledge notes that somebody has seen an alarm. Exactly one of any number of parallel calls
// succeeds.
//
// By ID it is about that occurrence, active or not: one that is acknowledged is an
// ErrAlreadyAcknowledged. By code or key it is about the active and unacknowledged occurrence of the
// condition: when there is none, also because it was acknowledged before, that is an ErrAlarmNotFound.
func (s *Service) Acknowledge(ctx context.Context, ref Ref, by, comment string) (Occurrence, error) {
	if err := requireBy(by, comment); err != nil {
		return Occurrence{}, err
	}
	var out Occurrence
	ref.Create = false
	err := s.do(ctx, []Ref{ref}, func(d *draft, found []Found) error {
		c, o := found[0].Condition, found[0].Occurrence
		switch {
		case o == nil, ref.ID == "" && (!o.Active || o.Acknowledged()):
			return ErrAlarmNotFound
		case o.Acknowledged():
			return ErrAlreadyAcknowledged
		}
		o.AcknowledgedAt, o.AcknowledgedBy, o.Comment = notBefore(d.now, o.RaisedAt), by, comment
		d.event(Event{Kind: Acknowledged, By: by, Comment: comment}, c, o)
		out = *o
		return nil
	})
	if err != nil {
		return Occurrence{}, err
	}
	return out, nil
}
