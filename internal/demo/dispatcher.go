package demo

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/devices/simexec"
)

// dispatcherName is who issues the commands of a dispatcher.
const dispatcherName = "demo"

const (
	pause     = 5 * time.Second // between two commands
	first     = time.Second     // before the first one, so that the devices have reported
	watchStep = time.Second     // how soon a command of a person interrupts one of the dispatcher
	giveWay   = time.Minute     // after the last command of a person
	faultTime = time.Minute     // after which a fault is cleared
)

// step is a command that a dispatcher gives in its turn.
type step struct {
	command    string
	parameters map[string]any
}

func moveTo(p simexec.Point) step {
	return step{devices.MoveTo, map[string]any{"x": p.X, "y": p.Y}}
}

// dispatcher gives a device its commands in turn, and sends it to a charger when the policy refuses one for its battery. People
// come first: it leaves a device alone while they command it, keep it in maintenance or have stopped it.
type dispatcher struct {
	service  *devices.Service
	log      *slog.Logger
	device   string
	plan     []step
	chargers []simexec.Point

	next    int
	faulted time.Time // since when the device has a fault; zero for none
}

// run gives commands until ctx ends, and then ends the one that runs.
func (d *dispatcher) run(ctx context.Context) {
	timer := time.NewTimer(first)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if err := d.dispatch(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, devices.ErrClosed) {
			d.log.Debug("the demo's dispatcher could not give a command", "device", d.device, "error", err)
		}
		timer.Reset(pause)
	}
}

// dispatch gives the next command if it is the dispatcher's turn. Of several engines, the one that has the devices does.
func (d *dispatcher) dispatch(ctx context.Context) error {
	if !d.service.Owns() {
		return nil
	}
	now, err := d.service.Get(d.device)
	if err != nil {
		return err
	}
	fault := now.State == devices.Error && !now.StopLatched && len(now.Telemetry.Faults) > 0
	switch {
	case !fault:
		d.faulted = time.Time{}
	case d.faulted.IsZero():
		d.faulted = time.Now()
	}
	if !fault && (now.State != devices.Idle || now.StopLatched) || fault && time.Since(d.faulted) < faultTime {
		return nil
	}
	if busy, err := d.people(ctx); busy || err != nil {
		return err
	}
	if fault {
		_, err := d.command(ctx, step{command: simexec.ClearError})
		return err
	}
	at := d.next % len(d.plan)
	d.next++
	r, err := d.command(ctx, d.plan[at])
	if errors.Is(err, devices.ErrRefused) && r.Decision.Policy == "battery" {
		d.next-- // afterwards
		return d.charge(ctx, now)
	}
	return err
}

// people reports whether the device is, or was lately, commanded by somebody else.
func (d *dispatcher) people(ctx context.Context) (bool, error) {
	last, err := d.service.Commands(ctx, devices.CommandQuery{DeviceID: d.device, Limit: 1})
	if err != nil || len(last) == 0 || last[0].By == dispatcherName {
		return false, err
	}
	return !last[0].Phase.Ended() || time.Since(last[0].Result.CompletedAt) < giveWay, nil
}

// charge sends the device to the nearest charger that it can reach, and then back to its plan.
func (d *dispatcher) charge(ctx context.Context, now devices.Device) error {
	from := now.Telemetry.Pose
	chargers := slices.Clone(d.chargers)
	distance := func(p simexec.Point) float64 { return math.Hypot(p.X-from.X, p.Y-from.Y) }
	slices.SortFunc(chargers, func(a, b simexec.Point) int { return cmp.Compare(distance(a), distance(b)) })
	for _, c := range chargers {
		r, err := d.command(ctx, moveTo(c))
		switch {
		case errors.Is(err, devices.ErrRefused):
			continue
		case err != nil || r.Phase != devices.Succeeded:
			return err
		}
		if r, err = d.command(ctx, step{command: simexec.Charge}); err != nil || r.Phase != devices.Succeeded {
			return err
		}
		_, err = d.command(ctx, moveTo(simexec.Point{X: from.X, Y: from.Y}))
		return err
	}
	return nil
}

// command gives a command and waits for its end. It ends it when somebody else has a command for the device, or when ctx ends.
func (d *dispatcher) command(ctx context.Context, s step) (devices.Record, error) {
	c := devices.Command{ID: "demo-" + uuid.Must(uuid.NewV7()).String(), DeviceID: d.device, Type: s.command, Parameters: s.parameters,
		Priority: -1, Time: time.Now()}
	var (
		r   devices.Record
		err error
		wg  sync.WaitGroup
	)
	ended := make(chan struct{})
	wg.Go(func() {
		defer close(ended)
		r, err = d.service.Submit(context.WithoutCancel(ctx), c, dispatcherName)
	})
	defer wg.Wait()
	ticker := time.NewTicker(watchStep)
	defer ticker.Stop()
	stop, cancel := ctx.Done(), false
	for {
		select {
		case <-ended:
			return r, err
		case <-stop:
			stop, cancel = nil, true
		case <-ticker.C:
			cancel = cancel || d.awaited(ctx)
		}
		if cancel {
			ending, done := context.WithTimeout(context.WithoutCancel(ctx), watchStep)
			_, _ = d.service.Cancel(ending, c.ID, dispatcherName) // it may have ended, or not have begun: then again
			done()
		}
	}
}

// awaited reports whether somebody else waits for the device.
func (d *dispatcher) awaited(ctx context.Context) bool {
	waiting, err := d.service.Commands(ctx, devices.CommandQuery{DeviceID: d.device, Unfinished: true, Limit: 10})
	return err == nil && slices.ContainsFunc(waiting, func(r devices.Record) bool { return r.By != dispatcherName })
}
