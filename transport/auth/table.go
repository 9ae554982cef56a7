package auth

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/otkit/otkit/accounts"
)

// Access says who may call an operation. The zero value is not one, so that a row that forgets it
// opens nothing.
type Access uint8

// The kinds of access, from open to closed. Each role includes the ones before it.
const (
	Open     Access = iota + 1 // without a token
	AnyRole                    // with any good token, even one that names no role
	Viewer                     // role Viewer or higher
	Operator                   // role Operator or higher
	Admin                      // role Admin
)

func (a Access) allows(p *Principal) bool {
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

// Operation is one row of the table: something that callers may ask for, by REST, gRPC or both.
type Operation struct {
	ID     string   // operationId of the OpenAPI document, where it is in there
	Method string   // HTTP method; empty for an operation of gRPC alone
	Path   string   // path as chi writes it, from the root of the server
	GRPC   []string // full method names: /package.Service/Method
	Access Access
	// OpenSurface marks an operation that needs no token unless GuardOptions.ProtectOpenSurfaces is set.
	OpenSurface bool
	// QueryToken marks an operation that also takes the token in the query member access_token,
	// for browser APIs that cannot set headers.
	QueryToken bool
}

// Table is the operations of a server. It does not change. Safe for concurrent use.
type Table struct {
	operations []Operation
	http       map[string]Operation // by method, blank, pattern without parameter names
	grpc       map[string]Operation
}

// NewTable checks rows and makes a table of them. Every id, method with path, and gRPC method may
// be there once.
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

// Operations gives the rows in their order.
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
