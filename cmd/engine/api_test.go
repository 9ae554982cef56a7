package main_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/otkit/otkit/openapi/client"
	platformv1 "github.com/otkit/otkit/proto/platform/v1"
)

// session is a caller with a token, over the generated clients.
type session struct {
	*client.ClientWithResponses
	t       testing.TB
	url     string
	token   string
	refresh string
	grpc    platformv1.PlatformApiClient
}

const password = "correct horse battery"

// known is an environment whose first start makes admin with a known password.
var known = []string{"Auth__AdminPassword=" + password}

func (e *engine) admin() *session { return e.login("admin", password) }

// tryLogin gives the answer to a login.
func (e *engine) tryLogin(user, password string) *client.LoginResponse {
	e.t.Helper()
	api, err := client.NewClientWithResponses(e.url)
	require.NoError(e.t, err)
	answer, err := api.LoginWithResponse(e.t.Context(), client.LoginRequest{Username: user, Password: password})
	require.NoError(e.t, err)
	return answer
}

func (e *engine) login(user, password string) *session {
	e.t.Helper()
	answer := e.tryLogin(user, password)
	require.NotNil(e.t, answer.JSON200, "%s %s", answer.Status(), answer.Body)
	s := e.with(answer.JSON200.AccessToken)
	s.refresh = answer.JSON200.RefreshToken
	return s
}

// with is the session of a token.
func (e *engine) with(token string) *session {
	e.t.Helper()
	return connect(e.t, e.url, e.addr, token, http.DefaultClient, insecure.NewCredentials())
}

func connect(t testing.TB, url, addr, token string, h *http.Client, c credentials.TransportCredentials) *session {
	t.Helper()
	api, err := client.NewClientWithResponses(url, client.WithHTTPClient(h), client.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+token)
		return nil
	}))
	require.NoError(t, err)
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(c))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return &session{ClientWithResponses: api, t: t, url: url, token: token, grpc: platformv1.NewPlatformApiClient(conn)}
}

// rpc is the context of a gRPC call.
func (s *session) rpc() context.Context {
	return metadata.AppendToOutgoingContext(s.t.Context(), "authorization", "Bearer "+s.token)
}

func (s *session) read(name string) client.Tag {
	s.t.Helper()
	answer, err := s.ReadTagWithResponse(s.t.Context(), name)
	require.NoError(s.t, err)
	require.NotNil(s.t, answer.JSON200, "%s %s", answer.Status(), answer.Body)
	return answer.JSON200.Tag
}

// number reads a tag that has one.
func (s *session) number(name string) float64 {
	s.t.Helper()
	n, ok := s.read(name).CurrentValue.Float()
	require.True(s.t, ok, name)
	return n
}

// good waits until a tag is Good. Tags of devices are defined when these report for the first time.
func (s *session) good(name string) {
	s.t.Helper()
	eventually(s.t, name+" is not Good", func() bool {
		answer, err := s.ReadTagWithResponse(s.t.Context(), name)
		require.NoError(s.t, err)
		return answer.JSON200 != nil && answer.JSON200.Tag.Quality == client.Good
	})
}

// write queues a write that must be taken, and gives its id.
func (s *session) write(driver, address, value string, confirm bool) string {
	s.t.Helper()
	answer, err := s.WriteTagWithResponse(s.t.Context(), driver, address, nil, client.WriteRequest{Value: &value, Confirm: confirm})
	require.NoError(s.t, err)
	require.NotNil(s.t, answer.JSON200, "%s %s", answer.Status(), answer.Body)
	return answer.JSON200.WriteID
}

func (s *session) outcome(id string) client.Write {
	s.t.Helper()
	answer, err := s.GetWriteWithResponse(s.t.Context(), id, nil)
	require.NoError(s.t, err)
	require.NotNil(s.t, answer.JSON200, "%s %s", answer.Status(), answer.Body)
	return *answer.JSON200
}

// settled waits until a write has its outcome.
func (s *session) settled(id string) client.Write {
	s.t.Helper()
	var w client.Write
	eventually(s.t, "write "+id+" is still queued", func() bool {
		w = s.outcome(id)
		return w.State != client.Queued
	})
	return w
}

func (s *session) history(name string, from, to time.Time, most int) []client.HistoryPoint {
	s.t.Helper()
	answer, err := s.GetTagHistoryWithResponse(s.t.Context(), name, &client.GetTagHistoryParams{Start: from, End: to, MaxPoints: &most})
	require.NoError(s.t, err)
	require.NotNil(s.t, answer.JSON200, "%s %s", answer.Status(), answer.Body)
	return answer.JSON200.Points
}

func (s *session) bulk(items ...client.TagConfig) *client.BulkTagConfigResponse {
	s.t.Helper()
	answer, err := s.BulkTagConfigWithResponse(s.t.Context(), items)
	require.NoError(s.t, err)
	return answer
}

// item is a configured tag that fills a page of the disk.
func item(id string) client.TagConfig {
	return client.TagConfig{TagID: id, DriverID: "later", Address: "x", DataType: client.Float, Description: strings.Repeat("d", 4000)}
}

// configured gives the tag ids of the configuration.
func (s *session) configured() map[string]client.TagConfig {
	s.t.Helper()
	answer, err := s.GetTagConfigWithResponse(s.t.Context())
	require.NoError(s.t, err)
	require.NotNil(s.t, answer.JSON200, "%s", answer.Body)
	ids := make(map[string]client.TagConfig)
	for _, c := range *answer.JSON200 {
		ids[c.TagID] = c
	}
	return ids
}

// status is the status of a read with the session's token.
func (s *session) status() int {
	s.t.Helper()
	answer, err := s.ListTagsWithResponse(s.t.Context(), &client.ListTagsParams{})
	require.NoError(s.t, err)
	return answer.StatusCode()
}

func (e *engine) health() client.Health {
	e.t.Helper()
	answer, err := http.Get(e.url + "/health")
	require.NoError(e.t, err)
	var h client.Health
	require.NoError(e.t, json.Unmarshal([]byte(body(e.t, answer.Body)), &h))
	return h
}
