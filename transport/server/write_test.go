package server_test

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/engine"
	"github.com/otkit/otkit/tags"
)

// write queues a write and gives its id.
func (p *platform) write(address string, body map[string]any) string {
	p.t.Helper()
	a := p.call(accounts.Admin, http.MethodPost, "/api/v1/tags/line/"+url.PathEscape(address)+"/write", body)
	require.Equal(p.t, 200, a.status, "%s", a.body)
	got := a.object(p.t)
	require.Equal(p.t, []string{"message", "success", "writeId"}, keys(got))
	require.Equal(p.t, true, got["success"])
	require.Contains(p.t, got["message"], "queued")
	return got["writeId"].(string)
}

// outcome waits until a write is done and gives what the server tells of it.
func (p *platform) outcome(id string) map[string]any {
	p.t.Helper()
	var got map[string]any
	require.Eventually(p.t, func() bool {
		got = p.call(accounts.Viewer, http.MethodGet, "/api/v1/tags/writes/"+id, nil).object(p.t)
		return got["state"] != "Queued"
	}, patience, time.Millisecond)
	return got
}

// Who loses the answer finds the outcome by the id that it has chosen, and does not write twice by sending it again.
func TestAWriteHasTheIDThatItsSenderHasChosen(t *testing.T) {
	t.Parallel()
	p := start(t)
	const id = "0f8fad5b-d9cb-469f-a165-70867728950e"
	body := map[string]any{"value": "42.5", "writeId": id}
	require.Equal(t, id, p.write("level", body))
	require.Equal(t, "Written", p.outcome(id)["state"])
	const path = "/api/v1/tags/line/level/write"
	requireProblem(t, p.call(accounts.Admin, http.MethodPost, path, body), 409, "WRITE_EXISTS")
	require.Len(t, p.line.writes(), 1)
	for _, bad := range []string{"x", strings.ToUpper(id), "{" + id + "}"} {
		requireProblem(t, p.call(accounts.Admin, http.MethodPost, path, map[string]any{"value": "1", "writeId": bad}), 400, "INVALID_REQUEST")
	}
}

func TestAWriteIsQueuedAndItsOutcomeCanBeRead(t *testing.T) {
	t.Parallel()
	p := start(t)
	got := p.outcome(p.write("level", map[string]any{"value": "42.5"}))
	requireTime(t, got["queuedAt"])
	requireTime(t, got["completedAt"])
	delete(got, "queuedAt")
	delete(got, "completedAt")
	id := got["writeId"]
	require.Equal(t, `{"address":"level","driverId":"line","requestedBy":"admin","state":"Written","tagName":"line.level","value":{"doubleValue":42.5},"writeId":"`+id.(string)+`"}`, jsonText(t, got))
	require.Equal(t, []tags.WriteItem{{Point: tags.Point{Address: "level", Type: tags.Float}, Value: tags.FloatValue(42.5)}}, p.line.writes())

	require.Equal(t, "Confirmed", p.outcome(p.write("level", map[string]any{"value": "43", "confirm": true}))["state"])
	p.line.change(func() { p.line.deaf["deaf"] = true })
	unconfirmed := p.outcome(p.write("deaf", map[string]any{"value": "2", "confirm": true}))
	require.Equal(t, "Unconfirmed", unconfirmed["state"])
	require.NotEmpty(t, unconfirmed["error"])
	p.line.change(func() { p.line.refused["note"] = errors.New("the device is locked") })
	refused := p.outcome(p.write("note", map[string]any{"value": "x"}))
	require.Equal(t, "Failed", refused["state"])
	require.Equal(t, "the device is locked", refused["error"])

	requireProblem(t, p.call(accounts.Viewer, http.MethodGet, "/api/v1/tags/writes/absent", nil), 404, "WRITE_NOT_FOUND")
}

