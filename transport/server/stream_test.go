package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/engine"
	"github.com/otkit/otkit/tags"
)

// change is one change as the event stream tells it.
type change struct {
	TagName   string
	NewValue  map[string]any
	Timestamp time.Time
	Quality   string
}

// events is an open event stream.
type events struct {
	t     testing.TB
	resp  *http.Response
	lines *bufio.Reader
	stop  context.CancelFunc
}

func (p *platform) stream(query string) *events {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	resp, err := p.client.Do(p.request(wrong(ctx), accounts.Viewer, http.MethodGet, "/api/v1/tags/stream"+query, nil))
	require.NoError(p.t, err)
	require.Equal(p.t, 200, resp.StatusCode, query)
	require.Equal(p.t, "text/event-stream", resp.Header.Get("Content-Type"))
	require.Equal(p.t, "no-store", resp.Header.Get("Cache-Control"))
	return &events{p.t, resp, bufio.NewReader(resp.Body), func() {
		cancel()
		_ = resp.Body.Close()
	}}
}

// next returns the changes of the next event.
func (s *events) next() []change {
	s.t.Helper()
	changes, err := s.read()
	require.NoError(s.t, err)
	return changes
}

func (s *events) read() ([]change, error) {
	var name string
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			return nil, err
		}
		line = strings.TrimSuffix(line, "\n")
		if after, ok := strings.CutPrefix(line, "event: "); ok {
			name = after
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		require.Equal(s.t, "change", name)
		c, err := theContract()
		require.NoError(s.t, err)
		schema := c.Schema("TagChanges")
		require.NoError(s.t, schema.VisitJSON(decoded(s.t, []byte(data))), data)
		var got struct{ Changes []change }
		return got.Changes, decodeNumbers(data, &got)
	}
}

func decodeNumbers(text string, v any) error {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	return dec.Decode(v)
}

func TestAStreamBeginsWithTheCurrentValues(t *testing.T) {
	t.Parallel()
	p := start(t)
	s := p.stream("?tagNames=line.count,line.empty,line.flag&throttleMs=3600000") // they come outside the throttle
	defer s.stop()
	first := s.next()
	require.Len(t, first, 3)
	require.Equal(t, "line.count", first[0].TagName)
	require.Equal(t, json.Number("9223372036854775806"), first[0].NewValue["int64Value"])
	require.Equal(t, "Good", first[0].Quality)
	require.WithinDuration(t, time.Now(), first[0].Timestamp, time.Minute)
	require.Nil(t, first[1].NewValue)
	require.Equal(t, "Bad", first[1].Quality)
}

func TestAStreamGivesTheNewestOfEachTagAtMostOncePerThrottle(t *testing.T) {
	t.Parallel()
	p := start(t)
	const throttle = 300 * time.Millisecond
	s := p.stream(fmt.Sprintf("?tagNames=line.count,line.level&throttleMs=%d", throttle.Milliseconds()))
	defer s.stop()
	s.next()
	began := time.Now()
	p.line.set("count", tags.IntValue(1))
	s.next() // the first change need not wait
	for i := range 50 {
		p.line.set("count", tags.IntValue(int64(i)))
		p.line.set("level", tags.FloatValue(float64(i)))
	}
	last := map[string]any{}
	for counts := 0; last["line.count"] != json.Number("49") || last["line.level"] != json.Number("49"); {
		batch := s.next()
		require.LessOrEqual(t, len(batch), 2, "only the newest of each")
		for _, c := range batch {
			if last[c.TagName] = c.NewValue["doubleValue"]; c.TagName == "line.count" {
				last[c.TagName] = c.NewValue["int64Value"]
				counts++
			}
		}
		require.LessOrEqual(t, time.Duration(counts)*throttle, time.Since(began))
	}
}

func TestAStreamWithoutThrottleAndWithDeadband(t *testing.T) {
	t.Parallel()
	p := start(t)
	s := p.stream("?tagNames=line.level&throttleMs=0&deadband=5")
	defer s.stop()
	require.Equal(t, json.Number("21.5"), s.next()[0].NewValue["doubleValue"])
	for _, v := range []float64{22, 26.4, 26.5, 23, 31.5} { // 26.5 and 31.5 are five away from what was sent
		p.line.set("level", tags.FloatValue(v))
		require.Eventually(t, func() bool {
			got, err := p.Tags().Read("line.level")
			return err == nil && got.Sample.Value == tags.FloatValue(v)
		}, patience, time.Millisecond)
		if v == 26.5 || v == 31.5 {
			require.Equal(t, json.Number(fmt.Sprint(v)), s.next()[0].NewValue["doubleValue"])
		}
	}
}

