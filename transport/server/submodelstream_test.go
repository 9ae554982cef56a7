package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/engine"
	"github.com/otkit/otkit/tags"
)

// liveProperty returns the body of a Property that has the value of a tag.
func liveProperty(idShort, valueType, tag string) object {
	e := property(idShort, valueType, "0")
	e["qualifiers"] = []any{object{"type": repository.LiveQualifier, "valueType": "xs:string", "value": tag}}
	return e
}

// submodelEvents is an open stream of the live values of a submodel.
type submodelEvents struct {
	t     testing.TB
	lines *bufio.Reader
	stop  context.CancelFunc
}

// submodelChange is an event of it.
type submodelChange struct {
	ETag     string
	Complete bool
	Values   []struct {
		Path, TagName, Quality, QualityReason string
		Value                                 *string
		Timestamp                             time.Time
	}
}

func (p *platform) streamSubmodel(id, query string) *submodelEvents {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	resp, err := p.client.Do(p.request(ctx, accounts.Viewer, http.MethodGet, submodels+"/"+pathOf(id)+"/values/stream"+query, nil))
	require.NoError(p.t, err)
	require.Equal(p.t, 200, resp.StatusCode)
	require.Equal(p.t, "text/event-stream", resp.Header.Get("Content-Type"))
	require.Equal(p.t, "no-store", resp.Header.Get("Cache-Control"))
	return &submodelEvents{p.t, bufio.NewReader(resp.Body), func() {
		cancel()
		_ = resp.Body.Close()
	}}
}

func (s *submodelEvents) read() (got submodelChange, err error) {
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			return got, err
		}
		if after, ok := strings.CutPrefix(line, "event: "); ok {
			require.Equal(s.t, "change\n", after)
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		c, err := theContract()
		require.NoError(s.t, err)
		require.NoError(s.t, c.Schema("SubmodelValues").VisitJSON(decoded(s.t, []byte(data))), data)
		return got, json.Unmarshal([]byte(data), &got)
	}
}

func (s *submodelEvents) next() submodelChange {
	s.t.Helper()
	got, err := s.read()
	require.NoError(s.t, err)
	return got
}

func TestAStreamOfASubmodelHasItsLiveValues(t *testing.T) {
	t.Parallel()
	p := start(t)
	id := "urn:a/submodels#1%2F"
	p.create(submodels, submodelBody(id, "M", liveProperty("level", "xs:double", "line.level"), liveProperty("count", "xs:long", "line.count"),
		property("plain", "xs:int", "5"), liveProperty("gone", "xs:double", "line.gone"), liveProperty("late", "xs:long", "late.one")))
	s := p.streamSubmodel(id, "?throttleMs=0")
	defer s.stop()
	first := s.next()
	require.True(t, first.Complete)
	require.Equal(t, `"1"`, first.ETag)
	require.Len(t, first.Values, 4)
	level := first.Values[0]
	require.Equal(t, []string{"level", "line.level", "21.5", "Good", ""}, []string{level.Path, level.TagName, *level.Value, level.Quality, level.QualityReason})
	require.WithinDuration(t, time.Now(), level.Timestamp, time.Minute)
	require.Equal(t, "0", *first.Values[2].Value, "of no tag, the stored value")
	require.Empty(t, first.Values[2].Quality)
	require.Zero(t, first.Values[2].Timestamp)

	p.line.set("level", tags.FloatValue(33.5))
	changed := s.next()
	require.False(t, changed.Complete)
	require.Len(t, changed.Values, 1, "only what changed")
	require.Equal(t, "level", changed.Values[0].Path)
	require.Equal(t, "33.5", *changed.Values[0].Value)

	p.configure(map[string]any{"tagId": "late.one", "driverId": "line", "address": "count", "dataType": "Int"})
	for c := s.next(); c.Values[0].Value == nil || *c.Values[0].Value != "9223372036854775806"; c = s.next() {
		require.Equal(t, "late", c.Values[0].Path, "a tag may come later")
	}
	require.Equal(t, 204, p.call(accounts.Admin, http.MethodPut, submodels+"/"+pathOf(id)+"/submodel-elements/plain/value", "6").status)
	again := s.next()
	require.True(t, again.Complete)
	require.Equal(t, `"2"`, again.ETag)
	require.Len(t, again.Values, 4)
	require.Equal(t, 204, p.call(accounts.Admin, http.MethodDelete, submodels+"/"+pathOf(id), nil).status)
	_, err := s.read()
	require.Error(t, err, "the submodel is gone")
}

