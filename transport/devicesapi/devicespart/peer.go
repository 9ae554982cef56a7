package devicespart

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/otkit/otkit/cluster/bus"
	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/clusterapi/clusterpart"
)

// The subjects of requests to the owner. The epoch of its lease is part of them, so that an owner that is late gets none. Each kind has
// its own, because a bus serves so many requests of a subject at a time.
const (
	calls   = "calls"
	stops   = "stops"
	changes = "changes"
)

func subject(kind string, epoch uint64) string { return fmt.Sprintf("devices.%s.%d", kind, epoch) }

// The operations of a request.
const (
	opCreate  = "create"
	opChange  = "change"
	opSubmit  = "submit"
	opCancel  = "cancel"
	opReport  = "report"
	opChanges = "changes"
)

// request is a call of the owner.
type request struct {
	Op          string             `json:"op"`
	ID          string             `json:"id,omitempty"` // of the device, or of the command to cancel
	Name        string             `json:"name,omitempty"`
	Description string             `json:"description,omitempty"`
	By          string             `json:"by,omitempty"`
	Event       devices.Event      `json:"event,omitempty"`
	Command     *devices.Command   `json:"command,omitempty"`
	Report      *devices.Telemetry `json:"report,omitempty"`
	After       devices.Position   `json:"after,omitzero"`
	Limit       int                `json:"limit,omitempty"`
	// Of the engine that follows the changes.
	Session string `json:"session,omitempty"`
	Fleet   int    `json:"fleet,omitempty"` // how many devices its fleets have
	// Heard is the newest reply.Age with that epoch that the engine has heard.
	Heard time.Duration `json:"heard,omitempty"`
}

// maxHeldUp is how long a request may be on its way, as after answerTimeout of package devices nobody expects it any more. The owner measures it by its own clock,
// since those of two engines differ.
const maxHeldUp = 5 * time.Second

// reply is the answer to a request.
type reply struct {
	Device  *devices.Device  `json:"device,omitempty"`
	Record  *devices.Record  `json:"record,omitempty"`
	Devices []devices.Device `json:"devices,omitempty"`
	Next    devices.Position `json:"next,omitzero"`
	Err     *problem         `json:"error,omitempty"`
	Fleet   int              `json:"fleet,omitempty"` // how many devices the fleets of the owner have
	Age     time.Duration    `json:"age,omitempty"`   // of the lease, in an answer to opChanges
}

// problem is an error of the owner.
type problem struct {
	Kind     fault.Kind        `json:"kind,omitempty"`
	Code     string            `json:"code,omitempty"`
	Message  string            `json:"message"`
	Fields   []fault.Field     `json:"fields,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
	Cause    string            `json:"cause,omitempty"` // for logs
}

func problemOf(err error) *problem {
	if err == nil {
		return nil
	}
	f, ok := fault.From(err)
	if !ok {
		return &problem{Message: "the engine that carries out the commands of devices has failed", Code: "DEVICES_FAILED", Cause: err.Error()}
	}
	p := &problem{Kind: f.Kind, Code: f.Code, Message: f.Message, Fields: f.Fields, Metadata: f.Metadata}
	if f.Err != nil {
		p.Cause = f.Err.Error()
	}
	return p
}

func (p *problem) err() error {
	if p == nil {
		return nil
	}
	f := &fault.Error{Kind: p.Kind, Code: p.Code, Message: p.Message, Fields: p.Fields, Metadata: p.Metadata}
	if p.Cause != "" {
		f.Err = errors.New(p.Cause)
	}
	return f
}

// peer is the owner, as the other engines reach it over the bus.
type peer struct {
	cluster *clusterpart.Cluster
	known   *fleetSizes

	mu    sync.Mutex
	epoch uint64        // of the owner that was heard last
	heard time.Duration // its reply.Age
}

// hear notes the age of a lease.
func (p *peer) hear(epoch uint64, age time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if epoch >= p.epoch {
		p.epoch, p.heard = epoch, age
	}
}

// last returns the age of a lease that was heard last.
func (p *peer) last(epoch uint64) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if epoch != p.epoch {
		return 0
	}
	return p.heard
}

var _ devices.Owner = (*peer)(nil)

// ask sends a request to the owner.
func (p *peer) ask(ctx context.Context, kind string, q request) (r reply, err error) {
	owner, epoch, ok := p.cluster.Owner(kindDevice, allDevices)
	if !ok || owner.Engine == p.cluster.Engine() { // which takes them over or gives them up
		return r, devices.ErrNotOwner
	}
	q.Heard = p.last(epoch)
	data, err := json.Marshal(q)
	if err != nil {
		return r, err
	}
	answer, err := p.cluster.Bus().Request(ctx, subject(kind, epoch), data)
	switch {
	case errors.Is(err, bus.ErrDown), errors.Is(err, bus.ErrClosed):
		return r, devices.ErrNotOwner.Wrap(err) // nothing was sent
	case errors.Is(err, bus.ErrTooLarge):
		return r, err
	case err != nil:
		return r, devices.ErrUnanswered.Wrap(err)
	}
	if err := json.Unmarshal(answer, &r); err != nil {
		return r, devices.ErrUnanswered.Wrap(err)
	}
	if kind == changes {
		p.known.set(owner.ID, r.Fleet)
		p.hear(epoch, r.Age)
	}
	return r, r.Err.err()
}

func (p *peer) askDevice(ctx context.Context, q request) (devices.Device, error) {
	r, err := p.ask(ctx, calls, q)
	switch {
	case err != nil:
		return devices.Device{}, err
	case r.Device == nil:
		return devices.Device{}, devices.ErrUnanswered
	}
	return *r.Device, nil
}

func (p *peer) askRecord(ctx context.Context, kind string, q request) (record devices.Record, err error) {
	r, err := p.ask(ctx, kind, q)
	switch {
	case r.Record != nil: // of a command that is refused, too
		record = *r.Record
	case err == nil:
		err = devices.ErrUnanswered
	}
	return record, err
}

func (p *peer) Create(ctx context.Context, id, name, description string) (devices.Device, error) {
	return p.askDevice(ctx, request{Op: opCreate, ID: id, Name: name, Description: description})
}

func (p *peer) Change(ctx context.Context, id string, e devices.Event) (devices.Device, error) {
	return p.askDevice(ctx, request{Op: opChange, ID: id, Event: e})
}

func (p *peer) Submit(ctx context.Context, c devices.Command, by string) (devices.Record, error) {
	kind := calls
	if c.Type == devices.EmergencyStop {
		kind = stops
	}
	return p.askRecord(ctx, kind, request{Op: opSubmit, Command: &c, By: by})
}

func (p *peer) Cancel(ctx context.Context, id, by string) (devices.Record, error) {
	return p.askRecord(ctx, calls, request{Op: opCancel, ID: id, By: by})
}

func (p *peer) Report(ctx context.Context, id string, t devices.Telemetry) error {
	_, err := p.ask(ctx, calls, request{Op: opReport, ID: id, Report: &t})
	return err
}

func (p *peer) Changes(ctx context.Context, after devices.Position, limit int) ([]devices.Device, devices.Position, error) {
	r, err := p.ask(ctx, changes, request{Op: opChanges, After: after, Limit: limit, Session: p.cluster.View().Self, Fleet: p.known.own})
	if err != nil {
		return nil, after, err
	}
	return r.Devices, r.Next, nil
}
