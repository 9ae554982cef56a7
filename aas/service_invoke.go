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
// its idShort. An operation that nothing carries out is ErrNoHandler.
func (s *Service) Invoke(ctx context.Context, submodelID string, p Path, input, inoutput []Element) (InvocationResult, error) {
	op, handler, err := s.Operation(ctx, submodelID, p)
	if err != nil {
		return InvocationResult{}, err
	}
	if err := s.arguments("inputArguments", input, op.InputVariables); err != nil {
		return InvocationResult{}, err
	}
	if err := s.arguments("inoutputArguments", inoutput, op.InoutputVariables); err != nil {
		return InvocationResult{}, err
	}
	if handler == nil {
		return InvocationResult{}, ErrNoHandler.On("path", p.String())
	}
	return handler.Invoke(ctx, Invocation{SubmodelID: submodelID, Path: p, Operation: op, Input: input, Inoutput: inoutput})
}

// arguments checks that each argument is one of the variables, once and of the same kind.
func (s *Service) arguments(member string, given, variables []Element) error {
	kinds := make(map[string]ElementKind, len(variables))
	for _, v := range variables {
		kinds[v.Common().IDShort] = v.ElementKind()
	}
	for _, e := range given {
		name := e.Common().IDShort
		kind, ok := kinds[name]
		switch {
		case !ok:
			return invalid(member, "has "+name+", which is no argument of the operation or is there twice")
		case kind != e.ElementKind():
			return invalid(member+"."+name, "must be a "+string(kind))
		}
		delete(kinds, name)
	}
	return nil
}
