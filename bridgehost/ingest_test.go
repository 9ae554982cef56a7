package bridgehost_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/bridgehost"
	"github.com/otkit/otkit/transport/remote"
)

const ingestPath = "/api/bridge/ingest/line"

// item is a value for the tag temp.
func item(value any) map[string]any { return map[string]any{"name": "temp", "value": value} }

func TestDataIsTaken(t *testing.T) {
	r := startPassive(t)
	admin, viewer := r.people()
	free := r.call("POST", ingestPath, "", item(21.5)).is(202)
	require.Equal(t, map[string]any{"accepted": 1.0, "buffered": false}, free.object())
	r.bind()
	at := time.Now().Add(-time.Minute).UTC().Truncate(time.Millisecond)
	bound := r.call("POST", ingestPath, "", []any{
		map[string]any{"address": "T1", "value": 22, "timestamp": at.Format(time.RFC3339Nano), "quality": "Uncertain"},
		map[string]any{"name": "line.count", "value": 7},
		map[string]any{"name": "note", "value": "ok"},
	}).is(202)
	require.Equal(t, map[string]any{"accepted": 3.0, "buffered": true}, bound.object())
	require.GreaterOrEqual(t, r.call("GET", "/api/bridge/monitoring/buffer", viewer, nil).is(200).get("count"), 3.0, "202 means that it waits for the engine")
	tags := r.call("GET", "/api/bridge/monitoring/tags?search=TE", admin, nil).is(200)
	require.EqualValues(t, 2, tags.get("totalCount"), "temp and note have te in them")
	require.Contains(t, string(r.call("GET", "/api/bridge/monitoring/tags?search=count", viewer, nil).is(200).body), `"currentValue":{"int64Value":7}`)
	require.NotEmpty(t, r.call("GET", "/api/bridge/monitoring/status", viewer, nil).is(200).get("driver", "lastDataAt"))
	r.call("POST", ingestPath, admin, item(1)).is(202)
	r.call("POST", ingestPath, viewer, item(1)).is(202) // from this machine nobody needs more
}

func TestBadDataIsNamedAndNothingIsTaken(t *testing.T) {
	r := startPassive(t)
	viewer := func() string { _, v := r.people(); return v }()
	for body, fields := range map[string][]string{
		`{"name":"temp"}`:                                              {"value"},
		`{"value":1}`:                                                  {"name"},
		`{"name":"none","value":1}`:                                    {"name"},
		`{"name":"temp","address":"T1","value":1}`:                     {"address"},
		`{"name":"temp","value":"hot"}`:                                {"value"},
		`{"name":"temp","value":[1]}`:                                  {"value"},
		`{"name":"temp","value":1,"quality":"Fine"}`:                   {"quality"},
		`{"name":"temp","value":1,"timestamp":"yesterday"}`:            {"timestamp"},
		`{"name":"temp","value":1,"timestamp":7}`:                      {"timestamp"},
		`{"name":"temp","value":1,"timestamp":"1960-01-01T00:00:00Z"}`: {"timestamp"},
		`[{"name":"temp","value":1},{"name":"temp"},7,{"name":"count","value":1.5},{"address":"zz"}]`:               {"[2]"},
		`[{"name":"temp","value":1},{"name":"temp"},{"name":"count","value":1.5},{"address":"zz"}]`:                 {"[1].value", "[2].value", "[3].address"},
		`{"name":"temp","value":1,"timestmp":"2026-11-23T08:00:00Z"}`:                                               {"timestmp"},
		`{"name":"temp","value":1,"timestamp":"0001-01-01T00:00:00Z"}`:                                              {"timestamp"},
		`[{"name":"temp","value":1,"Unit":"C","at":7},{"name":7,"value":1,"quality":[]},{"name":"temp","VALUE":1}]`: {"[0].Unit", "[0].at", "[1].name", "[1].quality"},
		`[{"name":"count","value":99999999999999999999}]`:                                                           {"[0].value"},
	} {
		a := r.bad("POST", ingestPath, "", body).problem(400, "INVALID_ITEMS")
		var names []string
		for _, e := range a.get("errors").([]any) {
			names = append(names, e.(map[string]any)["field"].(string))
		}
		require.Equal(t, fields, names, body)
	}
	for _, body := range []string{`[]`, `7`, `"x"`, `null`, `[[]]`} {
		r.bad("POST", ingestPath, "", body).is(400)
	}
	for _, body := range []string{``, `{`, `[{]`, `{"name":"temp","value":1} x`} {
		r.bad("POST", ingestPath, "", body).problem(400, "INVALID_REQUEST")
	}
	require.NotContains(t, string(r.call("GET", "/api/bridge/monitoring/tags", viewer, nil).is(200).body), "Value\":1")
}

