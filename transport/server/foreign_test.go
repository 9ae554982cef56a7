package server_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/engine"
	pb "github.com/otkit/otkit/proto/platform/v1"
)

func TestPagesOfOtherOriginsMayOnlyRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		origins []string
		header  http.Header
		refused bool
	}{
		"no browser":            {nil, nil, false},
		"own page":              {nil, http.Header{"Sec-Fetch-Site": {"same-origin"}}, false},
		"another origin":        {nil, http.Header{"Origin": {"https://evil.example"}}, true},
		"another site":          {nil, http.Header{"Sec-Fetch-Site": {"cross-site"}, "Origin": {"https://evil.example"}}, true},
		"same site":             {nil, http.Header{"Sec-Fetch-Site": {"same-site"}, "Origin": {"https://b.example"}}, true},
		"origin of a sandbox":   {nil, http.Header{"Origin": {"null"}}, true},
		"allowed":               {[]string{"https://HMI.example"}, http.Header{"Sec-Fetch-Site": {"cross-site"}, "Origin": {"https://hmi.example"}}, false},
		"not the one allowed":   {[]string{"https://hmi.example"}, http.Header{"Sec-Fetch-Site": {"cross-site"}, "Origin": {"https://evil.example"}}, true},
		"any origin is allowed": {[]string{"*"}, http.Header{"Sec-Fetch-Site": {"cross-site"}, "Origin": {"https://any.example"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, func(o *engine.Options) { o.Server.CORSOrigins = c.origins })
			for _, method := range []string{http.MethodPost, http.MethodGet} {
				path, body := "/api/v1/tags:batchRead", `{"tagNames":["line.flag"]}`
				if method == http.MethodGet {
					path, body = "/api/v1/tags/line.flag", ""
				}
				r, err := http.NewRequestWithContext(t.Context(), method, p.url+path, strings.NewReader(body))
				require.NoError(t, err)
				r.Header.Set("Authorization", "Bearer "+p.token(accounts.Admin))
				if body != "" {
					r.Header.Set("Content-Type", "application/json")
				}
				for k, v := range c.header {
					r.Header[k] = v
				}
				if a := p.do(r); c.refused && method == http.MethodPost {
					requireProblem(t, a, 403, "FORBIDDEN")
				} else {
					require.Equal(t, 200, a.status)
				}
			}
		})
	}
}

func TestACallerHasSoManyStreams(t *testing.T) {
	t.Parallel()
	p := start(t, func(o *engine.Options) { o.Server.MaxStreams = 2 })
	subscribe := func(ctx context.Context) error {
		api, _ := p.rpc(accounts.Viewer)
		s, err := api.StreamTagChanges(p.as(ctx, accounts.Viewer), &pb.StreamTagChangesRequest{TagNames: []string{"line.flag"}})
		require.NoError(t, err)
		_, err = s.Recv()
		return err
	}
	sse := func(ctx context.Context, role accounts.Role) *http.Response {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/api/v1/tags/stream?tagNames=line.flag", nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+p.token(role))
		answer, err := http.DefaultTransport.RoundTrip(r)
		require.NoError(t, err)
		t.Cleanup(func() { _ = answer.Body.Close() })
		return answer
	}
	first, leave := context.WithCancel(t.Context())
	require.NoError(t, subscribe(first))
	require.Equal(t, 200, sse(t.Context(), accounts.Viewer).StatusCode)
	requireStatus(t, subscribe(t.Context()), codes.ResourceExhausted, "TOO_MANY_STREAMS")
	require.Equal(t, 429, sse(t.Context(), accounts.Viewer).StatusCode)
	require.Equal(t, 200, sse(t.Context(), accounts.Admin).StatusCode, "another caller")
	leave()
	require.Eventually(t, func() bool { return subscribe(t.Context()) == nil }, patience, 10*time.Millisecond)
}
