package tagsapi_test

import (
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/middleware"
)

func TestListOfTags(t *testing.T) {
	engine, err := tags.New(tags.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, engine.Close(context.Background())) }()
	for _, name := range []string{"a.tag10", "a.tag2", "b.tag1"} {
		require.NoError(t, engine.DefineTags(tags.Tag{Name: name, Driver: name[:1], DataType: tags.Int, Unit: "bar"}))
	}
	url := serve(t, engine, middleware.ServerOptions{})
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	get := func(query string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/api/v1/tags?"+query, nil)
		require.NoError(t, err)
		resp, err := transport.RoundTrip(r)
		require.NoError(t, err)
		defer func() { _ = resp.Body.Close() }()
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, string(body)
	}
	for query, want := range map[string]string{
		"fields=name&sort=name":                           `{"tags":[{"name":"a.tag2"},{"name":"a.tag10"},{"name":"b.tag1"}],"totalCount":3}`,
		"fields=name&sort=-name&pageSize=1":               `{"tags":[{"name":"b.tag1"}],"totalCount":3}`,
		"fields=name&sort=-driver&page=2&pageSize=1":      `{"tags":[{"name":"a.tag2"}],"totalCount":3}`,
		"fields=name&driverId=b&driverFilter=b":           `{"tags":[{"name":"b.tag1"}],"totalCount":1}`,
		"fields=unit,quality&text=TAG1&pageSize=1":        `{"tags":[{"quality":"Bad","unit":"bar"}],"totalCount":2}`,
		"quality=Good,Uncertain":                          `{"tags":[],"totalCount":0}`,
		"fields=name&quality=Bad,Good&sort=-quality&text": `{"tags":[{"name":"a.tag2"},{"name":"a.tag10"},{"name":"b.tag1"}],"totalCount":3}`,
	} {
		status, body := get(query)
		require.Equal(t, 200, status, "%s: %s", query, body)
		require.Equal(t, want, body, query)
	}
	for query, field := range map[string]string{
		"quality=good": "quality", "quality=Bad,": "quality", "sort=unit": "sort", "sort=--name": "sort", "fields=value": "fields",
		"driverId=a&driverFilter=b": "driverId",
	} {
		status, body := get(query)
		require.Equal(t, 400, status, query)
		require.Contains(t, body, `"field":"`+field+`"`, query)
	}
}