func TestWhatIsWrongWithDataIsSaid(t *testing.T) {
	r := startPassive(t)
	for body, want := range map[string]string{
		`{"name":"temp","value":1,"timestmp":"x"}`: "is not a member of an item; its members are address, name, value, timestamp and quality",
		`{"name":"temp","value":1,"timestamp":7}`:  "must be a string",
		`{"name":"temp","value":"hot"}`:            "must be a number, not a string",
		`{"name":"note","value":7}`:                "must be a string, not a number",
		`{"value":7}`:                              "is required unless there is an address",
	} {
		e := r.bad("POST", ingestPath, "", body).problem(400, "INVALID_ITEMS").get("errors").([]any)
		require.Equal(t, want, e[0].(map[string]any)["message"], body)
	}
	long := "[" + strings.Repeat(`{"name":"temp","value":1,"a":1,"b":2,"c":3},`, 99) + `{"name":"temp","value":1}]`
	require.Len(t, r.bad("POST", ingestPath, "", long).problem(400, "INVALID_ITEMS").get("errors"), 20, "an answer is bounded")
}

func TestDataForNoPassiveDriver(t *testing.T) {
	startPassive(t).call("POST", "/api/bridge/ingest/other", "", item(1)).problem(404, "DRIVER_NOT_FOUND")
	start(t).call("POST", "/api/bridge/ingest/press", "", item(1)).problem(404, "DRIVER_NOT_FOUND")
}

func TestBodiesOfData(t *testing.T) {
	r := startPassive(t, func(o *bridgehost.Options) { o.Server.MaxBodyBytes = 1024 })
	r.bad("POST", ingestPath, "", `{"name":"note","value":"`+strings.Repeat("x", 2000)+`"}`).problem(413, "BODY_TOO_LARGE")
	xml := r.request("POST", ingestPath, "", "<x/>")
	xml.Header.Set("Content-Type", "application/xml")
	a := r.from("127.0.0.1", xml)
	a.problem(415, "UNSUPPORTED_MEDIA_TYPE")
	r.bad("GET", ingestPath, "", nil).problem(405, "METHOD_NOT_ALLOWED")
	r.bad("POST", "/api/bridge/ingest", "", `{}`).problem(404, "NOT_FOUND")
}

func TestTheTokenOfData(t *testing.T) {
	r := startPassive(t, func(o *bridgehost.Options) { o.Ingest.Token = "device-token" })
	admin, viewer := r.people()
	r.call("POST", ingestPath, "", item(1)).problem(401, "UNAUTHORIZED")
	r.call("POST", ingestPath, "wrong", item(1)).problem(401, "UNAUTHORIZED")
	r.call("POST", ingestPath, viewer, item(1)).problem(403, "FORBIDDEN")
	r.call("POST", ingestPath, "device-token", item(1)).is(202)
	r.call("POST", ingestPath, admin, item(1)).is(202)
	r.from("192.0.2.7", r.request("POST", ingestPath, "device-token", item(1))).is(202)
	r.call("GET", "/api/bridge/license", "device-token", nil).is(401)
}

func TestWithoutATokenDataComesFromThisMachine(t *testing.T) {
	r := startPassive(t)
	r.from("127.0.0.1", r.request("POST", ingestPath, "", item(1))).is(202)
	r.from("192.0.2.7", r.request("POST", ingestPath, "", item(1))).problem(401, "UNAUTHORIZED")
	page := r.request("POST", ingestPath, "", item(1))
	page.Header.Set("Origin", "http://evil.example")
	r.from("127.0.0.1", page).is(403)
}

func TestSendersByTheirAddress(t *testing.T) {
	from, err := remote.ParseNetworks([]string{"192.0.2.0/24", "2001:db8::/32"})
	require.NoError(t, err)
	r := startPassive(t, func(o *bridgehost.Options) { o.Ingest.Token, o.Ingest.From = "device-token", from })
	send := func(address string, header ...string) answer {
		req := r.request("POST", ingestPath, "device-token", item(1))
		for i := 0; i < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		return r.from(address, req)
	}
	send("192.0.2.7").is(202)
	send("[2001:db8::7]").is(202)
	send("198.51.100.7").problem(403, "ADDRESS_NOT_ALLOWED")
	send("127.0.0.1").problem(403, "ADDRESS_NOT_ALLOWED")
	send("198.51.100.7", "X-Forwarded-For", "192.0.2.7").problem(403, "ADDRESS_NOT_ALLOWED")
	send("192.0.2.7", "X-Forwarded-For", "192.0.2.8").problem(403, "ADDRESS_NOT_ALLOWED")
}

func TestDataThatComesTooFast(t *testing.T) {
	now := time.Now()
	r := startPassive(t, func(o *bridgehost.Options) {
		o.Ingest.Token, o.Ingest.RatePerSecond = "device-token", 5
		o.Server.Now = func() time.Time { return now }
	})
	for range 50 { // strangers take nothing away
		r.call("POST", ingestPath, "wrong", item(1)).is(401)
	}
	for range 5 {
		r.call("POST", ingestPath, "device-token", item(1)).is(202)
	}
	a := r.call("POST", ingestPath, "device-token", item(1)).problem(429, "RATE_LIMITED")
	require.Equal(t, "1", a.header.Get("Retry-After"))
	now = now.Add(time.Second)
	for range 5 {
		r.call("POST", ingestPath, "device-token", item(1)).is(202)
	}
	r.call("POST", ingestPath, "device-token", item(1)).is(429)
}