func TestATagThatAppearsLaterJoinsByItsPattern(t *testing.T) {
	t.Parallel()
	p := start(t)
	s := p.stream("?patterns=late.%25,line.flag&throttleMs=0")
	defer s.stop()
	require.Equal(t, "line.flag", s.next()[0].TagName)
	p.configure(map[string]any{"tagId": "late.one", "driverId": "line", "address": "count", "dataType": "Int"})
	require.Equal(t, "late.one", s.next()[0].TagName)
}

func TestStreamsRefuseBadRequests(t *testing.T) {
	t.Parallel()
	p := start(t)
	for query, want := range map[string]struct {
		status int
		code   string
	}{
		"":                                       {400, "INVALID_REQUEST"},
		"?tagNames=":                             {400, "INVALID_REQUEST"},
		"?tagNames=line.flag,absent.tag":         {404, "TAG_NOT_FOUND"},
		"?tagNames=line.flag&throttleMs=-1":      {400, "INVALID_REQUEST"},
		"?tagNames=line.flag&throttleMs=3600001": {400, "INVALID_REQUEST"},
		"?tagNames=line.flag&throttleMs=soon":    {400, "INVALID_REQUEST"},
		"?tagNames=line.flag&deadband=-1":        {400, "INVALID_REQUEST"},
		"?tagNames=line.flag&deadband=NaN":       {400, "INVALID_REQUEST"},
		"?patterns=%5C":                          {400, "INVALID_REQUEST"},
	} {
		body := requireProblem(t, p.callWrong(accounts.Viewer, http.MethodGet, "/api/v1/tags/stream"+query, nil), want.status, want.code)
		if want.status == 404 {
			require.Equal(t, map[string]any{"tagName": "absent.tag"}, body["metadata"])
		}
	}
}

func TestTheQueryTokenIsForTheStreamAlone(t *testing.T) {
	t.Parallel()
	p := start(t)
	token := p.token(accounts.Viewer)
	require.Equal(t, 200, p.callWrong(nobody, http.MethodHead, "/api/v1/tags/stream?tagNames=line.flag&access_token="+token, nil).status)
	require.Equal(t, 401, p.callWrong(nobody, http.MethodHead, "/api/v1/tags/stream?tagNames=line.flag&access_token=x", nil).status)
	for _, path := range []string{"/api/v1/tags", "/api/v1/tags/line.flag", "/api/v1/drivers"} {
		requireProblem(t, p.callWrong(nobody, http.MethodGet, path+"?access_token="+token, nil), 401, "UNAUTHORIZED")
	}
}

func TestAStreamEndsWithItsToken(t *testing.T) {
	t.Parallel()
	p := start(t, func(o *engine.Options) { o.Accounts.AccessTTL = 5 * time.Second })
	s := p.stream("?tagNames=line.flag")
	defer s.stop()
	s.next()
	_, err := s.read()
	require.ErrorIs(t, err, io.EOF)
}

func TestAStreamEndsWithItsSession(t *testing.T) {
	t.Parallel()
	p := start(t)
	s := p.stream("?tagNames=line.flag")
	defer s.stop()
	s.next()
	require.Equal(t, 204, p.call(accounts.Viewer, http.MethodPost, "/api/v1/auth/logout", nil).status)
	_, err := s.read()
	require.ErrorIs(t, err, io.EOF)
}

func TestASlowReaderHoldsUpNobody(t *testing.T) {
	t.Parallel()
	p := start(t)
	slow := p.stream("?tagNames=line.note&throttleMs=0") // and never read
	defer slow.stop()
	quick := p.stream("?tagNames=line.count&throttleMs=0")
	defer quick.stop()
	quick.next()
	large := strings.Repeat("x", 100_000)
	for i := range 200 { // far more than the connection's buffers hold
		p.line.set("note", tags.StringValue(fmt.Sprint(i, large)))
		p.line.set("count", tags.IntValue(int64(i)))
		for quick.next()[0].NewValue["int64Value"] != json.Number(fmt.Sprint(i)) {
		}
	}
}
