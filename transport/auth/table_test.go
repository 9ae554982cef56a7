package auth_test

import (
	"strings"
	"testing"

	"github.com/otkit/otkit/openapi"
	"github.com/otkit/otkit/transport/auth"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

func TestEngineOperationsMakeATable(t *testing.T) {
	table, err := auth.NewTable(auth.EngineOperations())
	require.NoError(t, err)
	byID := map[string]auth.Operation{}
	for _, op := range table.Operations() {
		byID[op.ID] = op
		require.True(t, op.Access == auth.Open || op.Method != "", "%s: only open operations are without a path", op.ID)
	}
	require.Equal(t, auth.Admin, byID["writeTag"].Access)
	require.Equal(t, auth.Admin, byID["writeTags"].Access)
	for _, op := range table.Operations() {
		// What the specification serves without a token, and nothing else, is open.
		open := op.Access == auth.Open || op.OpenSurface
		want := !strings.HasPrefix(op.Path, "/api/") && !strings.HasPrefix(op.Path, "/hubs/") || op.ID == "login" || op.ID == "refresh"
		for _, surface := range []string{"config", "alert-silence", "alert-history", "alertsource"} {
			want = want || strings.HasPrefix(op.Path+"/", "/api/v1.0/"+surface+"/")
		}
		require.Equal(t, want, open, op.ID)
	}
}

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
	} {
		bad := auth.Operation{ID: "b", Method: "GET", Path: "/b", GRPC: []string{"/s/n"}, Access: auth.Open}
		_, err := auth.NewTable([]auth.Operation{good}, []auth.Operation{bad})
		require.NoError(t, err)
		change(&bad)
		_, err = auth.NewTable([]auth.Operation{good}, []auth.Operation{bad})
		require.Error(t, err, name)
	}
}

// The document and the table must not disagree on what there is and what needs a token.
func TestTableMatchesTheDocument(t *testing.T) {
	var document struct {
		Paths map[string]map[string]struct {
			OperationID string                 `yaml:"operationId"`
			Security    *[]map[string][]string `yaml:"security"`
		} `yaml:"paths"`
	}
	require.NoError(t, yaml.Unmarshal(openapi.Document, &document))
	require.NotEmpty(t, document.Paths)
	rows := map[string]auth.Operation{}
	for _, op := range auth.EngineOperations() {
		rows[op.ID] = op
	}
	for path, methods := range document.Paths {
		for method, described := range methods {
			op, ok := rows[described.OperationID]
			require.True(t, ok, "%s %s: %s has no row", method, path, described.OperationID)
			require.Equal(t, strings.ToUpper(method)+" "+path, op.Method+" "+op.Path, described.OperationID)
			switch {
			case op.Access == auth.Open:
				require.NotNil(t, described.Security, described.OperationID)
				require.Empty(t, *described.Security, described.OperationID)
			case op.OpenSurface:
				require.NotNil(t, described.Security, described.OperationID)
				require.Len(t, *described.Security, 2, "%s: none, or bearer", described.OperationID)
			default:
				require.Nil(t, described.Security, "%s: the document's default, bearer", described.OperationID)
			}
		}
	}
}
