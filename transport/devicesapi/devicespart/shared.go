package devicespart

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/otkit/otkit/cluster"
	"github.com/otkit/otkit/cluster/bus"
	"github.com/otkit/otkit/devices"
)

// The name of the work of carrying out the commands of devices. It is one for all: each command is judged by where all devices are and go.
const (
	kindDevice = "device"
	allDevices = "all"
)

// share lets the engines of the cluster share the devices.
func (d *Devices) share() *devices.Shared {
	c := d.opts.Cluster
	if c == nil {
		return nil
	}
	d.known = &fleetSizes{own: len(d.fleets.ids), others: map[string]int{}}
	c.Handle(kindDevice, d.own)
	d.jobs = append(d.jobs, d.follow, d.assign)
	return &devices.Shared{Owner: &peer{cluster: c, known: d.known}, Stop: d.stopDirectly}
}

// own carries out the commands of devices while this engine has the lease.
func (d *Devices) own(ctx context.Context, id string, lease *cluster.Held) error {
	if id != allDevices {
		return fmt.Errorf("there is no group %q of devices", id)
	}
	var ends []func()
	err := d.service.Run(ctx, lease.Epoch, lease.Valid, func() error {
		if err := d.open(ctx); err != nil {
			return err
		}
		d.fleets.run(d.opts.Logger)
		began := time.Now()
		for _, kind := range []string{calls, stops, changes} {
			end, err := d.opts.Cluster.Bus().Serve(subject(kind, lease.Epoch), func(ctx context.Context, data []byte) []byte { return d.serve(ctx, kind, data, began) })
			if err != nil {
				return err
			}
			ends = append(ends, end)
		}
		return nil
	})
	for _, end := range ends {
		end()
	}
	return errors.Join(err, d.fleets.close(context.WithoutCancel(ctx)))
}

// serve answers a request of another engine to the owner since began. It carries out no call that was held up for long: its sender was told that nobody has
// answered. An engine that has just started waits until it has heard of the devices.
func (d *Devices) serve(ctx context.Context, kind string, data []byte, began time.Time) []byte {
	var q request
	r, err := reply{}, json.Unmarshal(data, &q)
	switch {
	case err != nil:
	case kind == calls && time.Since(began)-q.Heard > maxHeldUp:
		err = devices.ErrNotOwner.Because("the request came too late")
	default:
		r, err = d.call(ctx, &q)
	}
	r.Err, r.Age = problemOf(err), time.Since(began)
	answer, err := json.Marshal(r)
	if err != nil {
		answer, _ = json.Marshal(reply{Err: problemOf(err)})
	}
	return answer
}

func (d *Devices) call(ctx context.Context, q *request) (r reply, err error) {
	owner := d.service.Owner()
	var device devices.Device
	var record devices.Record
	switch q.Op {
	case opCreate:
		device, err = owner.Create(ctx, q.ID, q.Name, q.Description)
		r.Device = &device
	case opChange:
		device, err = owner.Change(ctx, q.ID, q.Event)
		r.Device = &device
	case opSubmit:
		if q.Command == nil {
			return r, devices.ErrInvalid
		}
		record, err = owner.Submit(ctx, *q.Command, q.By)
		r.Record = &record
	case opCancel:
		record, err = owner.Cancel(ctx, q.ID, q.By)
		r.Record = &record
	case opReport:
		if q.Report == nil {
			return r, devices.ErrInvalid
		}
		if err = d.fleets.mayReport(q.ID); err == nil {
			err = owner.Report(ctx, q.ID, *q.Report)
		}
	case opChanges:
		d.known.set(q.Session, q.Fleet)
		r.Fleet = d.known.own
		r.Devices, r.Next, err = page(ctx, owner, q.After, q.Limit)
	default: // of a newer engine
		err = devices.ErrInvalid.Because("operation %q is not known", q.Op)
	}
	return r, err
}

// room is how many bytes of an answer are for devices.
const room = bus.MaxMessage - 4096

// page returns as many changes as an answer has room for.
func page(ctx context.Context, owner devices.Owner, after devices.Position, limit int) ([]devices.Device, devices.Position, error) {
	for limit = max(limit, 1); ; limit /= 2 {
		found, next, err := owner.Changes(ctx, after, limit)
		if err != nil {
			return nil, after, err
		}
		data, err := json.Marshal(found)
		switch {
		case err != nil:
			return nil, after, err
		case len(data) <= room:
			return found, next, nil
		case limit == 1: // whoever reports so much at once reports nothing that can be read
			t := *found[0].Telemetry
			t.Faults, t.Loads = t.Faults[:min(len(t.Faults), 1)], nil
			found[0].Telemetry = &t
			return found, next, nil
		}
	}
}

// follow takes over what the owner reports of devices.
func (d *Devices) follow(ctx context.Context) { d.service.Follow(ctx) }

// assignInterval is how often is looked whether another engine should have the devices, and whether devices of the settings are missing.
const assignInterval = time.Second

// assign tells the cluster whether this engine can carry out the commands of devices, and registers those that its settings have.
func (d *Devices) assign(ctx context.Context) {
	ticker := time.NewTicker(assignInterval)
	defer ticker.Stop()
	assigned, cannot := false, ""
	for {
		if why := d.cannot(); !assigned || why != cannot {
			d.opts.Cluster.Set(kindDevice, []cluster.Work{{Name: allDevices, Stays: true, Cannot: why}})
			assigned, cannot = true, why
		}
		d.register(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// register adds devices of the fleets that are missing. What fails is tried again.
func (d *Devices) register(ctx context.Context) {
	for _, f := range d.opts.Fleets {
		for _, n := range f.Devices {
			_, err := d.service.Get(n.ID)
			if errors.Is(err, devices.ErrNotFound) {
				_, err = d.service.Create(ctx, n.ID, n.Name, n.Description)
			}
			if errors.Is(err, devices.ErrNotOwner) || errors.Is(err, devices.ErrUnanswered) || errors.Is(err, devices.ErrClosed) {
				return
			}
			if err != nil && !errors.Is(err, devices.ErrExists) {
				d.opts.Logger.Debug("failed to add a device of the settings; retrying", "device", n.ID, "error", err)
			}
		}
	}
}

// cannot returns why this engine should not carry out the commands of devices: the settings of another one have more of them. One that
// has the devices keeps them until no command is under way.
func (d *Devices) cannot() string {
	if d.service.Owns() && d.service.Active() > 0 {
		return ""
	}
	for _, s := range d.opts.Cluster.View().Sessions {
		if n := d.known.of(s.ID); n > d.known.own && !s.Draining {
			return fmt.Sprintf("the settings of engine %s have more devices: %d, not %d", s.Engine, n, d.known.own)
		}
	}
	return ""
}

// fleetSizes has how many devices the fleets of engines have.
type fleetSizes struct {
	own int

	mu     sync.Mutex
	order  []string       // sessions of others, oldest first
	others map[string]int // by session
}

// maxSizes bounds the engines that are remembered.
const maxSizes = 100

func (f *fleetSizes) set(session string, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.others[session]; !ok {
		if f.order = append(f.order, session); len(f.order) > maxSizes {
			delete(f.others, f.order[0])
			f.order = slices.Delete(f.order, 0, 1)
		}
	}
	f.others[session] = n
}

func (f *fleetSizes) of(session string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.others[session]
}
