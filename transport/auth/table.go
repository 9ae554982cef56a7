package auth

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/transport/auth/operation"
)

// Access is who may call an operation.
type Access = operation.Access

// The kinds of access, from open to closed. Each role includes the ones before it.
const (
	Open     = operation.Open
	AnyRole  = operation.AnyRole
	Viewer   = operation.Viewer
	Operator = operation.Operator
	Admin    = operation.Admin
)

// Operation is one row of the table: something that callers may ask for, by REST, gRPC or both.
type Operation = operation.Operation

func allows(a Access, p *Principal) bool {
	switch a {
	case Open:
		return true
	case AnyRole:
		return p != nil
	case Viewer:
		return p.Can(accounts.Viewer)
	case Operator:
		return p.Can(accounts.Operator)
	case Admin:
		return p.Can(accounts.Admin)
	}
	return false
}

// Table is the operations of a server. It does not change. Safe for concurrent use.
type Table struct {
	operations []Operation
	http       map[string]Operation // by method, blank, pattern without parameter names
	grpc       map[string]Operation
}

// NewTable checks rows and makes a table of them. Every id, method with path, and gRPC method may
// be there once. A row that is neither GET nor HEAD is audited, unless it has a reason in Unaudited; one that
// is Open needs that reason, because the guard does not learn who calls.
func NewTable(rows ...[]Operation) (*Table, error) {
	t := &Table{http: make(map[string]Operation), grpc: make(map[string]Operation)}
	ids := make(map[string]bool)
	var errs []error
	bad := func(op Operation, why string) {
		errs = append(errs, fmt.Errorf("auth: operation %q: %s", op.ID, why))
	}
	for _, op := range slices.Concat(rows...) {
		if op.ID == "" || ids[op.ID] {
			bad(op, "ID must be there and unique")
		}
		ids[op.ID] = true
		if op.Access < Open || op.Access > Admin {
			bad(op, "Access is missing")
		}
		if (op.Method == "") != (op.Path == "") || op.Method == "" && len(op.GRPC) == 0 {
			bad(op, "Method with Path, GRPC, or all are required")
		}
		if op.Audited() && op.Access == Open {
			bad(op, "may change something and is Open: Unaudited must have the reason why it is not recorded")
		}
		if op.AuditOptional && !op.Audited() {
			bad(op, "AuditOptional is for operations that are audited")
		}
		if op.Method != "" {
			key := httpKey(op.Method, op.Path)
			if _, twice := t.http[key]; twice {
				bad(op, key+" is there twice")
			}
			t.http[key] = op
		}
		for _, method := range op.GRPC {
			if _, twice := t.grpc[method]; twice {
				bad(op, method+" is there twice")
			}
			t.grpc[method] = op
		}
		t.operations = append(t.operations, op)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return t, nil
}

// Operations returns the rows in their order.
func (t *Table) Operations() []Operation { return slices.Clone(t.operations) }

func httpKey(method, pattern string) string {
	path := withoutNames(pattern)
	if len(path) > 1 {
		path = strings.TrimSuffix(path, "/") // Route("/x") with Get("/") is /x
	}
	return strings.ToUpper(method) + " " + path
}

// withoutNames empties the braces of a pattern: what a parameter is called matters to its handler only.
func withoutNames(pattern string) string {
	var b strings.Builder
	depth := 0
	for _, c := range pattern {
		switch {
		case c == '{':
			if depth == 0 {
				b.WriteString("{}")
			}
			depth++
		case c == '}':
			depth--
		case depth == 0:
			b.WriteRune(c)
		}
	}
	return b.String()
}
