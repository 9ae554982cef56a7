package signalr

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"

	"golang.org/x/time/rate"

	"github.com/otkit/otkit/fault"
)

// Method is a method of a hub that clients invoke.
//
// ctx has the values of the request that began the connection and ends with the connection, or when the method has returned. A
// connection's invocations are carried out one after another, in their order.
//
// The result is encoded by encoding/json in both protocols; nil is no result. Of an error the client gets the code and message, as
// "CODE: message", if it is or wraps a [fault.Error]; any other is logged and the client gets INTERNAL_ERROR.
type Method func(ctx context.Context, c *Client, args Arguments) (result any, err error)

// Arguments are the arguments of an invocation, each as JSON. What came as MessagePack has been translated: bytes are base64.
type Arguments []json.RawMessage

// Into decodes the arguments into pointers, in their order. If there are more or fewer arguments or one cannot be decoded, it
// returns [ErrInvalidRequest].
func (a Arguments) Into(pointers ...any) error {
	if len(a) != len(pointers) {
		return ErrInvalidRequest.Because("the method has %d arguments, not %d", len(pointers), len(a))
	}
	for i, p := range pointers {
		if bytes.Equal(a[i], null) {
			return ErrInvalidRequest.Because("argument %d must not be null", i+1)
		}
		if err := json.Unmarshal(a[i], p); err != nil {
			return ErrInvalidRequest.Because("argument %d is not valid", i+1).Wrap(err)
		}
	}
	return nil
}

var null = []byte("null")

// call is an invocation that waits.
type call struct {
	id     *string // nil if the client expects no answer
	target string
	args   Arguments
}

// Texts of errors for clients.
const (
	noMethods = "The hub has no methods."
	noStreams = "The hub has no streams."
)

// invoke has an invocation carried out, or refuses it. c.receiving is held.
func (c *conn) invoke(m *message) {
	opts := &c.hub.opts
	switch {
	case len(opts.Methods) == 0:
		c.complete(m.InvocationID, nil, noMethods)
	case *m.Type == typeStreamInvocation:
		c.complete(m.InvocationID, nil, noStreams)
	case opts.Methods[m.Target] == nil:
		c.complete(m.InvocationID, nil, describe(ErrNoMethod))
	default:
		if err := c.schedule(m); err != nil {
			c.complete(m.InvocationID, nil, describe(err))
		}
	}
}

// schedule queues an invocation, if there is room for it.
func (c *conn) schedule(m *message) error {
	opts := &c.hub.opts
	if c.pace == nil {
		c.pace = rate.NewLimiter(rate.Limit(opts.InvocationRate), opts.InvocationRate)
	}
	if !c.pace.Allow() {
		return ErrTooFast
	}
	one := call{id: m.InvocationID, target: m.Target}
	err := m.wrong
	if err == nil && len(m.Arguments) > 0 {
		err = json.Unmarshal(m.Arguments, &one.args)
	}
	if err != nil {
		return ErrInvalidRequest.Because("the arguments are not valid").Wrap(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.released || c.ending != nil:
		return nil // nobody expects an answer any more
	case len(c.calls) >= opts.MaxInvocations:
		return ErrTooFast
	}
	c.calls = append(c.calls, one)
	if len(c.calls) == 1 {
		c.hub.wg.Add(1) // not from zero: the connection counts until it is released
		go c.carryOut()
	}
	return nil
}

// carryOut carries out what is queued. An invocation stays in the queue until it has returned.
func (c *conn) carryOut() {
	defer c.hub.wg.Done()
	for {
		c.mu.Lock()
		next, values := c.calls[0], c.values
		c.mu.Unlock()
		if c.ctx.Err() == nil {
			result, wrong := c.call(values, next)
			c.complete(next.id, result, wrong)
		}
		c.mu.Lock()
		c.calls[0] = call{}
		c.calls = c.calls[1:]
		over := len(c.calls) == 0
		if over {
			c.calls = nil
		}
		c.mu.Unlock()
		if over {
			return
		}
	}
}

// call calls a method, and returns the encoded result or the text of an error.
func (c *conn) call(ctx context.Context, one call) (encoded json.RawMessage, wrong string) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.ctx, func() { cancel(context.Cause(c.ctx)) })()
	result, err := c.protected(ctx, one)
	if err == nil && result != nil {
		if encoded, err = json.Marshal(result); err != nil {
			err = ErrNotEncodable.On("target", one.target).Wrap(err)
		}
	}
	if err == nil {
		return encoded, ""
	}
	if _, known := fault.From(err); !known && ctx.Err() == nil {
		c.hub.log.ErrorContext(ctx, "hub method failed", "connection", c.id, "method", one.target, "error", err)
	}
	return nil, describe(err)
}

// protected calls a method; a panic is an error.
func (c *conn) protected(ctx context.Context, one call) (result any, err error) {
	defer func() {
		if v := recover(); v != nil {
			c.hub.log.ErrorContext(ctx, "hub method panicked", "connection", c.id, "method", one.target, "panic", v, "stack", string(debug.Stack()))
			result, err = nil, errPanicked
		}
	}()
	return c.hub.opts.Methods[one.target](ctx, &c.client, one.args)
}

var errPanicked = fault.New(fault.Internal, "INTERNAL_ERROR", "the method failed")

// describe returns what a client gets of an error.
func describe(err error) string {
	f, known := fault.From(err)
	if !known {
		f = errPanicked
	}
	return fmt.Sprintf("%s: %s", f.Code, f.Message)
}

// complete answers an invocation that expects it.
func (c *conn) complete(id *string, result json.RawMessage, wrong string) {
	if id != nil {
		c.push(c.protocol.encode(completion{Type: typeCompletion, InvocationID: *id, Error: wrong, Result: result}))
	}
}
