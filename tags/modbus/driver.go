package modbus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/simonvetter/modbus"

	"github.com/otkit/otkit/tags"
)

// Driver is a tags.Driver for one Modbus endpoint with its units. Connect, Read and Write are for one
// goroutine at a time; ValidatePoint and Close may be called from any at any time.
type Driver struct {
	options  Options
	link     *link
	breakers breakers
	plans    plans
	lastDone time.Time // when the last request was over
	now      func() time.Time
}

var (
	_ tags.Driver         = (*Driver)(nil)
	_ tags.PointValidator = (*Driver)(nil)
	_ tags.Rounder        = (*Driver)(nil)

	_ tags.Planner         = (*Driver)(nil)
	_ tags.BreakerReporter = (*Driver)(nil)
)

// New makes a driver. It does not connect. The error names each bad option.
func New(o Options) (*Driver, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("modbus driver: %w", err)
	}
	o.Logger = o.Logger.With("endpoint", o.Address)
	return &Driver{
		options:  o,
		link:     newLink(o),
		breakers: breakers{Breaker: o.Breaker, now: o.Now, log: o.Logger},
		plans:    plans{limits: o.limits},
		now:      o.Now,
	}, nil
}

// Connect opens the connection, closing an earlier one first. It waits for that and for the network
// until ctx ends, at most 5 s for the network (15 s with TLS). The device itself is not asked.
func (d *Driver) Connect(ctx context.Context) error {
	if err := d.link.connect(ctx); err != nil {
		return fmt.Errorf("connecting to %s: %w", d.options.Address, err)
	}
	d.breakers.probeAll()
	d.plans.forget()
	return nil
}

// Close closes the connection. A request under way ends Read and Write at once with ErrNotConnected;
// Close waits until the library is done with it, which is at most the timeout of a request or of
// connecting.
func (d *Driver) Close() error {
	d.link.close()
	return nil
}

// ValidatePoint returns a tags.ErrAddress if the driver does not understand the point.
func (d *Driver) ValidatePoint(p tags.Point) error {
	_, err := d.parsePoint(p)
	return err
}

// ask reads from a unit, unless the unit is skipped, and keeps the record of the unit. sent is when the
// request went out, zero if it did not. The error is for the items of the request, or for the whole
// call if endsCall reports true.
func (d *Driver) ask(ctx context.Context, unit uint8, f func(*modbus.ModbusClient) ([]byte, error)) (raw []byte, sent time.Time, err error) {
	raw, sent, _, err = d.exchange(ctx, unit, f)
	return raw, sent, err
}

// order is ask for a request that changes something. The error is a tags.ErrUncertain as well when the
// unit may have done what was asked.
func (d *Driver) order(ctx context.Context, unit uint8, f func(*modbus.ModbusClient) error) error {
	_, _, meaning, err := d.exchange(ctx, unit, func(c *modbus.ModbusClient) ([]byte, error) { return nil, f(c) })
	if err != nil && meaning.uncertain() {
		return fmt.Errorf("%w: %w", tags.ErrUncertain, err)
	}
	return err
}

func (d *Driver) exchange(ctx context.Context, unit uint8, f func(*modbus.ModbusClient) ([]byte, error)) (raw []byte, sent time.Time, meaning verdict, err error) {
	if err := ctx.Err(); err != nil {
		return nil, sent, unsent, err
	}
	if err := d.breakers.check(unit); err != nil {
		return nil, sent, unsent, err
	}
	if err := d.pause(ctx, unit); err != nil {
		return nil, sent, unsent, err
	}
	raw, sent, err = d.link.do(ctx, unit, f)
	d.lastDone = time.Now()
	switch {
	case err == nil:
		d.breakers.succeeded(unit)
		return raw, sent, answered, nil
	case sent.IsZero():
		return nil, sent, unsent, err
	case errors.Is(err, tags.ErrNotConnected), errors.Is(err, context.Canceled):
		return nil, sent, gone, err
	case errors.Is(err, context.DeadlineExceeded):
		d.breakers.failed(unit, err)
		return nil, sent, outcomeUnknown, err
	}
	meaning, err = judge(err)
	switch meaning {
	case answered, begun:
		d.breakers.succeeded(unit)
	case silent:
		d.breakers.failed(unit, err)
	case outcomeUnknown:
		d.breakers.failed(unit, err)
		if errors.Is(err, tags.ErrTimeout) {
			d.link.dropSilent(d.breakers.alone(), d.breakers.failures(unit))
		} else {
			d.link.drop()
		}
	case gone:
		d.link.lose()
	}
	return nil, sent, meaning, err
}

// pause waits until the unit may be asked after the last request, of whatever unit.
func (d *Driver) pause(ctx context.Context, unit uint8) error {
	wait := time.Until(d.lastDone.Add(d.options.unit(unit).RequestPause))
	if wait <= 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
