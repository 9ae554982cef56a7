package repository

import (
	"context"

	"github.com/otkit/otkit/aas"
)

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
	Path       aas.Path
	Operation  *aas.Operation // as it is stored; its variables are templates of the arguments
	Input      []aas.Element
	Inoutput   []aas.Element
}

// InvocationResult is the result of an operation.
type InvocationResult struct {
	Output   []aas.Element
	Inoutput []aas.Element
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

// Operation returns the operation at a path and what carries it out. Another kind of element is
// ErrNotAnOperation; an operation that nothing carries out has a nil handler.
func (s *Service) Operation(ctx context.Context, submodelID string, p aas.Path) (*aas.Operation, OperationHandler, error) {
	e, _, err := s.storedElement(ctx, submodelID, p)
	if err != nil {
		return nil, nil, err
	}
	op, ok := e.(*aas.Operation)
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
// its idShort, and pass [aas.Operation.ValidateArguments]. An operation that nothing carries out is ErrNoHandler.
func (s *Service) Invoke(ctx context.Context, submodelID string, p aas.Path, input, inoutput []aas.Element) (InvocationResult, error) {
	op, handler, err := s.Operation(ctx, submodelID, p)
	if err != nil {
		return InvocationResult{}, err
	}
	if err := op.ValidateArguments(input, inoutput); err != nil {
		return InvocationResult{}, err
	}
	if handler == nil {
		return InvocationResult{}, ErrNoHandler.On("path", p.String())
	}
	return handler.Invoke(ctx, Invocation{SubmodelID: submodelID, Path: p, Operation: op, Input: input, Inoutput: inoutput})
}