func TestWritesAreListed(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.line.change(func() { p.line.refused["note"] = errors.New("the device is locked") })
	level, note := p.outcome(p.write("level", map[string]any{"value": "42.5"})), p.outcome(p.write("note", map[string]any{"value": "x"}))
	count := p.outcome(p.write("count", map[string]any{"value": "7", "confirm": true}))
	list := func(query string) map[string]any {
		t.Helper()
		a := p.call(accounts.Viewer, http.MethodGet, "/api/v1/tags/writes?"+query, nil)
		require.Equal(t, 200, a.status, "%s: %s", query, a.body)
		require.Equal(t, []string{"totalCount", "writes"}, keys(a.object(t)))
		return a.object(t)
	}
	require.Equal(t, []any{count, note, level}, list("")["writes"], "each as the single GET answers")
	queued := level["queuedAt"].(string)
	for query, want := range map[string][]any{
		"driverId=line": {count, note, level}, "driverId=away": {}, "driverId=nowhere": {},
		"tagName=line.note": {note}, "tagName=note": {}, "driverId=line&address=NOTE": {note},
		"requestedBy=admin": {count, note, level}, "requestedBy=viewer": {},
		"state=Failed": {note}, "state=Failed,Confirmed": {count, note}, "state=Queued": {},
		"start=" + queued + "&end=2100-01-01T00:00:00Z": {count, note, level}, "end=" + queued: {}, "start=2100-01-01T00:00:00Z": {},
		"driverId=line&tagName=line.note&requestedBy=admin&state=Failed": {note},
	} {
		got := list(query)
		require.Equal(t, want, got["writes"], query)
		require.Equal(t, jsonText(t, len(want)), jsonText(t, got["totalCount"]), query)
	}
	require.Equal(t, []any{note}, list("page=2&pageSize=1")["writes"])
	for _, beyond := range []string{"page=4&pageSize=1", "page=2", "page=9223372036854775807&pageSize=1000"} {
		got := list(beyond)
		require.Empty(t, got["writes"], beyond)
		require.Equal(t, "3", jsonText(t, got["totalCount"]), beyond)
	}
}

func TestListsOfWritesNameWhatIsWrong(t *testing.T) {
	t.Parallel()
	p := start(t)
	for query, want := range map[string]string{
		"state=Done":    "INVALID_REQUEST state must be of Queued, Written, Confirmed, Unconfirmed, Failed, Unknown",
		"state=Failed,": "INVALID_REQUEST state must be of Queued, Written, Confirmed, Unconfirmed, Failed, Unknown",
		"address=level": "INVALID_REQUEST address needs driverId",
		"page=0":        "INVALID_REQUEST page must be at least 1",
		"pageSize=0":    "INVALID_REQUEST pageSize must be at least 1",
		"pageSize=1001": "PAGE_SIZE_EXCEEDED pageSize must be at most 1000",
		"requestedBy=" + strings.Repeat("x", 1025):            "INVALID_REQUEST requestedBy must be at most 1024 bytes",
		"start=2026-01-02T00:00:00Z&end=2026-01-01T00:00:00Z": "INVALID_TIME_RANGE start must be before end",
		"start=2026-01-01T00:00:00Z&end=2026-01-01T00:00:00Z": "INVALID_TIME_RANGE start must be before end",
	} {
		code, rule, _ := strings.Cut(want, " ")
		field, message, _ := strings.Cut(rule, " ")
		body := requireProblem(t, p.callWrong(accounts.Viewer, http.MethodGet, "/api/v1/tags/writes?"+query, nil), 400, code)
		require.Equal(t, []any{map[string]any{"field": field, "message": message}}, body["errors"], query)
	}
	for _, query := range []string{"start=yesterday", "page=x"} {
		requireProblem(t, p.callWrong(accounts.Viewer, http.MethodGet, "/api/v1/tags/writes?"+query, nil), 400, "INVALID_REQUEST")
	}
}

func TestAWriteIsWaitedFor(t *testing.T) {
	t.Parallel()
	p := start(t)
	a := p.call(accounts.Admin, http.MethodPost, "/api/v1/tags/line/level/write?wait=30", map[string]any{"value": "43", "confirm": true})
	got := a.object(t)
	write := got["write"].(map[string]any)
	require.Equal(t, "Confirmed", write["state"])
	require.Equal(t, got["writeId"], write["writeId"])
	require.Equal(t, write, p.call(accounts.Viewer, http.MethodGet, "/api/v1/tags/writes/"+got["writeId"].(string)+"?wait=30", nil).object(t))
	for _, wait := range []string{"-1", "31", "x"} {
		before := len(p.line.writes())
		requireProblem(t, p.callWrong(accounts.Admin, http.MethodPost, "/api/v1/tags/line/level/write?wait="+wait, map[string]any{"value": "1"}), 400, "INVALID_REQUEST")
		require.Len(t, p.line.writes(), before)
		requireProblem(t, p.callWrong(accounts.Viewer, http.MethodGet, "/api/v1/tags/writes/x?wait="+wait, nil), 400, "INVALID_REQUEST")
	}
}

