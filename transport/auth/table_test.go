package auth_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/transport/auth"
)

func TestTableRefusesBadRows(t *testing.T) {
	good := auth.Operation{ID: "a", Method: "GET", Path: "/a/{x}", GRPC: []string{"/s/m"}, Access: auth.Viewer}
	for name, change := range map[string]func(*auth.Operation){
		"same id":                     func(o *auth.Operation) { o.ID = "a" },
		"no id":                       func(o *auth.Operation) { o.ID = "" },
		"access forgotten":            func(o *auth.Operation) { o.Access = 0 },
		"access beyond the last":      func(o *auth.Operation) { o.Access = auth.Admin + 1 },
		"path without method":         func(o *auth.Operation) { o.Method = "" },
		"neither":                     func(o *auth.Operation) { o.Method, o.Path, o.GRPC = "", "", nil },
		"same route":                  func(o *auth.Operation) { o.Path = "/a/{x}" },
		"same route but for its name": func(o *auth.Operation) { o.Path = "/a/{y:[a-z]{2}}/" },
		"same gRPC method":            func(o *auth.Operation) { o.GRPC = []string{"/s/m"} },
		"changes unseen":              func(o *auth.Operation) { o.Method = "POST" },
		"changes unseen over gRPC":    func(o *auth.Operation) { o.Method, o.Path = "", "" },
		"optional record of a read":   func(o *auth.Operation) { o.AuditOptional = true },
	} {
		bad := auth.Operation{ID: "b", Method: "GET", Path: "/b", GRPC: []string{"/s/n"}, Access: auth.Open}
		_, err := auth.NewTable([]auth.Operation{good}, []auth.Operation{bad})
		require.NoError(t, err)
		change(&bad)
		_, err = auth.NewTable([]auth.Operation{good}, []auth.Operation{bad})
		require.Error(t, err, name)
	}
}
