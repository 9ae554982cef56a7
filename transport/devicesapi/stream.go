package devicesapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/devicesapi/internal/gen"
	"github.com/otkit/otkit/transport/internal/restapi"
)

const (
	keepAlive  = 15 * time.Second // how often a stream that has nothing to say sends a comment line
	maxKept    = 1 << 20          // bytes of an event that a stream keeps for the next one
	writeLimit = 30 * time.Second // for one event; a client that takes nothing for so long is gone
)

// StreamDevices implements GET /api/v1/devices/stream.
func (h *handlers) StreamDevices(ctx context.Context, r gen.StreamDevicesRequestObject) (gen.StreamDevicesResponseObject, error) {
	throttle := 50
	if r.Params.ThrottleMs != nil {
		if throttle = *r.Params.ThrottleMs; throttle < 0 || throttle > int(time.Hour/time.Millisecond) {
			return nil, devices.ErrInvalid.Invalid(fault.Field{Field: "throttleMs", Message: "must be 0 to 3600000"})
		}
	}
	return &stream{ctx: ctx, service: h.service, now: h.now, throttle: time.Duration(throttle) * time.Millisecond,
		head: ctx.Value(methodKey{}) == http.MethodHead}, nil
}

// stream writes changes of devices as server-sent events until the client leaves, the caller's token ends or the engine stops.
type stream struct {
	ctx      context.Context
	service  *devices.Service
	now      func() time.Time
	throttle time.Duration
	head     bool // only the head of the answer is wanted

	position uint64    // up to which changes were sent
	sent     time.Time // when the last event was sent

	devices []gen.DeviceStatus // of the last event, used again
	text    bytes.Buffer       // likewise
}

// VisitStreamDevicesResponse implements gen.StreamDevicesResponseObject.
func (s *stream) VisitStreamDevicesResponse(w http.ResponseWriter) error {
	if err := context.Cause(s.ctx); err != nil { // refused, and there is no answer yet
		return err
	}
	// A writer that cannot lift the server's time limits has none.
	if err := restapi.Stream(w); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	out := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // or a proxy would gather events
	w.WriteHeader(http.StatusOK)
	// It ends when the client leaves, the token ends or the engine stops; the status line was sent long ago.
	for !s.head && s.event(w, out) == nil {
	}
	return nil
}

// event waits for something to send and sends it.
func (s *stream) event(w http.ResponseWriter, out *http.ResponseController) error {
	changed, err := s.next()
	_ = out.SetWriteDeadline(time.Now().Add(writeLimit))
	switch {
	case errors.Is(err, errQuiet):
		_, err = w.Write([]byte(": alive\n\n"))
	case err == nil:
		err = s.send(w, changed)
	}
	if err != nil {
		return err
	}
	return out.Flush()
}

var errQuiet = errors.New("nothing has changed")

// next waits until there are changes and the throttle allows an event, or until it is time to show that the stream lives.
func (s *stream) next() ([]devices.Device, error) {
	wait, cancel := context.WithTimeoutCause(s.ctx, keepAlive, errQuiet)
	defer cancel()
	if rest := s.throttle - time.Since(s.sent); rest > 0 {
		select {
		case <-time.After(rest):
		case <-wait.Done():
			return nil, context.Cause(wait)
		}
	}
	changed, position, err := s.service.Changes(wait, s.position)
	if err != nil {
		return nil, err
	}
	if s.position > 0 { // the first event is outside of the throttle
		s.sent = time.Now()
	}
	s.position = position
	return changed, nil
}

func (s *stream) send(w http.ResponseWriter, changed []devices.Device) error {
	if s.devices == nil {
		s.devices = make([]gen.DeviceStatus, 0, len(changed)) // an empty list is no null
	}
	event, now := gen.DeviceChanges{Devices: s.devices[:0]}, s.now()
	for _, d := range changed {
		event.Devices = append(event.Devices, gen.DeviceStatus{Device: deviceOf(d), Telemetry: telemetryOf(d.Telemetry, now)})
	}
	s.text.Reset()
	s.text.WriteString("event: change\ndata: ")
	if err := json.NewEncoder(&s.text).Encode(event); err != nil { // ends the line
		return err
	}
	s.text.WriteByte('\n')
	_, err := w.Write(s.text.Bytes())
	if s.devices = event.Devices; s.text.Cap() > maxKept { // the first event, which has all devices
		s.devices, s.text = nil, bytes.Buffer{}
	}
	return err
}