func TestAStreamOfASubmodelIsThrottled(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.create(submodels, submodelBody("m", "M", liveProperty("count", "xs:long", "line.count")))
	const throttle = 300 * time.Millisecond
	s := p.streamSubmodel("m", "?throttleMs=300")
	defer s.stop()
	s.next()
	began := time.Now()
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		for i := int64(0); ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
			p.line.set("count", tags.IntValue(i))
		}
	}()
	const events = 4
	for range events {
		require.Len(t, s.next().Values, 1)
	}
	require.GreaterOrEqual(t, time.Since(began), (events-1)*throttle-50*time.Millisecond)
}

func TestStreamsOfSubmodelsAreRefusedCountedAndEnd(t *testing.T) {
	t.Parallel()
	p := start(t, func(o *engine.Options) { o.Server.MaxStreams = 1 })
	p.create(submodels, submodelBody("m", "M"))
	path := submodels + "/m/values/stream"
	requireAASError(t, p.callWrong(accounts.Viewer, http.MethodGet, submodels+"/none/values/stream", nil), 404, "SUBMODEL_NOT_FOUND")
	for _, query := range []string{"?throttleMs=-1", "?throttleMs=3600001", "?throttleMs=x"} {
		require.Equal(t, 400, p.callWrong(accounts.Viewer, http.MethodGet, path+query, nil).status, query)
	}
	require.Equal(t, 401, p.callWrong(nobody, http.MethodGet, path, nil).status)
	require.Equal(t, 401, p.callWrong(nobody, http.MethodHead, path+"?access_token=x", nil).status)
	require.Equal(t, 200, p.callWrong(nobody, http.MethodHead, path+"?access_token="+p.token(accounts.Viewer), nil).status)
	s := p.streamSubmodel("m", "")
	defer s.stop()
	require.Empty(t, s.next().Values, "there are no live values")
	requireAASError(t, p.call(accounts.Viewer, http.MethodGet, path, nil), 429, "TOO_MANY_STREAMS")
	require.Equal(t, 204, p.call(accounts.Viewer, http.MethodPost, "/api/v1/auth/logout", nil).status)
	_, err := s.read()
	require.Error(t, err, "the session has ended")
}

// The stock client gets the live values of a submodel from the hub of the console.
func TestTheConsoleHubHasSubmodels(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.create(submodels, submodelBody("m", "M", liveProperty("level", "xs:double", "line.level"), liveProperty("count", "xs:long", "line.count")))
	calls := [][]any{{"Submodel", "none", 50}, {"Submodel", "m", 50}}
	for _, protocol := range []string{"json", "messagepack"} {
		c := p.listenIn(protocol, "/hubs/console", "WebSockets", p.token(accounts.Viewer), calls...)
		c.await("started")
		require.Contains(t, c.await("refused")[0], "SUBMODEL_NOT_FOUND")
		first := c.await("submodel", "answered")[0].(object)
		require.Equal(t, "m", first["id"])
		require.Equal(t, true, first["complete"])
		require.Len(t, first["values"], 2)
		p.line.set("level", tags.FloatValue(float64(len(protocol))))
		changed := c.await("submodel", "answered")[0].(object)
		require.Equal(t, false, changed["complete"])
		require.Len(t, changed["values"], 1)
		require.Equal(t, "level", changed["values"].([]any)[0].(object)["path"])
	}
}
