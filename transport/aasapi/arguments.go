package aasapi

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/transport/problem"
)

// argumentForm is how the arguments of an operation are sent and its results given.
type argumentForm uint8

const (
	fullArguments  argumentForm = iota // operation variables with whole elements
	valueArguments                     // an object of values by idShort
)

// maxInvocationTime bounds what a caller may ask for.
const maxInvocationTime = 24 * time.Hour

// invocationRequest is the OperationRequest of the standard in both of its forms.
type invocationRequest struct {
	Input    json.RawMessage `json:"inputArguments"`
	Inoutput json.RawMessage `json:"inoutputArguments"`
	Timeout  *string         `json:"clientTimeoutDuration"`
}

type arguments struct {
	input, inoutput []aas.Element
	timeout         time.Duration
	bytes           int64 // of the body that they came in
}

// arguments reads the body of an invocation of an operation.
func (c *call) arguments(op *aas.Operation, form argumentForm) (arguments, error) {
	a := arguments{timeout: c.opts.InvocationTimeout}
	body, err := c.body()
	if err != nil {
		return a, err
	}
	a.bytes = int64(len(body))
	var sent invocationRequest
	if len(body) > 0 {
		if err := json.Unmarshal(body, &sent); err != nil {
			return a, problem.FromDecode(err)
		}
	}
	if sent.Timeout != nil {
		d, ok := parseDuration(*sent.Timeout)
		if !ok || d <= 0 {
			return a, invalid("clientTimeoutDuration", "must be a positive xs:duration, such as PT30S")
		}
		a.timeout = min(d, maxInvocationTime)
	}
	if a.input, err = readArguments("inputArguments", sent.Input, op.InputVariables, form); err != nil {
		return a, err
	}
	a.inoutput, err = readArguments("inoutputArguments", sent.Inoutput, op.InoutputVariables, form)
	return a, err
}

func readArguments(member string, sent json.RawMessage, variables []aas.Element, form argumentForm) ([]aas.Element, error) {
	if len(sent) == 0 || string(sent) == "null" {
		return nil, nil
	}
	if form == valueArguments {
		return valuesOf(member, sent, variables)
	}
	var list []struct {
		Value json.RawMessage `json:"value"`
	}
	if err := json.Unmarshal(sent, &list); err != nil {
		return nil, invalid(member, "must be an array of operation variables")
	}
	elements := make([]aas.Element, len(list))
	for i, v := range list {
		e, err := aas.DecodeElement(v.Value)
		if err != nil {
			return nil, inField(member+"["+strconv.Itoa(i)+"].value", err)
		}
		elements[i] = e
	}
	return elements, nil
}

// valuesOf makes arguments of the operation's variables with the values that were sent.
func valuesOf(member string, sent json.RawMessage, variables []aas.Element) ([]aas.Element, error) {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(sent, &values); err != nil {
		return nil, invalid(member, "must be an object of values")
	}
	elements := make([]aas.Element, 0, len(values))
	for _, v := range variables {
		name := v.Common().IDShort
		value, given := values[name]
		if !given {
			continue
		}
		e, err := aas.DecodeElement(aas.AppendElement(nil, v)) // a copy
		if err != nil {
			return nil, err
		}
		if err := aas.SetElementValue(e, value); err != nil {
			return nil, inField(member+"."+name, err)
		}
		elements = append(elements, e)
		delete(values, name)
	}
	for name := range values {
		return nil, invalid(member+"."+name, "is no argument of the operation")
	}
	return elements, nil
}

// executionState of the standard.
const (
	stateRunning   = "Running"
	stateCompleted = "Completed"
	stateCanceled  = "Canceled"
	stateFailed    = "Failed"
	stateTimeout   = "Timeout"
)

// outcome is what became of an invocation.
type outcome struct {
	state    string
	result   repository.InvocationResult
	messages []problem.Message
}

// size returns about how many bytes the outcome takes: those of its JSON.
func (o outcome) size() int64 {
	var n int
	for _, list := range [][]aas.Element{o.result.Output, o.result.Inoutput} {
		for _, e := range list {
			n += len(aas.AppendElement(nil, e))
		}
	}
	for _, m := range o.messages {
		n += len(m.Text)
	}
	return int64(n)
}

// json returns the OperationResult of the standard.
func (o outcome) json(form argumentForm) ([]byte, error) {
	messages, err := json.Marshal(append([]problem.Message{}, o.messages...)) // never null
	if err != nil {
		return nil, err
	}
	dst := append([]byte(`{"executionState":"`), o.state...)
	dst = append(dst, `","success":`...)
	dst = strconv.AppendBool(dst, o.state == stateCompleted)
	dst = append(dst, `,"messages":`...)
	dst = append(dst, messages...)
	if o.state == stateCompleted {
		dst = appendArguments(dst, "outputArguments", o.result.Output, form)
		dst = appendArguments(dst, "inoutputArguments", o.result.Inoutput, form)
	}
	return append(dst, '}'), nil
}

func appendArguments(dst []byte, member string, list []aas.Element, form argumentForm) []byte {
	if len(list) == 0 {
		return dst
	}
	dst = append(dst, `,"`...)
	dst = append(dst, member...)
	dst = append(dst, `":`...)
	view := aas.View{Extent: aas.WithBlobValue}
	open, end := byte('['), byte(']')
	if form == valueArguments {
		open, end = '{', '}'
	}
	dst = append(dst, open)
	some := false
	for _, e := range list {
		if form == valueArguments && !hasValue(e) {
			continue
		}
		if some {
			dst = append(dst, ',')
		}
		some = true
		if form == valueArguments {
			dst = append(appendText(dst, e.Common().IDShort), ':')
			dst = aas.AppendElementValue(dst, e, view)
			continue
		}
		dst = append(dst, `{"value":`...)
		dst = append(aas.AppendElement(dst, e), '}')
	}
	return append(dst, end)
}
