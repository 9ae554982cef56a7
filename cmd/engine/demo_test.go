package main_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/demo"
	"github.com/otkit/otkit/internal/realtest"
	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/openapi"
	"github.com/otkit/otkit/openapi/client"
	platformv1 "github.com/otkit/otkit/proto/platform/v1"
	"github.com/otkit/otkit/storage"
)

func TestDemoIsALivingPlant(t *testing.T) {
	t.Parallel()
	e := start(t, nil, "-demo", "-data", t.TempDir()+"/data")
	require.NotEmpty(t, e.firstPassword(), e.out)
	s := e.login("admin", e.firstPassword())

	list, err := s.ListTagsWithResponse(t.Context(), &client.ListTagsParams{DriverFilter: "sim"})
	require.NoError(t, err)
	require.NotNil(t, list.JSON200)
	found := map[string]client.Tag{}
	for _, tag := range list.JSON200.Tags {
		found[tag.Name] = tag
	}
	for name, want := range map[string]client.Tag{
		"sim.temperature": {DataType: client.Float, AccessMode: client.ReadOnly, Unit: "°C"},
		"sim.pressure":    {DataType: client.Float, AccessMode: client.ReadOnly, Unit: "bar"},
		"sim.counter":     {DataType: client.Int, AccessMode: client.ReadOnly, Unit: "pcs"},
		"sim.setpoint":    {DataType: client.Float, AccessMode: client.ReadWrite, Unit: "°C"},
		"sim.speed":       {DataType: client.Int, AccessMode: client.ReadWrite, Unit: "rpm"},
		"sim.running":     {DataType: client.Bool, AccessMode: client.ReadWrite},
		"sim.recipe":      {DataType: client.String, AccessMode: client.ReadWrite},
		"sim.snapshot":    {DataType: client.Bytes, AccessMode: client.ReadOnly},
	} {
		got := found[name]
		require.Equal(t, want, client.Tag{DataType: got.DataType, AccessMode: got.AccessMode, Unit: got.Unit}, name)
		s.good(name)
	}

	before := map[string]client.Tag{"sim.temperature": s.read("sim.temperature"), "sim.pressure": s.read("sim.pressure"), "sim.counter": s.read("sim.counter")}
	for name, old := range before {
		eventually(t, name+" does not move", func() bool { return s.read(name).CurrentValue != old.CurrentValue })
	}

	warm := s.number("sim.temperature")
	w := s.settled(s.write("sim", "setpoint", "90", true))
	require.Equal(t, client.Confirmed, w.State, w.Error)
	require.Equal(t, "admin", w.RequestedBy)
	eventually(t, "temperature does not follow the setpoint", func() bool { return s.number("sim.temperature") > warm+1 })

	now := time.Now()
	plot := s.history("sim.temperature", now.AddDate(0, 0, -31), now, 1000)
	require.Greater(t, len(plot), 500)
	require.LessOrEqual(t, len(plot), 1000)
	require.Greater(t, plot[len(plot)-1].Timestamp.Sub(plot[0].Timestamp), 28*24*time.Hour)
	for i := 1; i < len(plot); i++ {
		require.True(t, plot[i].Timestamp.After(plot[i-1].Timestamp))
	}
}

func TestDemoStreamsToCurlAndGRPC(t *testing.T) {
	t.Parallel()
	curl := realtest.Need(t, "curl")
	e := start(t, known, "-demo", "-data", t.TempDir())
	s := e.admin()
	s.good("sim.pressure")

	// A browser's EventSource cannot set headers, so the token may also be in the query.
	cmd := exec.CommandContext(t.Context(), curl, "--silent", "--show-error", "--no-buffer", "--include",
		e.url+"/api/v1/tags/stream?patterns=sim.%25&throttleMs=50&access_token="+s.token)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan())
	require.Contains(t, lines.Text(), "200")
	seen := map[string]int{}
	for seen["sim.pressure"] < 3 && lines.Scan() {
		data, isData := strings.CutPrefix(lines.Text(), "data: ")
		if !isData {
			continue
		}
		var changes client.TagChanges
		require.NoError(t, json.Unmarshal([]byte(data), &changes))
		for _, c := range changes.Changes {
			seen[c.TagName]++
		}
	}
	require.NoError(t, lines.Err())
	require.GreaterOrEqual(t, seen["sim.pressure"], 3, "curl saw the value and two changes: %v", seen)
	require.Positive(t, seen["sim.recipe"], "a value that stands still is told at the start: %v", seen)

	stream, err := s.grpc.StreamTagChanges(s.rpc(), &platformv1.StreamTagChangesRequest{NamePatterns: []string{"sim.%"}})
	require.NoError(t, err)
	first, err := stream.Recv()
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(first.GetChanges()), 8)
	second, err := stream.Recv()
	require.NoError(t, err)
	require.NotEmpty(t, second.GetChanges())
}

