package tagsapi

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/openapi/client"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/history"
)

var midnight = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

// serveHistory serves tags plc.a (1, 2, 3 at minutes), plc.b (texts) and plc.on, at noon.
func serveHistory(t *testing.T, store history.Store) (string, *history.Memory) {
	t.Helper()
	engine, err := tags.New(tags.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, engine.Close(context.Background())) })
	for name, of := range map[string]tags.DataType{"plc.a": tags.Float, "plc.b": tags.String, "plc.on": tags.Bool, "plc.none": tags.Int} {
		require.NoError(t, engine.DefineTags(tags.Tag{Name: name, Driver: "plc", DataType: of}))
	}
	memory := history.NewMemory()
	at := func(tag string, minute int, v tags.Value) history.Sample {
		return history.Sample{Tag: tag, Time: midnight.Add(time.Duration(minute) * time.Minute), Value: v, Quality: tags.Good}
	}
	bad := at("plc.a", 150, tags.Value{})
	bad.Quality, bad.Reason = tags.Bad, tags.ReasonTimeout
	require.NoError(t, memory.Append(t.Context(), []history.Sample{
		at("plc.a", 0, tags.FloatValue(-1)), at("plc.a", 30, tags.FloatValue(2)), at("plc.a", 60, tags.FloatValue(4.5)), bad,
		at("plc.b", 0, tags.StringValue("=1+2")), at("plc.b", 60, tags.StringValue(`a,"b"`)),
		at("plc.on", 0, tags.BoolValue(true)), at("plc.on", 15, tags.BoolValue(false)),
		at("gone.c", 1, tags.IntValue(math.MaxInt64)),
	}))
	if store == nil {
		store = memory
	}
	api, err := New(engine, Options{History: store, Now: func() time.Time { return midnight.Add(12 * time.Hour) }})
	require.NoError(t, err)
	r := chi.NewRouter()
	api.Mount(r)
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	return server.URL + "/api/v1/history/", memory
}

func ask(t *testing.T, address, accept string) (*http.Response, string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	require.NoError(t, err)
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, answer.Body.Close())
	return answer, string(body), err
}

const range3h = "&start=2026-03-02T00:00:00Z&end=2026-03-02T03:00:00Z"

func TestAggregatesOfSeveralTags(t *testing.T) {
	base, _ := serveHistory(t, nil)
	answer, body, _ := ask(t, base+"aggregates?tag=plc.a&tag=plc.on&tag=gone.c&interval=1h&function=min&function=average&function=timeAverage&function=count"+
		"&function=last&function=durationGood&function=durationInState&fill=previous"+range3h, "")
	require.Equal(t, http.StatusOK, answer.StatusCode, body)
	require.Equal(t, "application/json", answer.Header.Get("Content-Type"))
	var got client.HistoryAggregates
	require.NoError(t, json.Unmarshal([]byte(body), &got))
	require.Len(t, got.Series, 3)
	a := got.Series[0].Intervals
	require.Len(t, a, 3)
	require.JSONEq(t, `{"start":"2026-03-02T00:00:00Z","end":"2026-03-02T01:00:00Z","quality":"Good","percentGood":100,"min":{"doubleValue":-1},"average":0.5,
		"timeAverage":0.5,"count":2,"last":{"doubleValue":2},"durationGood":3600,"durationInState":[]}`, object(t, body, 0, 0))
	require.JSONEq(t, `{"start":"2026-03-02T02:00:00Z","end":"2026-03-02T03:00:00Z","quality":"Uncertain","percentGood":50,"filled":true,"min":{"doubleValue":4.5},
		"average":4.5,"timeAverage":4.5,"count":0,"last":{"doubleValue":4.5},"durationGood":1800,"durationInState":[]}`, object(t, body, 0, 2))
	require.JSONEq(t, `{"start":"2026-03-02T00:00:00Z","end":"2026-03-02T01:00:00Z","quality":"Good","percentGood":100,"min":{"boolValue":false},"average":0.5,
		"timeAverage":0.25,"count":2,"last":{"boolValue":false},"durationGood":3600,
		"durationInState":[{"value":{"boolValue":true},"seconds":900},{"value":{"boolValue":false},"seconds":2700}]}`, object(t, body, 1, 0))
	require.Contains(t, object(t, body, 2, 0), `9223372036854775807`, "a tag that is not defined any more, with all digits")
}

