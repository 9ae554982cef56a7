package devicespart

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/otkit/otkit/devices"
)

// watchedStore notes the outcomes of commands, and whether the store can be written.
type watchedStore struct {
	devices.Store
	log    *slog.Logger
	meters *meters
}

// trimmedStore is a watchedStore that can trim its journal.
type trimmedStore struct {
	*watchedStore
	devices.Trimmer
}

// sharedWatch is a watchedStore that engines share. Its journal is trimmed by the owner.
type sharedWatch struct {
	*watchedStore
	shared devices.SharedStore
}

// watch returns a watchedStore with the abilities of the store.
func watch(s devices.Store, m *meters, log *slog.Logger) devices.Store {
	w := &watchedStore{Store: s, log: log, meters: m}
	if t, ok := s.(devices.Trimmer); ok {
		return trimmedStore{w, t}
	}
	return w
}

// watchShared returns a watchedStore that is a devices.SharedStore if the store is one.
func watchShared(s devices.Store, m *meters, log *slog.Logger) devices.Store {
	w := &watchedStore{Store: s, log: log, meters: m}
	if shared, ok := s.(devices.SharedStore); ok {
		return &sharedWatch{w, shared}
	}
	return w
}

// Fence implements devices.SharedStore.
func (w *sharedWatch) Fence(ctx context.Context, epoch uint64) (devices.Store, error) {
	fenced, err := w.shared.Fence(ctx, epoch)
	if err != nil {
		return nil, err
	}
	return watch(fenced, w.meters, w.log), nil
}

// Stops implements devices.SharedStore.
func (w *sharedWatch) Stops(ctx context.Context) ([]devices.Record, error) {
	return w.shared.Stops(ctx)
}

// AddCommand implements devices.Store.
func (w *watchedStore) AddCommand(ctx context.Context, r devices.Record) (devices.Record, bool, error) {
	stored, added, err := w.Store.AddCommand(ctx, r)
	w.wrote(err)
	if err == nil && added {
		w.note(r)
	}
	return stored, added, err
}

// UpdateCommand implements devices.Store.
func (w *watchedStore) UpdateCommand(ctx context.Context, r devices.Record) error {
	err := w.Store.UpdateCommand(ctx, r)
	w.wrote(err)
	if err == nil {
		w.note(r)
	}
	return err
}

// UpdateDevice implements devices.Store.
func (w *watchedStore) UpdateDevice(ctx context.Context, id string, change func(*devices.Device) error) error {
	err := w.Store.UpdateDevice(ctx, id, change)
	w.wrote(err)
	return err
}

// UpdateDevices implements devices.Store.
func (w *watchedStore) UpdateDevices(ctx context.Context, ids []string, change func(*devices.Device)) error {
	err := w.Store.UpdateDevices(ctx, ids, change)
	w.wrote(err)
	return err
}

// wrote notes whether the store could be written.
func (w *watchedStore) wrote(err error) {
	w.meters.failing.Store(err != nil && !errors.Is(err, devices.ErrNoCommand) && !errors.Is(err, devices.ErrNotFound) && !errors.Is(err, devices.ErrNotOwner))
}

// note counts and logs the outcome of a command that has ended.
func (w *watchedStore) note(r devices.Record) {
	if !r.Phase.Ended() {
		return
	}
	w.meters.commands.WithLabelValues(string(r.Phase)).Inc()
	if r.Phase == devices.Refused {
		w.meters.refused.WithLabelValues(r.Decision.Policy).Inc()
	}
	attrs := []any{"command", r.ID, "device", r.DeviceID, "type", r.Type, "by", r.By, "outcome", string(r.Phase)}
	if r.Result.Message != "" {
		attrs = append(attrs, "message", r.Result.Message)
	}
	if !r.BeganAt.IsZero() {
		attrs = append(attrs, "took", r.Result.CompletedAt.Sub(r.BeganAt))
	}
	w.log.Info("device command ended", attrs...)
}

// timedSafety measures how long checks take.
type timedSafety struct {
	devices.Safety
	took prometheus.Observer
}

// Check implements devices.Safety.
func (t *timedSafety) Check(s devices.Situation) devices.Decision {
	began := time.Now()
	defer func() { t.took.Observe(time.Since(began).Seconds()) }()
	return t.Safety.Check(s)
}
