package server_test

import (
	"bufio"
	"context"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/engine"
	"github.com/otkit/otkit/predictive"
)

const predictivePath = "/api/v1.0/predictive-maintenance"

// stuckHistory is a store of samples that does not answer.
type stuckHistory chan string

// Samples implements predictive.History.
func (h stuckHistory) Samples(ctx context.Context, tag string, _, _ time.Time) iter.Seq2[predictive.Sample, error] {
	return func(yield func(predictive.Sample, error) bool) {
		select {
		case h <- tag:
		default:
		}
		<-ctx.Done()
		yield(predictive.Sample{}, ctx.Err())
	}
}

// withFailures gives the engine a pump that has failed 20 times, and a history.
func withFailures(t testing.TB, history predictive.History) func(*engine.Options) {
	records := new(predictive.MemoryRecords)
	for i := range 20 {
		require.NoError(t, records.AddFailures(t.Context(), []predictive.Failure{{ID: fmt.Sprint(i), EquipmentID: "pump", Component: "Seal",
			Source: predictive.SourceManual, Start: time.Now().Add(time.Duration(i-30) * 100 * time.Hour)}}))
	}
	return func(o *engine.Options) {
		o.Predictive.History, o.Predictive.Records = history, records
		o.Predictive.Inventory = predictive.DriverInventory(func(context.Context) ([]predictive.DriverTag, error) {
			return []predictive.DriverTag{{ID: "pump.flow", DriverID: "pump"}}, nil
		})
	}
}

func TestAStoppingServerAnswersWhoWaitsForATraining(t *testing.T) {
	t.Parallel()
	history := make(stuckHistory, 1)
	p := start(t, withFailures(t, history))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+predictivePath+"/jobs/stream?throttleMs=0", nil)
	require.NoError(t, err)
	stream, err := p.client.Do(r)
	require.NoError(t, err)
	defer func() { _ = stream.Body.Close() }()
	require.Equal(t, "text/event-stream", stream.Header.Get("Content-Type"))
	answered := make(chan answer, 1)
	wait := p.request(t.Context(), nobody, http.MethodPost, predictivePath+"/retrain/RUL", nil)
	go func() { answered <- p.do(wait) }()
	<-history
	began := time.Now()
	require.NoError(t, p.Close(context.Background()))
	require.Less(t, time.Since(began), patience)
	requireProblem(t, <-answered, 503, "SERVER_STOPPING")
	running := false
	lines := bufio.NewScanner(stream.Body)
	for lines.Scan() {
		running = running || strings.Contains(lines.Text(), `"state":"Running"`)
	}
	require.NoError(t, lines.Err(), "the stream ends cleanly")
	require.True(t, running)
}

func TestRecordsOfMaintenanceAreAudited(t *testing.T) {
	t.Parallel()
	p := start(t)
	file := func(role accounts.Role, media, body string) answer {
		r := p.request(wrong(t.Context()), role, http.MethodPost, predictivePath+"/replacements", body)
		r.Header.Set("Content-Type", media)
		return p.do(r)
	}
	const rows = "equipmentId,component,at,reason\npump,Seal,2026-01-31,preventive\n"
	requireProblem(t, file(accounts.Viewer, "text/csv", rows), 403, "FORBIDDEN")
	requireProblem(t, file(accounts.Operator, "text/plain", rows), 415, "UNSUPPORTED_MEDIA_TYPE")
	requireProblem(t, file(accounts.Operator, "text/csv", strings.Repeat("x", 9<<20)), 413, "BODY_TOO_LARGE")
	require.JSONEq(t, `{"added":1,"skipped":0,"unknownEquipment":1,"warning":"no equipment is known by the equipmentId pump; GET equipments lists those that are"}`, string(file(accounts.Operator, "text/csv", rows).body))
	a := p.call(accounts.Operator, http.MethodPost, predictivePath+"/replacements", map[string]any{"id": "r-1", "equipmentId": "pump", "component": "Seal",
		"at": "2026-02-28T00:00:00Z", "reason": "failure"})
	require.Equal(t, 201, a.status, "%s", a.body)
	require.Equal(t, 204, p.call(accounts.Operator, http.MethodDelete, predictivePath+"/replacements/r-1", nil).status)
	list := p.call(accounts.Viewer, http.MethodGet, predictivePath+"/replacements?equipmentId=pump", nil)
	require.EqualValues(t, "1", list.object(t)["totalCount"])

	added := p.audit("?action=addReplacements&outcome=succeeded")
	require.Len(t, added, 2)
	require.Equal(t, []string{"pump"}, added[0].Objects)
	require.Contains(t, added[1].Detail, `"added":1`)
	require.Equal(t, []string{"r-1"}, p.audit("?action=deleteReplacement")[0].Objects)

	requireProblem(t, p.call(accounts.Operator, http.MethodDelete, predictivePath+"/models/RUL/v9", nil), 403, "FORBIDDEN")
	requireProblem(t, p.call(accounts.Admin, http.MethodDelete, predictivePath+"/models/RUL/v9", nil), 404, "MODEL_NOT_FOUND")
	require.Equal(t, []string{"RUL", "v9"}, p.audit("?action=deleteModel")[0].Objects)
}