func TestAWritePassesScalingBackwards(t *testing.T) {
	t.Parallel()
	p := start(t)
	require.Equal(t, "Confirmed", p.outcome(p.write("scaled", map[string]any{"value": "110", "confirm": true}))["state"])
	require.Equal(t, tags.IntValue(200), mustConvert(t, p.line.writes()[0].Value))
}

func mustConvert(t *testing.T, v tags.Value) tags.Value {
	whole, err := v.Convert(tags.Int)
	require.NoError(t, err)
	return whole
}

func TestWritesReadTheTextByTheTagsType(t *testing.T) {
	t.Parallel()
	p := start(t)
	for _, c := range []struct {
		address, value string
		want           tags.Value // zero when it is refused
	}{
		{"flag", "true", tags.BoolValue(true)}, {"flag", "0", tags.BoolValue(false)}, {"flag", "yes", tags.Value{}}, {"flag", "", tags.Value{}},
		{"count", "9223372036854775807", tags.IntValue(math.MaxInt64)}, {"count", "-9007199254740993", tags.IntValue(-9007199254740993)},
		{"count", "9223372036854775808", tags.Value{}}, {"count", "1.5", tags.Value{}}, {"count", "", tags.Value{}},
		{"level", "1e1", tags.FloatValue(10)}, {"level", "NaN", tags.Value{}}, {"level", "Infinity", tags.Value{}}, {"level", "-0.1", tags.Value{}}, {"level", "100.01", tags.Value{}},
		{"note", "", tags.StringValue("")}, {"note", "ü\n", tags.StringValue("ü\n")},
		{"image", "AP8=", tags.BytesValue([]byte{0, 255})}, {"image", "?", tags.Value{}},
	} {
		before := len(p.line.writes())
		if c.want.IsZero() {
			a := p.call(accounts.Admin, http.MethodPost, "/api/v1/tags/line/"+c.address+"/write", map[string]any{"value": c.value})
			body := requireProblem(t, a, 400, "INVALID_VALUE")
			require.Equal(t, "line."+c.address, body["metadata"].(map[string]any)["tagName"])
			require.Len(t, p.line.writes(), before)
			continue
		}
		require.Equal(t, "Written", p.outcome(p.write(c.address, map[string]any{"value": c.value}))["state"])
		require.Equal(t, c.want, p.line.writes()[before].Value, c.value)
	}
}

func TestWritesAreRefusedWithTheCodesOfTheInterface(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.configure(map[string]any{"tagId": "ghost.x", "driverId": "ghost", "dataType": "Int", "accessMode": "ReadWrite"})
	for path, want := range map[string]struct {
		status   int
		code     string
		metadata string
	}{
		"nowhere/x":    {400, "INVALID_DRIVER", `{"driverId":"nowhere"}`},
		"ghost/x":      {400, "INVALID_DRIVER", `{"driverId":"ghost"}`},
		"line/absent":  {404, "TAG_NOT_FOUND", `{"tagName":"line.absent"}`},
		"line/nowhere": {403, "READ_ONLY_TAG", `{"tagName":"line.empty"}`}, // by its address
		"line/fixed":   {403, "READ_ONLY_TAG", `{"tagName":"line.fixed"}`},
		"away/valve":   {503, "DRIVER_OFFLINE", `{"driverId":"away","tagName":"away.valve"}`},
	} {
		body := requireProblem(t, p.call(accounts.Admin, http.MethodPost, "/api/v1/tags/"+path+"/write", map[string]any{"value": "1"}), want.status, want.code)
		require.JSONEq(t, want.metadata, jsonText(t, body["metadata"]), path)
	}
	require.Empty(t, p.line.writes())
}

