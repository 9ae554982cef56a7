package devicesapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/devicesapi/internal/gen"
	"github.com/otkit/otkit/transport/internal/restapi"
)

// SubmitDeviceCommand implements POST /api/v1/devices/{id}/commands.
func (h *handlers) SubmitDeviceCommand(ctx context.Context, r gen.SubmitDeviceCommandRequestObject) (gen.SubmitDeviceCommandResponseObject, error) {
	b := r.Body
	if err := missing("commandId", b.CommandID, "deviceId", b.DeviceID, "commandType", b.CommandType); err != nil {
		return nil, err
	}
	if b.DeviceID != r.ID {
		return nil, devices.ErrMismatch
	}
	if b.CommandType == devices.ResetEmergencyStop {
		if err := h.mayReset(ctx); err != nil {
			return nil, err
		}
	}
	wait, cancel := h.waiting(ctx)
	defer cancel()
	record, err := h.service.Submit(wait, devices.Command{ID: b.CommandID, DeviceID: b.DeviceID, Type: b.CommandType,
		Parameters: b.Parameters, Priority: b.Priority, Time: b.Timestamp}, h.caller(ctx))
	switch {
	case errors.Is(err, devices.ErrRefused):
		return violation{Message: devices.ErrRefused.Message, Reason: record.Decision.Reason}, nil
	case err != nil:
		return nil, err
	}
	return gen.SubmitDeviceCommand200JSONResponse(resultOf(record)), nil
}

// waiting returns a context that ends when a call must be answered.
func (h *handlers) waiting(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, h.wait)
	stop := context.AfterFunc(h.waits, cancel)
	return ctx, func() { stop(); cancel() }
}

// violation is the schema CommandRefusal, as specified for policies.
type violation struct {
	Message string `json:"message"`
	Reason  string `json:"reason"`
}

// VisitSubmitDeviceCommandResponse implements gen.SubmitDeviceCommandResponseObject.
func (v violation) VisitSubmitDeviceCommandResponse(w http.ResponseWriter) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return restapi.WriteJSON(w, http.StatusForbidden, body)
}

// ListDeviceCommands implements GET /api/v1/devices/{id}/commands.
func (h *handlers) ListDeviceCommands(ctx context.Context, r gen.ListDeviceCommandsRequestObject) (gen.ListDeviceCommandsResponseObject, error) {
	limit := restapi.Or(r.Params.Limit, 50)
	if limit < 1 || limit > 500 {
		return nil, devices.ErrInvalid.Invalid(fault.Field{Field: "limit", Message: "must be 1 to 500"})
	}
	q := devices.CommandQuery{DeviceID: r.ID, Limit: limit + 1}
	if r.Params.Before != "" {
		var ok bool
		if q.Before, q.BeforeID, ok = parsePosition(r.Params.Before); !ok {
			return nil, devices.ErrInvalid.Invalid(fault.Field{Field: "before", Message: "must be next of an earlier page"})
		}
	}
	if _, err := h.service.Get(r.ID); err != nil {
		return nil, err
	}
	found, err := h.service.Commands(ctx, q)
	if err != nil {
		return nil, err
	}
	page := gen.ListDeviceCommands200JSONResponse{}
	if len(found) > limit {
		found = found[:limit]
		page.Next = positionOf(found[limit-1])
	}
	page.Commands = make([]gen.DeviceCommandRecord, len(found))
	for i, record := range found {
		page.Commands[i] = recordOf(record)
	}
	return page, nil
}

// GetDeviceCommand implements GET /api/v1/devices/{id}/commands/{commandId}.
func (h *handlers) GetDeviceCommand(ctx context.Context, r gen.GetDeviceCommandRequestObject) (gen.GetDeviceCommandResponseObject, error) {
	record, err := h.find(ctx, r.ID, r.CommandID)
	if err != nil {
		return nil, err
	}
	return gen.GetDeviceCommand200JSONResponse(recordOf(record)), nil
}

