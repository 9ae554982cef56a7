package aas

import "context"

// DelegationQualifier is the type of the qualifier of an operation whose value is the URL that carries
// it out; see Options.Delegate.
const DelegationQualifier = "invocationDelegation"

// OperationKey names operations: one by SubmodelID and Path, or all with a semantic id by SemanticID,
// which is the value of its first key.
type OperationKey struct {
	SubmodelID string
	Path       string // idShortPath
	SemanticID string
}

// Invocation is one call of an operation.
type Invocation struct {
	SubmodelID string
	Path       Path
	Operation  *Operation // as it is stored; its variables are templates of the arguments
	Input      []Element
	Inoutput   []Element
}

// InvocationResult is what an operation gives back.
type InvocationResult struct {
	Output   []Element
	Inoutput []Element
}

// OperationHandler carries operations out. Safe for concurrent use.
type OperationHandler interface {
	// Invoke carries an operation out. Its error is for the caller when it is a *fault.Error. It
	// returns when ctx ends.
	Invoke(ctx context.Context, call Invocation) (InvocationResult, error)
}

// OperationFunc is an [OperationHandler].
type OperationFunc func(ctx context.Context, call Invocation) (InvocationResult, error)

// Invoke calls f.
func (f OperationFunc) Invoke(ctx context.Context, call Invocation) (InvocationResult, error) {
	return f(ctx, call)
}

// Operation gives the operation at a path and what carries it out. Another kind of element is
// ErrNotAnOperation; an operation that nothing carries out has a nil handler.
func (s *Service) Operation(ctx context.Context, submodelID string, p Path) (*Operation, OperationHandler, error) {
	e, _, err := s.storedElement(ctx, submodelID, p)
	if err != nil {
		return nil, nil, err
	}
	op, ok := e.(*Operation)
	if !ok {
		return nil, nil, ErrNotAnOperation.On("path", p.String())
	}
	if h := s.opts.Operations[OperationKey{SubmodelID: submodelID, Path: p.String()}]; h != nil {
		return op, h, nil
	}
	if op.SemanticID != nil && len(op.SemanticID.Keys) > 0 {
		if h := s.opts.Operations[OperationKey{SemanticID: op.SemanticID.Keys[0].Value}]; h != nil {
			return op, h, nil
		}
	}
	for i := range op.Qualifiers {
		if op.Qualifiers[i].Type == DelegationQualifier {
			return op, s.opts.Delegate, nil
		}
	}
	return op, nil, nil
}

// Invoke carries out the operation at a path. Each input argument must be one of the operation's, by
// its idShort, and pass [Operation.CheckArguments]. An operation that nothing carries out is ErrNoHandler.
func (s *Service) Invoke(ctx context.Context, submodelID string, p Path, input, inoutput []Element) (InvocationResult, error) {
	op, handler, err := s.Operation(ctx, submodelID, p)
	if err != nil {
		return InvocationResult{}, err
	}
	if err := op.CheckArguments(input, inoutput); err != nil {
		return InvocationResult{}, err
	}
	if handler == nil {
		return InvocationResult{}, ErrNoHandler.On("path", p.String())
	}
	return handler.Invoke(ctx, Invocation{SubmodelID: submodelID, Path: p, Operation: op, Input: input, Inoutput: inoutput})
}

// CheckArguments checks that each argument is one of the operation's variables, once, of the same kind
// and type of value, and that its values are in their lexical form. The error is ErrInvalidRequest.
func (v *Operation) CheckArguments(input, inoutput []Element) error {
	if err := checkArguments("inputArguments", input, v.InputVariables); err != nil {
		return err
	}
	return checkArguments("inoutputArguments", inoutput, v.InoutputVariables)
}

func checkArguments(member string, given, variables []Element) error {
	open := make(map[string]Element, len(variables))
	for _, v := range variables {
		open[v.Common().IDShort] = v
	}
	for _, e := range given {
		name := e.Common().IDShort
		v, ok := open[name]
		if !ok {
			return invalid(member, "has "+name+", which is no argument of the operation or is there twice")
		}
		delete(open, name)
		if v.ElementKind() != e.ElementKind() {
			return invalid(member+"."+name, "must be a "+string(v.ElementKind()))
		}
		if want := valueType(v); want != "" && want != valueType(e) {
			return invalid(member+"."+name+".valueType", "must be "+string(want))
		}
		c := checker{most: mostTold}
		c.run(e)
		if len(c.found) > 0 {
			for i := range c.found {
				c.found[i].Field = memberOf(member+"."+name, c.found[i].Field)
			}
			return ErrInvalidRequest.Invalid(c.found...)
		}
	}
	return nil
}

// valueType gives the type of an element's value, empty for an element that has none.
func valueType(e Element) DataType {
	switch e := e.(type) {
	case *Property:
		return e.ValueType
	case *Range:
		return e.ValueType
	}
	return ""
}