func TestBatchWriteJudgesEachItemByItself(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.configure(map[string]any{"tagId": "ghost.x", "driverId": "ghost", "dataType": "Int", "accessMode": "ReadWrite"})
	items := []struct{ tag, value, code string }{
		{"line.count", `{"int64Value":9007199254740993}`, ""},
		{"line.count", `{"int64Value":"-9007199254740993"}`, ""},
		{"line.flag", `{"boolValue":false}`, ""},
		{"line.level", `{"doubleValue":1.5e1,"unknown":1}`, ""},
		{"line.level", `{"int64Value":16}`, ""},
		{"line.note", `{"stringValue":"x"}`, ""},
		{"line.image", `{"bytesValue":"AP8="}`, ""},
		{"line.level", `{"doubleValue":1,"int64Value":1}`, "INVALID_VALUE"},
		{"line.level", `{}`, "INVALID_VALUE"},
		{"line.level", `null`, "INVALID_VALUE"},
		{"line.level", `1`, "INVALID_VALUE"},
		{"line.level", `{"doubleValue":"NaN"}`, "INVALID_VALUE"},
		{"line.level", `{"doubleValue":1e999}`, "INVALID_VALUE"},
		{"line.level", `{"doubleValue":null}`, "INVALID_VALUE"},
		{"line.level", `{"doubleValue":101}`, "INVALID_VALUE"},
		{"line.count", `{"int64Value":9223372036854775808}`, "INVALID_VALUE"},
		{"line.count", `{"int64Value":1.5}`, "INVALID_VALUE"},
		{"line.image", `{"bytesValue":"?"}`, "INVALID_VALUE"},
		{"line.flag", `{"stringValue":"true"}`, "INVALID_VALUE"},
		{"line.fixed", `{"doubleValue":1}`, "READ_ONLY_TAG"},
		{"line.absent", `{"doubleValue":1}`, "TAG_NOT_FOUND"},
		{"ghost.x", `{"int64Value":1}`, "INVALID_DRIVER"},
		{"away.valve", `{"boolValue":true}`, "DRIVER_OFFLINE"},
	}
	var writes []string
	want := map[string]int{}
	for _, item := range items {
		writes = append(writes, `{"tagName":"`+item.tag+`","value":`+item.value+`}`)
		if item.code != "" {
			want[item.tag+" "+item.code]++
		}
	}
	a := p.callWrong(accounts.Admin, http.MethodPost, "/api/v1/tags:batchWrite", `{"writes":[`+strings.Join(writes, ",")+`]}`)
	require.Equal(t, 200, a.status, "%s", a.body)
	var got struct {
		SuccessCount int
		Errors       []struct {
			Code, Message string
			Metadata      map[string]string
		}
		Writes []struct{ TagName, WriteID string }
	}
	a.into(t, &got)
	require.Equal(t, []string{"errors", "successCount", "writes"}, keys(a.object(t)))
	require.Equal(t, 7, got.SuccessCount)
	found := map[string]int{}
	for _, e := range got.Errors {
		require.NotEmpty(t, e.Message)
		found[e.Metadata["tagName"]+" "+e.Code]++
	}
	require.Equal(t, want, found)
	require.Len(t, got.Writes, 7)
	for i, w := range got.Writes {
		require.Equal(t, items[i].tag, w.TagName)
		require.Equal(t, "Written", p.outcome(w.WriteID)["state"])
	}
	require.Equal(t, tags.IntValue(9007199254740993), p.line.writes()[0].Value)
	require.Equal(t, tags.IntValue(-9007199254740993), p.line.writes()[1].Value)
}

func TestBatchWriteAsAWhole(t *testing.T) {
	t.Parallel()
	p := start(t)
	a := p.call(accounts.Admin, http.MethodPost, "/api/v1/tags:batchWrite", `{"writes":[]}`)
	require.Equal(t, 200, a.status)
	require.JSONEq(t, `{"successCount":0,"errors":[],"writes":[]}`, string(a.body))

	many := `{"writes":[` + strings.Repeat(`{"tagName":"line.flag","value":{"boolValue":true}},`, 500) + `{"tagName":"line.flag","value":{"boolValue":true}}]}`
	requireProblem(t, p.callWrong(accounts.Admin, http.MethodPost, "/api/v1/tags:batchWrite", many), 400, "BATCH_SIZE_EXCEEDED")
	require.Empty(t, p.line.writes())

	body := requireProblem(t, p.callWrong(accounts.Admin, http.MethodPost, "/api/v1/tags:batchWrite", `{"writes":[{"tagName":"line.flag","value":{"boolValue":true}},{"value":{"boolValue":true}}]}`), 400, "INVALID_REQUEST")
	require.JSONEq(t, `[{"field":"writes[1].tagName","message":"is required"}]`, jsonText(t, body["errors"]))
	require.Empty(t, p.line.writes())
}