// CancelDeviceCommand implements POST /api/v1/devices/{id}/commands/{commandId}/cancel.
func (h *handlers) CancelDeviceCommand(ctx context.Context, r gen.CancelDeviceCommandRequestObject) (gen.CancelDeviceCommandResponseObject, error) {
	if _, err := h.find(ctx, r.ID, r.CommandID); err != nil {
		return nil, err
	}
	wait, cancel := h.waiting(ctx)
	defer cancel()
	record, err := h.service.Cancel(wait, r.CommandID, h.caller(ctx))
	if err != nil && !errors.Is(err, devices.ErrRefused) { // a policy was faster: the command has not begun
		return nil, err
	}
	return gen.CancelDeviceCommand200JSONResponse(recordOf(record)), nil
}

// find returns a command of a device.
func (h *handlers) find(ctx context.Context, device, command string) (devices.Record, error) {
	if _, err := h.service.Get(device); err != nil {
		return devices.Record{}, err
	}
	if !storable(command) {
		return devices.Record{}, devices.ErrNoCommand
	}
	found, err := h.service.Commands(ctx, devices.CommandQuery{ID: command, DeviceID: device, Limit: 1})
	if err == nil && len(found) == 0 {
		err = devices.ErrNoCommand.On("commandId", command)
	}
	if err != nil {
		return devices.Record{}, err
	}
	return found[0], nil
}

// storable reports whether a command can have that id; databases refuse to look for others.
func storable(id string) bool { return utf8.ValidString(id) && !strings.ContainsRune(id, 0) }

// positionOf returns where the page after a record begins.
func positionOf(r devices.Record) string {
	return strconv.FormatInt(r.IssuedAt.UnixMicro(), 10) + "." + r.ID
}

func parsePosition(s string) (before time.Time, id string, ok bool) {
	us, id, ok := strings.Cut(s, ".")
	n, err := strconv.ParseInt(us, 10, 64)
	return time.UnixMicro(n).UTC(), id, ok && err == nil && n > 0 && storable(id)
}

func resultOf(r devices.Record) gen.CommandResult {
	answer := gen.CommandResult{CommandID: r.ID, Success: r.Result.Success, State: gen.CommandPhase(r.Phase), Message: textOrNull(r.Result.Message), Data: r.Result.Data,
		CompletedAt: timeOrNull(r.Result.CompletedAt)}
	if !r.Phase.Ended() {
		answer.Message = textOrNull(cmp.Or(r.Result.Message, "the command has not ended; its outcome will be in the list of commands"))
		answer.Data = map[string]any{"state": string(r.Phase)}
	}
	return answer
}

func recordOf(r devices.Record) gen.DeviceCommandRecord {
	answer := gen.DeviceCommandRecord{CommandID: r.ID, DeviceID: r.DeviceID, CommandType: r.Type, Parameters: r.Parameters,
		Priority: r.Priority, Timestamp: r.Time.UTC(), State: gen.CommandPhase(r.Phase), IssuedBy: r.By, IssuedAt: r.IssuedAt.UTC(),
		BeganAt: timeOrNull(r.BeganAt), Result: resultOf(r), Decision: decisionOf(r.Decision)}
	if p := r.Path; p != nil {
		answer.Path = &gen.DevicePath{Map: p.Map, FromX: p.FromX, FromY: p.FromY, ToX: p.ToX, ToY: p.ToY, Speed: p.Speed}
	}
	return answer
}

// decisionOf returns nil for a command that was not judged.
func decisionOf(d devices.Decision) *gen.SafetyDecision {
	if d.Time.IsZero() {
		return nil
	}
	answer := &gen.SafetyDecision{Allowed: d.Allowed, Policy: d.Policy, Reason: d.Reason, MaxSpeed: d.MaxSpeed, Time: d.Time.UTC(),
		Verdicts: make([]gen.SafetyVerdict, len(d.Verdicts))}
	for i, v := range d.Verdicts {
		figures := make([]gen.SafetyFigure, len(v.Figures))
		for j, f := range v.Figures {
			figures[j] = gen.SafetyFigure{Name: f.Name, Value: f.Value, Unit: f.Unit}
		}
		answer.Verdicts[i] = gen.SafetyVerdict{Policy: v.Policy, Allowed: v.Allowed, Reason: v.Reason, MaxSpeed: v.MaxSpeed, Figures: figures}
	}
	return answer
}