// object returns one interval of an answer as it was sent.
func object(t *testing.T, body string, series, interval int) string {
	t.Helper()
	var raw struct {
		Series []struct{ Intervals []json.RawMessage }
	}
	require.NoError(t, json.Unmarshal([]byte(body), &raw))
	return string(raw.Series[series].Intervals[interval])
}

func TestAggregatesByDefault(t *testing.T) {
	base, _ := serveHistory(t, nil)
	_, body, _ := ask(t, base+"aggregates?tag=plc.none&interval=12h&timeZone=Europe/Berlin", "application/json, text/csv;q=0.5")
	require.JSONEq(t, `{"start":"2026-03-01T12:00:00Z","end":"2026-03-02T12:00:00Z","interval":"12h","timeZone":"Europe/Berlin","series":[{"tagName":"plc.none","intervals":[
		{"start":"2026-03-01T12:00:00Z","end":"2026-03-01T23:00:00Z","quality":"Bad","percentGood":0,"min":null,"max":null,"average":null,"count":0},
		{"start":"2026-03-01T23:00:00Z","end":"2026-03-02T11:00:00Z","quality":"Bad","percentGood":0,"min":null,"max":null,"average":null,"count":0},
		{"start":"2026-03-02T11:00:00Z","end":"2026-03-02T12:00:00Z","quality":"Bad","percentGood":0,"min":null,"max":null,"average":null,"count":0}]}]}`, body)
}

func TestHistoryAsCSV(t *testing.T) {
	base, _ := serveHistory(t, nil)
	for _, c := range []struct{ query, accept, want string }{
		{"aggregates?tag=plc.a&tag=plc.on&interval=90m&function=max&function=durationInState&timeZone=Europe/Berlin&format=csv" +
			"&start=2026-03-02T00:00:00Z&end=2026-03-02T01:00:00Z", "", `tag,start,end,quality,percentGood,filled,max,durationInState
plc.a,2026-03-02T01:00:00+01:00,2026-03-02T01:30:00+01:00,Good,100,false,-1,[]
plc.a,2026-03-02T01:30:00+01:00,2026-03-02T02:00:00+01:00,Good,100,false,2,[]
plc.on,2026-03-02T01:00:00+01:00,2026-03-02T01:30:00+01:00,Good,100,false,true,"[{""value"":{""boolValue"":true},""seconds"":900},{""value"":{""boolValue"":false},""seconds"":900}]"
plc.on,2026-03-02T01:30:00+01:00,2026-03-02T02:00:00+01:00,Good,100,false,,"[{""value"":{""boolValue"":false},""seconds"":1800}]"
`},
		{"aggregates?tag=plc.a&tag=plc.on&interval=1h&function=average&function=count&layout=wide" + range3h, "text/csv", `start,end,plc.a average,plc.a count,plc.on average,plc.on count
2026-03-02T00:00:00Z,2026-03-02T01:00:00Z,0.5,2,0.5,2
2026-03-02T01:00:00Z,2026-03-02T02:00:00Z,4.5,1,,0
2026-03-02T02:00:00Z,2026-03-02T03:00:00Z,,0,,0
`},
		{"export?tag=plc.a&tag=plc.b" + range3h, "", `tag,timestamp,value,quality,qualityReason
plc.a,2026-03-02T00:00:00Z,-1,Good,
plc.a,2026-03-02T00:30:00Z,2,Good,
plc.a,2026-03-02T01:00:00Z,4.5,Good,
plc.a,2026-03-02T02:30:00Z,,Bad,Timeout
plc.b,2026-03-02T00:00:00Z,'=1+2,Good,
plc.b,2026-03-02T01:00:00Z,"a,""b""",Good,
`},
		{"export?tag=plc.a&tag=plc.b&layout=wide" + range3h, "text/*", `timestamp,plc.a,plc.a quality,plc.b,plc.b quality
2026-03-02T00:00:00Z,-1,Good,'=1+2,Good
2026-03-02T00:30:00Z,2,Good,,
2026-03-02T01:00:00Z,4.5,Good,"a,""b""",Good
2026-03-02T02:30:00Z,,Bad,,
`},
	} {
		answer, body, _ := ask(t, base+c.query, c.accept)
		require.Equal(t, http.StatusOK, answer.StatusCode, body)
		require.Equal(t, "text/csv; charset=utf-8", answer.Header.Get("Content-Type"))
		require.Contains(t, answer.Header.Get("Content-Disposition"), ".csv")
		require.Equal(t, strings.ReplaceAll(c.want, "\n", "\r\n"), body)
	}
}

