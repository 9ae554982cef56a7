package server_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/audit"
	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/engine"
	"github.com/otkit/otkit/transport/devicesapi/devicespart"
)

// trouble is what a disk does to the stores on it.
type trouble struct {
	kind  atomic.Value
	works chan struct{} // closed when it works again
}

func (d *trouble) write(ctx context.Context) error {
	switch d.kind.Load() {
	case "is full":
		return errors.New("disk full")
	case "hangs":
		select {
		case <-d.works:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

type troubledAudit struct {
	*audit.Memory
	disk *trouble
}

func (s troubledAudit) Append(ctx context.Context, entries []audit.Entry) (int64, error) {
	if err := s.disk.write(ctx); err != nil {
		return 0, err
	}
	return s.Memory.Append(ctx, entries)
}

type troubledDevices struct {
	*devices.Memory
	disk *trouble
}

func (s troubledDevices) UpdateDevices(ctx context.Context, ids []string, change func(*devices.Device)) error {
	if err := s.disk.write(ctx); err != nil {
		return err
	}
	return s.Memory.UpdateDevices(ctx, ids, change)
}

func (s troubledDevices) AddCommand(ctx context.Context, r devices.Record) (devices.Record, bool, error) {
	if err := s.disk.write(ctx); err != nil {
		return devices.Record{}, false, err
	}
	return s.Memory.AddCommand(ctx, r)
}

func TestEmergencyStopWhenNothingCanBeStored(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"is full", "hangs"} {
		t.Run(kind, func(t *testing.T) {
			disk := &trouble{works: make(chan struct{})}
			journal := troubledDevices{devices.NewMemory(), disk}
			m := newMachine()
			p := start(t, withMachine(t, m, func(o *devicespart.Options) { o.Store = journal }),
				func(o *engine.Options) { o.Audit.Store = troubledAudit{audit.NewMemory(), disk} })
			p.place("agv-1", 5, 5)
			p.token(accounts.Operator)
			disk.kind.Store(kind)

			began := time.Now()
			a := p.command(accounts.Operator, "agv-1", "stop", devices.EmergencyStop, nil)
			took := time.Since(began)
			require.Equal(t, http.StatusOK, a.status, "%s", a.body)
			require.Equal(t, true, a.object(t)["success"])
			require.Equal(t, []string{"agv-1"}, m.stopped)
			require.Less(t, took, 4*time.Second, "it waits neither for the audit log (5 s) nor for the journal (30 s)")
			a = p.command(accounts.Operator, "agv-2", "move", devices.MoveTo, map[string]any{"x": 9, "y": 9})
			require.Equal(t, http.StatusServiceUnavailable, a.status, "%s", a.body)
			require.Equal(t, "AUDIT_UNAVAILABLE", a.object(t)["code"])
			require.Empty(t, m.executed())

			disk.kind.Store("works")
			close(disk.works)
			require.Eventually(t, func() bool {
				all := p.audit("?action=submitDeviceCommand&outcome=succeeded")
				return len(all) == 1 && all[0].Actor == "operator"
			}, patience, 50*time.Millisecond, "it is recorded when the log can be written")
			require.Eventually(t, func() bool {
				found, err := journal.Commands(t.Context(), devices.CommandQuery{ID: "stop", Limit: 1})
				return err == nil && len(found) == 1 && found[0].Result.Success
			}, patience, 50*time.Millisecond, "and journaled")
		})
	}
}
