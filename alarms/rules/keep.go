package rules

import (
	"context"
	"errors"
	"strings"

	"github.com/otkit/otkit/alarms"
)

// Pending is a signal that is not stored yet.
type Pending struct {
	alarms.Signal
	// Driver and Epoch are those of [Service.Adopt], by which the signal is to be stored; empty if it always may be.
	Driver string `json:",omitempty"`
	Epoch  uint64 `json:",omitempty"`
}

// PendingStore stores signals while the target cannot, so that they survive a restart with their times. One goroutine
// uses it at a time.
type PendingStore interface {
	// LoadPending returns the signals of the last SavePending.
	LoadPending() ([]Pending, error)
	// SavePending replaces what is stored by the first of the signals, as many as fit, and returns their number.
	SavePending(signals []Pending) (saved int, err error)
}

// maxKept bounds the signals that are passed to a PendingStore.
const maxKept = 2000

// savePending stores pending signals while storing in the target fails, and removes them when it succeeds, except those
// that are left of the last run and those that may not be stored any more. It is called by flush.
func (r *Service) savePending(failed error) {
	if r.kept == nil || failed == nil && !r.keeps {
		return
	}
	r.mu.Lock()
	serial, signals := r.serial, r.left.list()
	all := len(signals) + r.queue.Len()
	for e := r.queue.Front(); e != nil && len(signals) < maxKept; e = e.Next() {
		t := transitionOf(e)
		if failed == nil && t.by.stands() {
			continue
		}
		signals = append(signals, Pending{t.signal, t.by.driver, t.by.epoch})
	}
	r.mu.Unlock()
	if r.keeps && r.keptSerial == serial && r.keptCount == len(signals) {
		return
	}
	saved, err := r.kept.SavePending(signals)
	switch {
	case err != nil && !r.keepFails:
		r.log.Warn("failed to keep pending alarms; a restart would lose them", "error", err)
	case err == nil && failed != nil && saved < all && !r.keepFails:
		r.log.Warn("too many pending alarms to keep; a restart would lose some", "pending", all, "kept", saved)
	}
	r.keepFails = err != nil || failed != nil && saved < all
	r.keeps, r.keptSerial, r.keptCount = len(signals) > 0, serial, len(signals)
	if err != nil {
		r.keeps, r.keptCount = true, -1 // it is not known what it has
	}
}

// loadPending returns the signals that an earlier process could not store, by rule ID.
func (r *Service) loadPending(ctx context.Context) (ids []string, byRule map[string][]Pending, err error) {
	if r.kept == nil {
		return nil, nil, nil
	}
	list, err := r.kept.LoadPending()
	if err != nil {
		r.log.Warn("failed to read pending alarms of the last run", "error", err)
		return nil, nil, nil
	}
	r.keeps, r.keptCount, byRule = len(list) > 0, len(list), make(map[string][]Pending)
	for i := range list {
		key := list[i].Key
		if list[i].Raise != nil {
			key = list[i].Raise.Key
		}
		id, ok := strings.CutPrefix(key, ruleKey)
		if !ok || alarms.ValidateSignals([]alarms.Signal{list[i].Signal}) != nil {
			continue
		}
		if byRule[id] == nil {
			ids = append(ids, id)
		}
		byRule[id] = append(byRule[id], list[i])
	}
	for _, id := range ids {
		if byRule[id], err = r.unstored(ctx, byRule[id]); err != nil {
			return nil, nil, err
		}
	}
	return ids, byRule, nil
}

// unstored returns the signals after the last raise that is stored: the process may have ended before it removed what
// was stored.
func (r *Service) unstored(ctx context.Context, signals []Pending) ([]Pending, error) {
	target, ok := r.target.(interface {
		Occurrence(ctx context.Context, id string) (alarms.Occurrence, error)
	})
	for i := len(signals) - 1; ok && i >= 0; i-- {
		if signals[i].Raise == nil || signals[i].Raise.ID == "" || !signals[i].Ended.IsZero() { // the latter may be stored twice
			continue
		}
		switch _, err := target.Occurrence(ctx, signals[i].Raise.ID); {
		case err == nil:
			return signals[i+1:], nil
		case !errors.Is(err, alarms.ErrAlarmNotFound):
			return nil, err
		}
	}
	return signals, nil
}
