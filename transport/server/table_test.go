package server_test

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/engine"
	"github.com/otkit/otkit/openapi"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/problem"
)

// operations are those of an engine.
func operations(t testing.TB) []auth.Operation {
	t.Helper()
	e, err := engine.New(t.Context(), engine.Options{DataDir: t.TempDir()})
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close(context.Background())) }()
	return e.Operations()
}

func TestTheTableAndTheDocumentHaveTheSameOperations(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromData(openapi.Document)
	require.NoError(t, err)
	type row struct {
		method, path  string
		needs, offers bool // a token: must be sent, may be sent
	}
	documented, declared := map[string]row{}, map[string]row{}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			r := row{method: method, path: path, needs: true, offers: true}
			if op.Security != nil {
				r.needs = len(*op.Security) == 1
				r.offers = len(*op.Security) > 0
			}
			documented[op.OperationID] = r
		}
	}
	for _, op := range operations(t) {
		if op.Method == "" || strings.HasPrefix(op.Path, "/docs") || op.Path == "/" || strings.HasPrefix(op.Path, "/console/assets/") || strings.HasPrefix(op.Path, "/hubs/") { // gRPC alone, pages for people, and another protocol
			continue
		}
		declared[op.ID] = row{op.Method, op.Path, op.Access != auth.Open && !op.OpenSurface, op.Access != auth.Open}
	}
	require.Equal(t, documented, declared)
}

func TestEngineOperationsMakeATable(t *testing.T) {
	t.Parallel()
	table, err := auth.NewTable(operations(t))
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
		// What the specification does not have.
		want = want && !slices.Contains([]string{"putTagConfigItem", "removeTagConfigItem", "removeTagConfig", "changeSilence"}, op.ID)
		if strings.HasPrefix(op.Path, "/api/v1.0/predictive-maintenance/") {
			// Not what trainings learn from and what they are told.
			want = !slices.Contains([]string{"startTraining", "cancelTraining", "listFailures", "addFailures", "deleteFailure", "listReplacements",
				"addReplacements", "deleteReplacement", "listModels", "deleteModel", "exportTrainingSet"}, op.ID)
		}
		require.Equal(t, want, open, op.ID)
	}
}

var pathParameter = regexp.MustCompile(`\{[^}]*\}|\*`)

// expected returns the status that each caller gets from an operation: 0 for "not refused".
func expected(op auth.Operation, protected bool) map[accounts.Role]int {
	want := map[accounts.Role]int{nobody: 0, accounts.Viewer: 0, accounts.Operator: 0, accounts.Admin: 0}
	if op.Access == auth.Open || op.OpenSurface && !protected {
		return want
	}
	want[nobody] = http.StatusUnauthorized
	if op.Access >= auth.Operator {
		want[accounts.Viewer] = http.StatusForbidden
	}
	if op.Access >= auth.Admin {
		want[accounts.Operator] = http.StatusForbidden
	}
	return want
}

func TestEveryOperationAsksForItsRole(t *testing.T) {
	t.Parallel()
	for _, protected := range []bool{false, true} {
		p := start(t, func(o *engine.Options) { o.Server.Access.ProtectOpenSurfaces = protected })
		for _, op := range operations(t) {
			if op.ID == "logout" { // it would end the session of the tokens
				continue
			}
			for role, status := range expected(op, protected) {
				if op.Method != "" {
					p.checkRefusalREST(op, role, status)
				}
				for _, method := range op.GRPC {
					p.checkRefusalGRPC(method, role, status)
				}
			}
		}
	}
}

func (p *platform) checkRefusalREST(op auth.Operation, role accounts.Role, status int) {
	p.t.Helper()
	// The path names nothing and the body is bad, so that nothing happens even when it is let in.
	path := pathParameter.ReplaceAllString(op.Path, "nothing")
	if op.Stream { // or the answer would have no end
		path += "?throttleMs=none"
	}
	a := p.callWrong(role, op.Method, path, "{")
	switch status {
	case 0:
		if op.Method == http.MethodGet || op.Method == http.MethodDelete { // the body is none of theirs
			without := p.callWrong(role, op.Method, path, nil)
			require.Equal(p.t, without.status, a.status, "%s as %q: %s", op.ID, role, a.body)
		}
		require.NotEqual(p.t, http.StatusForbidden, a.status, "%s as %q: %s", op.ID, role, a.body)
		if op.Access != auth.Open { // a login has its own 401
			require.NotEqual(p.t, http.StatusUnauthorized, a.status, "%s as %q: %s", op.ID, role, a.body)
		}
	case http.StatusUnauthorized:
		requireRefusal(p.t, a, path, status, "UNAUTHORIZED")
		require.Equal(p.t, "Bearer", a.header.Get("WWW-Authenticate"))
	case http.StatusForbidden:
		requireRefusal(p.t, a, path, status, "FORBIDDEN")
		require.Empty(p.t, a.header.Get("WWW-Authenticate"))
	}
}

// requireRefusal checks an error body of the family that the path belongs to.
func requireRefusal(t testing.TB, a answer, path string, status int, code string) {
	t.Helper()
	if problem.FamilyOf(path) == problem.AAS {
		requireAASError(t, a, status, code)
		return
	}
	requireProblem(t, a, status, code)
}

func (p *platform) checkRefusalGRPC(method string, role accounts.Role, status int) {
	p.t.Helper()
	if strings.HasSuffix(method, "/Watch") { // has no end when it is let in
		return
	}
	// An empty message is valid for every method; the streams among them refuse it.
	stream, err := p.conn().NewStream(p.as(p.t.Context(), role), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method)
	require.NoError(p.t, err)
	if err := stream.SendMsg(&emptypb.Empty{}); err != nil {
		require.ErrorIs(p.t, err, io.EOF) // refused already; the reason comes with the answer
	}
	require.NoError(p.t, stream.CloseSend())
	if status == 0 && strings.HasSuffix(method, "/SubscribeAlarms") { // has no end; its headers come when it is let in
		header, err := stream.Header()
		require.NoError(p.t, err)
		require.NotNil(p.t, header)
		return
	}
	switch err := stream.RecvMsg(&emptypb.Empty{}); status {
	case 0:
		requireNotRefused(p.t, err, method, role)
	case http.StatusUnauthorized:
		requireStatus(p.t, err, codes.Unauthenticated, "UNAUTHORIZED")
	case http.StatusForbidden:
		requireStatus(p.t, err, codes.PermissionDenied, "FORBIDDEN")
	}
}

func TestTableMatchesTheDocument(t *testing.T) {
	t.Parallel()
	var document struct {
		Paths map[string]map[string]struct {
			OperationID string                 `yaml:"operationId"`
			Security    *[]map[string][]string `yaml:"security"`
		} `yaml:"paths"`
	}
	require.NoError(t, yaml.Unmarshal(openapi.Document, &document))
	require.NotEmpty(t, document.Paths)
	rows := map[string]auth.Operation{}
	for _, op := range operations(t) {
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
