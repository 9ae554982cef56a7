package server_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otkit/otkit/accounts"
	pb "github.com/otkit/otkit/proto/platform/v1"
)

// Whoever tries to write a tag is in the log with the tag, for whatever reason the write is refused; the tag keeps its value.
func TestAuditOfRefusedWrites(t *testing.T) {
	t.Parallel()
	p := start(t)
	before := p.call(accounts.Admin, http.MethodGet, "/api/v1/tags/line.level", nil).object(t)["tag"].(map[string]any)["currentValue"]
	for _, w := range []struct {
		role       accounts.Role
		path, body string
		status     int
		code       string
		object     string
	}{
		{accounts.Viewer, "line/level", `{"value":"1"}`, 403, "FORBIDDEN", "line.level"},
		{accounts.Operator, "line/level", `{"value":"1"}`, 403, "FORBIDDEN", "line.level"},
		{accounts.Viewer, "line/none", `{"value":"1"}`, 403, "FORBIDDEN", "line.none"},
		{accounts.Admin, "line/fixed", `{"value":"1"}`, 403, "READ_ONLY_TAG", "line.fixed"},
		{accounts.Admin, "line/none", `{"value":"1"}`, 404, "TAG_NOT_FOUND", "line.none"},
		{accounts.Admin, "line/level", `{"value":"warm"}`, 400, "", "line.level"},
		{accounts.Admin, "line/level", `{"value":"1000000"}`, 400, "", "line.level"},
		{accounts.Admin, "line/level", `{"val`, 400, "", "line.level"},
	} {
		a := p.callWrong(w.role, http.MethodPost, "/api/v1/tags/"+w.path+"/write", w.body)
		require.Equal(t, w.status, a.status, "%v: %s", w, a.body)
		list := p.audit("?action=writeTag")
		r := list[0]
		require.Equal(t, "refused", r.Outcome, "%v: %+v", w, r)
		require.Equal(t, []string{w.object}, r.Objects, "%v", w)
		require.Equal(t, "rest", r.Via)
		if w.code == "" {
			require.NotEmpty(t, r.Code, "%v", w)
		} else {
			require.Equal(t, w.code, r.Code, "%v", w)
		}
	}
	api, ctx := p.rpc(accounts.Viewer)
	_, err := api.WriteTag(ctx, &pb.WriteTagRequest{DriverId: "line", Address: "level", Value: "1"})
	require.Equal(t, codes.PermissionDenied, status.Code(err))
	list := p.audit("?action=writeTag")
	require.Len(t, list, 9, "one record each")
	require.Equal(t, "grpc", list[0].Via)
	require.Equal(t, []string{"line.level"}, list[0].Objects)
	require.Equal(t, "FORBIDDEN", list[0].Code)
	require.Equal(t, before, p.call(accounts.Admin, http.MethodGet, "/api/v1/tags/line.level", nil).object(t)["tag"].(map[string]any)["currentValue"])
}