func TestSecondStartKeepsAccountsAndHistory(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	e := start(t, nil, "-demo", "-data", data)
	first := e.firstPassword()
	s := e.login("admin", first)
	s.good("sim.pressure")
	to := time.Now()
	from := to.AddDate(0, 0, -31)
	eventually(t, "live values are not recorded", func() bool {
		return len(s.history("sim.counter", to, time.Now(), 10)) > 0 // nor the past that the demo made up
	})
	before := s.history("sim.pressure", from, to, 100_000)
	require.Greater(t, len(before), 8000)
	e.stop()

	e = start(t, nil, "-demo", "-data", data)
	require.NotContains(t, e.out.String(), "assword")
	require.Equal(t, http.StatusOK, e.with(s.token).status(), "a token from before the restart")
	s = e.login("admin", first)
	require.Equal(t, before, s.history("sim.pressure", from, to, 100_000), "the past is there once")
}

var (
	references = regexp.MustCompile(`(?:src|href)="([^"]+)"`)
	otherHosts = regexp.MustCompile(`(?:https?:)?//[a-zA-Z0-9-]+\.[a-zA-Z0-9.-]+`)
)

func TestDocsComeFromTheBinary(t *testing.T) {
	t.Parallel()
	e := start(t, nil, "-data", t.TempDir())
	get := func(path, encoding string) *http.Response {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, e.url+path, nil)
		require.NoError(t, err)
		request.Header.Set("Accept-Encoding", encoding)
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		t.Cleanup(func() { _ = answer.Body.Close() })
		require.Equal(t, http.StatusOK, answer.StatusCode, path)
		return answer
	}
	page := body(t, get("/docs", "identity").Body)
	require.Contains(t, page, "/openapi.yaml")
	require.Empty(t, otherHosts.FindAllString(page, -1), "the page asks nobody else")
	assets := references.FindAllStringSubmatch(page, -1)
	require.GreaterOrEqual(t, len(assets), 3)
	for _, asset := range assets {
		require.True(t, strings.HasPrefix(asset[1], "/docs/"), asset[1])
		plain := get(asset[1], "identity")
		require.Empty(t, plain.Header.Get("Content-Encoding"), asset[1])
		size, err := io.Copy(io.Discard, plain.Body)
		require.NoError(t, err)
		require.Positive(t, size, asset[1])
		if strings.HasSuffix(asset[1], ".js") {
			require.Contains(t, plain.Header.Get("Content-Type"), "javascript")
			require.Greater(t, size, int64(100_000))
		}
	}
	require.Equal(t, string(openapi.Document), body(t, get("/openapi.yaml", "identity").Body))
}

// An engine that is killed on its first start may leave the past alarms behind of which nobody is to be told.
func TestNobodyIsToldOfThePastOfAKilledDemo(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	began := time.Now()
	db := storetest.OpenSQLite(t, data, storage.Options{})
	plant, _, err := demo.NewDriver(nil)
	require.NoError(t, err)
	last, err := demo.FillAlarms(t.Context(), plant, db.Alarms(), began)
	require.NoError(t, err)
	require.Positive(t, last)
	require.NoError(t, db.Close())

	receiver := newHook(t, false)
	e := start(t, with(known, receiver.settings(), []string{"Alerting__Routes__Error=webhook", "Alerting__Routes__Warning=webhook"}), "-demo", "-data", data)
	e.told(alert("warning", "now", "Told after what came before"))
	eventually(t, "nobody is told", func() bool { return len(receiver.keys()["now"]) > 0 })
	for _, n := range receiver.got() {
		require.WithinRange(t, n.At, began, time.Now(), "%s: %s", n.Source, n.Message)
	}
}
