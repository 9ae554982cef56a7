package recorder

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/otkit/otkit/audit"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/audited"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/problem"
	"github.com/otkit/otkit/transport/remote"
)

// Options of a [Recorder].
type Options struct {
	// Descriptions are by the ID of the operation.
	Descriptions map[string]audited.Description
	// Message returns a gRPC request as JSON with lower camel case names. Nil: requests over gRPC are recorded without
	// values.
	Message func(request any) []byte
	// WriteError answers an HTTP request whose intent could not be stored. Required.
	WriteError func(http.ResponseWriter, *http.Request, error)
}

// Recorder is auth.Recorder over an audit log. Safe for concurrent use.
type Recorder struct {
	log  *audit.Log
	opts Options
}

var _ auth.Recorder = (*Recorder)(nil)

// New returns a recorder.
func New(log *audit.Log, opts Options) (*Recorder, error) {
	switch {
	case log == nil:
		return nil, errors.New("recorder: log is required")
	case opts.WriteError == nil:
		return nil, errors.New("recorder: Options.WriteError is required")
	}
	return &Recorder{log: log, opts: opts}, nil
}

// Act returns an act of the caller of ctx, for what is recorded by other means than the guard.
func Act(ctx context.Context, via, action string) audit.Act {
	act := audit.Act{Actor: auth.NameOf(ctx), Via: via, Action: action}
	if p, ok := auth.From(ctx); ok {
		act.Principal, act.Role, act.Session = p.Issuer+" "+p.Subject, string(p.Role), p.SessionID
	}
	if from, ok := remote.From(ctx); ok {
		act.Address = from.String()
	}
	return act
}

// start begins the record of a call with a body of size bytes that the log does not take, or 0. end must be called with the result
// of the call. After an error, the call must not be carried out.
func (r *Recorder) start(ctx context.Context, via string, op auth.Operation, c audited.Call, size int64) (end func(audit.Result), err error) {
	d := r.opts.Descriptions[op.ID]
	optional := op.AuditOptional || c.Body != nil && d.Optional != nil && d.Optional(c)
	act := Act(ctx, via, op.ID)
	act.Objects = r.objects(op, c)
	if d.Before != nil && !optional {
		act.Before = audit.JSON(d.Before(ctx, c))
	}
	switch {
	case d.NoValues:
	case d.After != nil:
		act.After = audit.JSON(d.After(c))
	default:
		act.After = audit.JSON(c.Body)
	}
	if c.Body == nil && size != 0 {
		act.After = fmt.Sprintf(`{"bytes":%d}`, size)
	}
	if optional {
		return func(result audit.Result) { r.log.Record(act, result) }, nil
	}
	intent, err := r.log.Begin(ctx, act)
	if err != nil {
		return nil, err
	}
	return intent.End, nil
}

// objects returns the names of what a call changes.
func (r *Recorder) objects(op auth.Operation, c audited.Call) []string {
	if d := r.opts.Descriptions[op.ID]; d.Objects != nil {
		return d.Objects(c)
	}
	return c.Params()
}

// Denied implements auth.Recorder. What the caller would have changed is recorded as far as the path of a request over HTTP tells it: who
// may do nothing has no body read.
func (r *Recorder) Denied(ctx context.Context, op auth.Operation, p *auth.Principal, req any, err error) {
	via := "rest"
	c, ok := audited.Routed(ctx)
	if !ok {
		via, c = "grpc", r.call(req)
	}
	act := Act(auth.WithPrincipal(ctx, p), via, op.ID)
	act.Objects = slices.DeleteFunc(r.objects(op, c), func(name string) bool { return name == "" }) // of a body
	r.log.RecordRefused(act, resultOf(err))
}

// Unary implements auth.Recorder.
func (r *Recorder) Unary(ctx context.Context, op auth.Operation, req any, next func(context.Context, any) (any, error)) (answer any, err error) {
	end, err := r.start(ctx, "grpc", op, r.call(req), 0)
	if err != nil {
		return nil, err
	}
	result := audit.Result{Outcome: audit.Unknown, Detail: "panic"}
	defer func() { end(result) }()
	answer, err = next(ctx, req)
	result = resultOf(err)
	if err == nil && r.opts.Descriptions[op.ID].Detail && r.opts.Message != nil {
		result.Detail = audit.JSON(r.opts.Message(answer))
	}
	return answer, err
}

// call returns the call of a request over gRPC, nil of a stream.
func (r *Recorder) call(req any) audited.Call {
	if req == nil || r.opts.Message == nil {
		return audited.Call{}
	}
	return audited.Call{Body: r.opts.Message(req)}
}

// resultOf returns the result of an act that ended with an error or nil.
func resultOf(err error) audit.Result {
	if err == nil {
		return audit.Result{Outcome: audit.Succeeded}
	}
	result := audit.Result{Outcome: audit.Failed, Detail: err.Error()}
	f, ok := fault.From(err)
	if ok {
		result.Code = f.Code
	}
	switch problem.FaultOf(err).Kind {
	case fault.Internal, fault.BadGateway, fault.Unavailable:
	case fault.Canceled: // perhaps after it was done
		result.Outcome = audit.Unknown
	default:
		result.Outcome = audit.Refused
	}
	return result
}

// resultOfStatus returns the result of an act that was answered over HTTP.
func resultOfStatus(status int, body []byte) audit.Result {
	result := audit.Result{Outcome: audit.Succeeded}
	switch {
	case status < http.StatusBadRequest:
		return result
	case status == problem.StatusClientClosed, status == http.StatusGatewayTimeout: // canceled, perhaps after it was done
		result.Outcome = audit.Unknown
	case status < http.StatusInternalServerError:
		result.Outcome = audit.Refused
	default:
		result.Outcome = audit.Failed
	}
	var problem struct{ Code, ErrorCode, Detail, Message, Title string }
	if json.Unmarshal(body, &problem) == nil {
		result.Code = cmp.Or(problem.Code, problem.ErrorCode)
		result.Detail = cmp.Or(problem.Detail, problem.Message, problem.Title)
	}
	result.Code = cmp.Or(result.Code, http.StatusText(status))
	return result
}
