package aasapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/transport/problem"
)

// prepare reads an invocation: the operation must be there and something must carry it out.
func (c *call) prepare(form argumentForm) (id string, p aas.Path, a arguments, err error) {
	if id, p, err = c.target(); err != nil {
		return id, p, a, err
	}
	op, carrier, err := c.service.Operation(c.ctx(), id, p)
	if errors.Is(err, repository.ErrNotAnOperation) {
		c.w.Header().Set("Allow", http.MethodOptions)
		err = errWrongElement.Because("only an Operation can be invoked")
	}
	if err != nil {
		return id, p, a, err
	}
	if a, err = c.arguments(op, form); err == nil {
		err = op.ValidateArguments(a.input, a.inoutput)
	}
	if err == nil && carrier == nil {
		err = repository.ErrNoHandler.On("path", p.String())
	}
	return id, p, a, err
}

// answerTime is for the answer of an operation that has taken all of its time.
const answerTime = 10 * time.Second

// invokeSync carries an operation out while the caller waits. A failure is the answer; only an
// operation that took too long has a result, which says so.
func invokeSync(form argumentForm) handler {
	return func(c *call) error {
		id, p, a, err := c.prepare(form)
		if err != nil {
			return err
		}
		if err := c.timed(a.timeout + answerTime); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(c.ctx(), a.timeout)
		defer cancel()
		result, err := c.service.Invoke(ctx, id, p, a.input, a.inoutput)
		o := outcome{state: stateCompleted, result: result}
		if err != nil {
			if c.ctx().Err() != nil || ctx.Err() == nil {
				return err
			}
			o = outcome{state: stateTimeout, messages: problem.Messages(c.ctx(), ctx.Err(), c.opts.Now())}
		}
		body, err := o.json(form)
		if err != nil {
			return err
		}
		return c.json(http.StatusOK, body)
	}
}

// argumentBodies is how many bodies of the largest size may be in memory as arguments of asynchronous
// invocations that run.
const argumentBodies = 8

func invokeAsync(form argumentForm) handler {
	return func(c *call) error {
		id, p, a, err := c.prepare(form)
		if err != nil {
			return err
		}
		if !c.argumentBytes.TryAcquire(a.bytes) {
			return errTooManyRunning.With("retryAfter", "10")
		}
		call := &invocation{submodelID: id, path: p.String(), form: form}
		handle, err := c.invocations.start(c.ctx(), call, a.timeout, func(ctx context.Context) outcome {
			defer c.argumentBytes.Release(a.bytes)
			return c.execute(ctx, "operation "+call.path+" of "+id, func() (repository.InvocationResult, error) {
				return c.service.Invoke(ctx, id, p, a.input, a.inoutput)
			})
		})
		if err != nil {
			c.argumentBytes.Release(a.bytes)
			return err
		}
		path := c.urlPath()
		c.w.Header().Set("Location", path[:strings.LastIndex(path, "/invoke-async")]+"/operation-status/"+encodeID(handle))
		c.w.WriteHeader(http.StatusAccepted)
		return nil
	}
}

// execute runs an asynchronous operation. A panic must not end the process.
func (a *API) execute(ctx context.Context, what string, do func() (repository.InvocationResult, error)) (o outcome) {
	failed := func(err error) outcome {
		return outcome{state: stateFailed, messages: problem.Messages(ctx, err, a.opts.Now())}
	}
	defer func() {
		if v := recover(); v != nil {
			o = failed(fmt.Errorf("aasapi: %s: panic: %v", what, v))
		}
	}()
	result, err := do()
	switch {
	case err == nil:
		return outcome{state: stateCompleted, result: result}
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return outcome{state: stateTimeout, messages: problem.Messages(ctx, ctx.Err(), a.opts.Now())}
	case ctx.Err() != nil:
		return outcome{state: stateCanceled, messages: problem.Messages(ctx, ctx.Err(), a.opts.Now())}
	}
	return failed(err)
}

func (c *call) invocation() (*invocation, bool, error) {
	id, p, err := c.target()
	if err != nil {
		return nil, false, err
	}
	handle, err := c.id("handleId")
	if err != nil {
		return nil, false, err
	}
	return c.invocations.find(c.ctx(), handle, id, p.String())
}

// running answers for what has not ended.
func (c *call) running() error {
	c.w.Header().Set("Retry-After", "1")
	return c.json(http.StatusOK, []byte(`{"executionState":"`+stateRunning+`","success":false,"messages":[]}`))
}

func operationStatus(c *call) error {
	i, ended, err := c.invocation()
	if err != nil {
		return err
	}
	if !ended {
		return c.running()
	}
	path := c.urlPath()
	at := strings.LastIndex(path, "/operation-status/")
	location := path[:at] + "/operation-results/" + path[at+len("/operation-status/"):]
	if i.form == valueArguments {
		location += "/$value"
	}
	c.w.Header().Set("Location", location)
	c.w.WriteHeader(http.StatusFound)
	return nil
}

func operationResult(form argumentForm) handler {
	return func(c *call) error {
		i, ended, err := c.invocation()
		if err != nil {
			return err
		}
		if !ended {
			return errStillRunning
		}
		body, err := i.outcome.json(form)
		if err != nil {
			return err
		}
		return c.json(http.StatusOK, body)
	}
}