func TestAFullQueueAndALogThatFails(t *testing.T) {
	t.Parallel()
	log := &brokenLog{WriteLog: tags.NewMemoryWriteLog(100)}
	p := start(t, func(o *engine.Options) {
		o.Tags.Drivers[0].Options.MaxWrites = 2
		o.Tags.Writes = log
	})
	p.line.change(func() { p.line.hold = make(chan struct{}) })
	p.write("flag", map[string]any{"value": "true"})
	<-p.line.writing
	last := p.write("flag", map[string]any{"value": "false"})
	a := p.call(accounts.Admin, http.MethodPost, "/api/v1/tags/line/flag/write", map[string]any{"value": "true"})
	requireProblem(t, a, 503, "WRITE_QUEUE_FULL")
	require.Equal(t, "Queued", p.call(accounts.Viewer, http.MethodGet, "/api/v1/tags/writes/"+last, nil).object(t)["state"])
	p.line.change(func() { close(p.line.hold); p.line.hold = nil })
	require.Equal(t, "Written", p.outcome(last)["state"])

	log.broken.Store(true)
	a = p.call(accounts.Admin, http.MethodPost, "/api/v1/tags/line/flag/write", map[string]any{"value": "true"})
	body := requireProblem(t, a, 500, "INTERNAL_ERROR")
	require.Len(t, body["traceId"], 32)
	require.NotContains(t, string(a.body), "disk")
	log.broken.Store(false)
}

// held queues a write that its device holds until release is called.
func (p *platform) held() (id string, release func()) {
	p.t.Helper()
	hold := make(chan struct{})
	p.line.change(func() { p.line.hold = hold })
	id = p.write("level", map[string]any{"value": "43"})
	<-p.line.writing
	return id, sync.OnceFunc(func() { close(hold) })
}

// awaited asks for the outcome of a write, and returns where the state that is answered comes.
func (p *platform) awaited(id string) <-chan any {
	p.t.Helper()
	state := make(chan any, 1)
	r := p.request(p.t.Context(), accounts.Viewer, http.MethodGet, "/api/v1/tags/writes/"+id+"?wait=30", nil)
	go func() {
		var w struct{ State string }
		if a, err := p.client.Do(r); err == nil {
			_ = json.NewDecoder(a.Body).Decode(&w)
			_ = a.Body.Close()
		}
		state <- w.State
	}()
	return state
}

// patiently lets a device hold a write for as long as a test takes.
func patiently(o *engine.Options) { o.Tags.Drivers[0].Options.Timeout = patience }

func TestACallerWaitsForSoManyOutcomes(t *testing.T) {
	t.Parallel()
	p := start(t, patiently)
	id, release := p.held()
	defer release()
	states := make(chan any)
	const calls = 101
	for range calls {
		go func(one <-chan any) { states <- <-one }(p.awaited(id))
	}
	require.Equal(t, "Queued", <-states, "one more than may wait is answered while the others wait")
	release()
	for range calls - 1 {
		require.Equal(t, "Written", <-states)
	}
	require.Equal(t, "Written", <-p.awaited(id), "who no longer waits leaves room")
}

func TestAStopWaitsForNoOutcome(t *testing.T) {
	t.Parallel()
	p := start(t, patiently)
	id, release := p.held()
	defer release()
	begun := time.Now()
	state := p.awaited(id)
	require.Equal(t, 200, p.call(accounts.Viewer, http.MethodGet, "/api/v1/tags/writes/"+id+"?wait=1", nil).status) // a second later
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		p.halt()
	}()
	require.Equal(t, "Queued", <-state)
	require.Less(t, time.Since(begun), 25*time.Second, "it was to wait for 30 s")
	release()
	<-closed
}
