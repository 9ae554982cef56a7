package repository

import (
	"bytes"
	"context"
	"errors"

	"github.com/otkit/otkit/aas"
)

// errWhole means that a change needs the whole document.
var errWhole = errors.New("the whole document is needed")

// setValueOf sets the value of one element without decoding the rest of the submodel. It is not done for an element
// whose value says more than itself: one with elements in it, a live one, and those by which the document is found,
// names files or grows in entries.
func (s *Service) setValueOf(ctx context.Context, submodelID string, p aas.Path, valueOnly []byte, m Match) (version uint64, done bool, err error) {
	unlock, err := s.locks.lock(ctx, KindSubmodel, submodelID)
	if err != nil {
		return 0, false, err
	}
	defer unlock()
	d, err := s.Submodels.changeStored(ctx, submodelID, m, func(old Document) (Document, error) {
		return s.setValueOnce(ctx, old, p, valueOnly)
	})
	if errors.Is(err, errWhole) {
		return 0, false, nil
	}
	return d.Version, err == nil, err
}

func (s *Service) setValueOnce(ctx context.Context, old Document, p aas.Path, valueOnly []byte) (Document, error) {
	at, err := aas.Locate(old.JSON, p)
	if err != nil {
		return old, err
	}
	e, err := s.decodeElement(old, at)
	if err != nil {
		return old, err
	}
	switch v := e.(type) {
	case *aas.Property:
		if liveName(v) != "" {
			return old, errWhole
		}
	case *aas.Range, *aas.Blob:
	default:
		return old, errWhole
	}
	if err := aas.SetElementValueInPlace(e, valueOnly); err != nil {
		return old, err
	}
	if err := s.verifyElement(ctx, old, at, e); err != nil {
		return old, err
	}
	head, err := aas.DecodeHead(old.JSON, at)
	if err != nil {
		return old, damaged(old.ID, err)
	}
	d := Document{Kind: old.Kind, ID: old.ID}
	submodelForm.describe(head, &d)
	d.Live = old.Live // of the elements, which head has none of
	d.JSON = make([]byte, 0, len(old.JSON)+len(valueOnly)+64)
	d.JSON = append(d.JSON, old.JSON[:at.From]...)
	d.JSON = aas.AppendElement(d.JSON, e)
	d.JSON = append(d.JSON, old.JSON[at.To:]...)
	if bytes.Equal(d.JSON, old.JSON) {
		return old, nil
	}
	return s.Submodels.write(ctx, Batch{Changes: []Change{{Document: d, Match: Match{Version: old.Version}}}}, Event{Type: ValueChanged, Path: p.String()})
}

// verifyElement is verifyChange for the element at a place.
func (s *Service) verifyElement(ctx context.Context, old Document, at aas.Located, now aas.Element) error {
	findings, err := s.findings(now)
	if err != nil || len(findings) == 0 {
		return err
	}
	if s.opts.Verification == VerifyStrict {
		before, err := s.decodeElement(old, at)
		if err != nil {
			return err
		}
		found, err := s.findings(before)
		if err != nil {
			return err
		}
		if added := without(now, findings, before, found); len(added) > 0 {
			return refusal(added)
		}
	}
	s.warn(ctx, old.ID, findings)
	return nil
}