func TestHistoryOfSamplesAsJSON(t *testing.T) {
	base, _ := serveHistory(t, nil)
	_, body, _ := ask(t, base+"export?tag=plc.b&tag=plc.none&format=json"+range3h, "text/csv")
	require.JSONEq(t, `{"start":"2026-03-02T00:00:00Z","end":"2026-03-02T03:00:00Z","series":[
		{"tagName":"plc.b","points":[{"timestamp":"2026-03-02T00:00:00Z","value":{"stringValue":"=1+2"},"quality":"Good"},
			{"timestamp":"2026-03-02T01:00:00Z","value":{"stringValue":"a,\"b\""},"quality":"Good"}]},
		{"tagName":"plc.none","points":[]}]}`, body)
}

func TestHistoryThatIsRefused(t *testing.T) {
	base, _ := serveHistory(t, nil)
	for query, field := range map[string]string{
		"aggregates?interval=1h":                                               "tag",
		"aggregates?tag=plc.a":                                                 "interval",
		"aggregates?tag=plc.a&interval=1x":                                     "interval",
		"aggregates?tag=plc.a&interval=1mo":                                    "timeZone",
		"aggregates?tag=plc.a&interval=1ms":                                    "interval",
		"aggregates?tag=plc.a&tag=plc.a&interval=1h":                           "tag",
		"aggregates?tag=plc.a&interval=1h&timeZone=Mars/Olympus":               "timeZone",
		"aggregates?tag=plc.a&interval=1h&timeZone=Local":                      "timeZone",
		"aggregates?tag=plc.a&interval=1h&function=median":                     "function",
		"aggregates?tag=plc.a&interval=1h&function=min&function=min":           "function",
		"aggregates?tag=plc.a&interval=1h&fill=x":                              "fill",
		"aggregates?tag=plc.a&interval=1h&format=xml":                          "format",
		"aggregates?tag=plc.a&interval=1h&layout=wide":                         "layout",
		"aggregates?tag=plc.a&interval=1h&start=yesterday":                     "start",
		"export?tag=plc.a&layout=square":                                       "layout",
		"export?tag=plc.a" + strings.Repeat("&tag=x", 100):                     "tag",
		"export?tag=plc.a&start=2026-03-02T00:00:00Z&end=2026-03-01T00:00:00Z": "INVALID_TIME_RANGE",
	} {
		answer, body, _ := ask(t, base+query, "")
		require.Equal(t, http.StatusBadRequest, answer.StatusCode, query)
		require.Contains(t, body, `"`+field+`"`, query)
	}
	for _, query := range []string{"aggregates?interval=1h&tag=plc.a&tag=plc.nothing", "export?tag=plc.nothing"} {
		answer, body, _ := ask(t, base+query, "")
		require.Equal(t, http.StatusNotFound, answer.StatusCode)
		require.Contains(t, body, "plc.nothing")
	}
}

