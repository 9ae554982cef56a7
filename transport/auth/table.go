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

// Operation is one row of the table: something that callers may ask for, by REST, gRPC or both. Its fields are
// described in package [operation].
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

// NewTable checks rows and makes a table of them. Every ID, method with path, and gRPC method must be
// unique. A row that is neither GET nor HEAD is audited, unless it has a reason in Unaudited; one that
// is Open needs that reason, because the guard does not learn who calls.
func NewTable(rows ...[]Operation) (*Table, error) {
	t := &Table{http: make(map[string]Operation), grpc: make(map[string]Operation)}
	ids := make(map[string]Operation)
	var errs []error
	bad := func(op Operation, why string) { errs = append(errs, fmt.Errorf("%s: %s", label(op), why)) }
	for _, op := range slices.Concat(rows...) {
		if op.ID == "" {
			bad(op, "ID is required")
		} else if other, used := ids[op.ID]; used {
			bad(op, "the ID is used"+byOther(other))
		}
		ids[op.ID] = op
		if op.Access < Open || op.Access > Admin {
			bad(op, "Access is required")
		}
		if (op.Method == "") != (op.Path == "") || op.Method == "" && len(op.GRPC) == 0 {
			bad(op, "set Method and Path, or GRPC, or all three")
		}
		if op.Audited() && op.Access == Open {
			bad(op, "may change something and is Open: Unaudited must have the reason why it is not recorded")
		}
		if op.AuditOptional && !op.Audited() {
			bad(op, "AuditOptional is for operations that are audited")
		}
		if op.Method != "" {
			key := httpKey(op.Method, op.Path)
			if other, used := t.http[key]; used {
				bad(op, op.Method+" "+op.Path+" is already an operation"+ofOther(other))
			}
			t.http[key] = op
		}
		for _, method := range op.GRPC {
			if service, name, ok := strings.Cut(strings.TrimPrefix(method, "/"), "/"); !ok || !strings.HasPrefix(method, "/") || service == "" || name == "" || strings.Contains(name, "/") {
				bad(op, fmt.Sprintf("GRPC method %q must be written /package.Service/Method", method))
			}
			if other, used := t.grpc[method]; used {
				bad(op, method+" is already an operation"+ofOther(other))
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

// label names a row in an error.
func label(op Operation) string {
	text := "auth: "
	if op.Part != "" {
		text = fmt.Sprintf("part %q: ", op.Part)
	}
	switch {
	case op.ID != "":
		return text + fmt.Sprintf("operation %q", op.ID)
	case op.Method != "":
		return text + "operation " + op.Method + " " + op.Path
	}
	return text + "operation " + strings.Join(op.GRPC, ", ")
}

func byOther(op Operation) string {
	if op.Part == "" {
		return " twice"
	}
	return fmt.Sprintf(" by part %q", op.Part)
}

func ofOther(op Operation) string {
	if op.Part == "" {
		return fmt.Sprintf(", %q", op.ID)
	}
	return fmt.Sprintf(" of part %q", op.Part)
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
