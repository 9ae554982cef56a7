package auth_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/transport/auth"
)

func TestTableRefusesBadRows(t *testing.T) {
	good := auth.Operation{ID: "a", Method: "GET", Path: "/a/{x}", GRPC: []string{"/s/m"}, Access: auth.Viewer}
	for _, c := range []struct {
		says   string
		change func(*auth.Operation)
	}{
		{`auth: operation "a": the ID is used twice`, func(o *auth.Operation) { o.ID = "a" }},
		{`part "plant": operation "a": the ID is used twice`, func(o *auth.Operation) { o.ID, o.Part = "a", "plant" }},
		{`auth: operation GET /b: ID is required`, func(o *auth.Operation) { o.ID = "" }},
		{`auth: operation /s/n: ID is required`, func(o *auth.Operation) { o.ID, o.Method, o.Path, o.Unaudited = "", "", "", "reads" }},
		{`auth: operation "b": Access is required`, func(o *auth.Operation) { o.Access = 0 }},
		{`auth: operation "b": Access is required`, func(o *auth.Operation) { o.Access = auth.Admin + 1 }},
		{`auth: operation "b": set Method and Path, or GRPC, or all three`, func(o *auth.Operation) { o.Method, o.Unaudited = "", "reads" }},
		{`auth: operation "b": set Method and Path, or GRPC, or all three`, func(o *auth.Operation) { o.Method, o.Path, o.GRPC, o.Unaudited = "", "", nil, "reads" }},
		{`auth: operation "b": GET /a/{x} is already an operation, "a"`, func(o *auth.Operation) { o.Path = "/a/{x}" }},
		{`auth: operation "b": GET /a/{y:[a-z]{2}}/ is already an operation, "a"`, func(o *auth.Operation) { o.Path = "/a/{y:[a-z]{2}}/" }},
		{`auth: operation "b": /s/m is already an operation, "a"`, func(o *auth.Operation) { o.GRPC = []string{"/s/m"} }},
		{`auth: operation "b": GRPC method "a.B/C" must be written /package.Service/Method`, func(o *auth.Operation) { o.GRPC = []string{"a.B/C"} }},
		{`auth: operation "b": GRPC method "/a.B/" must be written /package.Service/Method`, func(o *auth.Operation) { o.GRPC = []string{"/a.B/"} }},
		{`auth: operation "b": GRPC method "" must be written /package.Service/Method`, func(o *auth.Operation) { o.GRPC = []string{""} }},
		{`auth: operation "b": may change something`, func(o *auth.Operation) { o.Method = "POST" }},
		{`auth: operation "b": may change something`, func(o *auth.Operation) { o.Method, o.Path = "", "" }},
		{`auth: operation "b": AuditOptional`, func(o *auth.Operation) { o.AuditOptional = true }},
	} {
		bad := auth.Operation{ID: "b", Method: "GET", Path: "/b", GRPC: []string{"/s/n"}, Access: auth.Open}
		_, err := auth.NewTable([]auth.Operation{good}, []auth.Operation{bad})
		require.NoError(t, err)
		c.change(&bad)
		_, err = auth.NewTable([]auth.Operation{good}, []auth.Operation{bad})
		require.ErrorContains(t, err, c.says)
	}
}