func TestHistorySinceEver(t *testing.T) {
	base, _ := serveHistory(t, nil)
	const ever = "&start=0001-01-01T00:00:00Z"
	answer, body, _ := ask(t, base+"export?tag=plc.on&end=2030-01-01T00:00:00Z"+ever, "")
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.Equal(t, 3, strings.Count(body, "\r\n"))
	answer, body, _ = ask(t, base+"aggregates?tag=plc.on&interval=1h"+ever, "")
	require.Equal(t, http.StatusBadRequest, answer.StatusCode)
	require.Contains(t, body, "at most 100 years")
	// An end of that kind, which the generated client sends for none, is none.
	answer, body, _ = ask(t, base+"aggregates?tag=plc.on&interval=1h&end=0001-01-01T00:00:00Z", "")
	require.Equal(t, http.StatusOK, answer.StatusCode, body)
}

// The cells of wide aggregates are gathered, and texts may be long.
func TestWideAggregatesAreBounded(t *testing.T) {
	base, store := serveHistory(t, nil)
	require.NoError(t, store.Append(t.Context(), []history.Sample{{Tag: "plc.b", Time: midnight, Value: tags.StringValue(strings.Repeat("x", 20_000)), Quality: tags.Good}}))
	query := base + "aggregates?tag=plc.a&tag=plc.b&fill=previous&function=last&format=csv&layout=wide&interval="
	answer, body, _ := ask(t, query+"1s"+range3h, "")
	require.Equal(t, http.StatusBadRequest, answer.StatusCode)
	require.Contains(t, body, `"layout"`)
	answer, body, err := ask(t, query+"10s"+range3h, "")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.Equal(t, 1+3*360, strings.Count(body, "\r\n"))
}

// breaking fails when so many samples were read, in however many ranges.
type breaking struct {
	*history.Memory
	left int
}

func (b *breaking) Range(_ context.Context, tag string, start, _ time.Time) iter.Seq2[history.Sample, error] {
	return func(yield func(history.Sample, error) bool) {
		for ; b.left > 0; b.left-- {
			start = start.Add(time.Millisecond)
			if !yield(history.Sample{Tag: tag, Time: start, Value: tags.IntValue(1), Quality: tags.Good}, nil) {
				return
			}
		}
		yield(history.Sample{}, errors.New("the disk is broken"))
	}
}

func TestHistoryThatBreaksDoesNotLookWhole(t *testing.T) {
	for _, query := range []string{"export?tag=plc.a", "export?tag=plc.a&tag=plc.b&layout=wide", "export?tag=plc.a&format=json"} {
		base, _ := serveHistory(t, &breaking{history.NewMemory(), 10})
		answer, _, _ := ask(t, base+query+range3h, "")
		require.Equal(t, http.StatusInternalServerError, answer.StatusCode)
		base, _ = serveHistory(t, &breaking{history.NewMemory(), 30_000})
		answer, _, err := ask(t, base+query+range3h, "")
		require.Equal(t, http.StatusOK, answer.StatusCode)
		require.ErrorContains(t, err, "unexpected EOF")
	}
}

func TestWideHistoryHasEverySample(t *testing.T) {
	base, store := serveHistory(t, nil)
	var batch []history.Sample
	for i := range 3*portion + 17 {
		for tag, step := range map[string]int{"plc.a": 3, "plc.none": 2} {
			batch = append(batch, history.Sample{Tag: tag, Time: midnight.Add(time.Hour).Add(time.Duration(i*step) * time.Millisecond), Value: tags.IntValue(int64(i)), Quality: tags.Good})
		}
	}
	require.NoError(t, store.Append(t.Context(), batch))
	_, body, _ := ask(t, base+"export?tag=plc.a&tag=plc.none&layout=wide&"+url.Values{"start": {"2026-03-02T01:00:00Z"}, "end": {"2026-03-02T02:00:00Z"}}.Encode(), "")
	rows, err := csv.NewReader(strings.NewReader(body)).ReadAll()
	require.NoError(t, err)
	next := [2]int{}
	for _, row := range rows[1:] {
		for i := range next {
			if row[1+2*i] != "" {
				require.Equal(t, fmt.Sprint(next[i]), row[1+2*i])
				next[i]++
			}
		}
	}
	require.Equal(t, [2]int{3*portion + 17, 3*portion + 17}, next)
}
