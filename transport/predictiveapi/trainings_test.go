package predictiveapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const patience = time.Minute

// trained waits until a training is held.
func (p *plant) waitUntilHeld() {
	p.t.Helper()
	require.Eventually(p.t, p.held.Load, patience, time.Millisecond)
}

func TestATrainingThatRunsIsShared(t *testing.T) {
	p := newPlant(t, options{failures: 8})
	p.hold = make(chan struct{})
	started := p.post("/jobs", `{"modelType":"rul"}`)
	j := started.json(202)
	require.Equal(t, "Running", j["state"])
	require.Nil(t, j["endedAt"])
	require.Equal(t, base+"/jobs/"+j["id"].(string), started.header.Get("Location"))
	p.waitUntilHeld()
	require.Equal(t, j["id"], p.post("/jobs", `{"modelType":"RUL"}`).json(202)["id"])

	const callers = 50
	p.entered.Store(0)
	answers := make([]answer, callers)
	var calls sync.WaitGroup
	for i := range callers {
		calls.Go(func() { answers[i] = p.post("/retrain/RUL", "") })
	}
	require.Eventually(t, func() bool { return p.entered.Load() >= callers }, patience, time.Millisecond)
	close(p.hold)
	calls.Wait()
	versions := map[any]bool{}
	for _, a := range answers {
		versions[a.json(200)["version"]] = true
	}
	require.Contains(t, versions, "v1")
	require.Less(t, len(versions), callers, "a caller that is late enough begins another training, which others share")
	var jobs []any
	require.NoError(t, json.Unmarshal([]byte(p.get("/jobs").body), &jobs))
	require.Len(t, jobs, len(versions))
	done := p.get("/jobs/" + j["id"].(string)).json(200)
	require.Equal(t, "Succeeded", done["state"])
	require.Equal(t, "v1", done["training"].(map[string]any)["version"])
	require.NotNil(t, done["endedAt"])
}

func TestATrainingIsCanceled(t *testing.T) {
	p := newPlant(t, options{failures: 8})
	p.hold = make(chan struct{})
	id := p.post("/jobs", `{"modelType":"RUL"}`).json(202)["id"].(string)
	p.waitUntilHeld()
	p.call(t.Context(), http.MethodDelete, "/jobs/"+id, "").json(200)
	require.Eventually(t, func() bool { return p.get("/jobs/" + id).json(200)["state"] == "Canceled" }, patience, time.Millisecond)
	require.Equal(t, "Canceled", p.call(t.Context(), http.MethodDelete, "/jobs/"+id, "").json(200)["state"], "it has ended")
	p.call(t.Context(), http.MethodDelete, "/jobs/none", "").refused(404, "JOB_NOT_FOUND")
}

func TestWhoeverWaitsIsAnsweredAtTheEnd(t *testing.T) {
	p := newPlant(t, options{failures: 8})
	p.hold = make(chan struct{})
	ended := make(chan answer, 1)
	go func() { ended <- p.post("/retrain/RUL", "") }()
	p.waitUntilHeld()
	p.api.EndStreams()
	(<-ended).refused(503, "SERVER_STOPPING")
	p.get("/training-set/RUL").refused(503, "SERVER_STOPPING")
	require.Contains(t, p.get("/jobs").body, "Running", "the training goes on until the service is closed")
}

func TestOnlySoManyCallersWait(t *testing.T) {
	p := newPlant(t, options{failures: 8})
	p.hold = make(chan struct{})
	var calls sync.WaitGroup
	refused := make(chan answer, 220)
	for range 220 {
		calls.Go(func() {
			if a := p.post("/retrain/RUL", ""); a.status != http.StatusOK {
				refused <- a
			}
		})
	}
	for range 20 {
		a := <-refused
		a.refused(503, "TOO_MANY_WAITING")
		require.Equal(t, "10", a.header.Get("Retry-After"))
	}
	p.get("/training-set/RUL").refused(503, "TOO_MANY_WAITING")
	close(p.hold)
	calls.Wait()
	require.Empty(t, refused)
}

func TestWhoeverLeavesEndsNoTraining(t *testing.T) {
	p := newPlant(t, options{failures: 8})
	p.hold = make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+base+"/retrain/RUL", nil)
	require.NoError(t, err)
	left := make(chan error, 1)
	go func() {
		resp, err := p.client.Do(r)
		if err == nil {
			_ = resp.Body.Close()
		}
		left <- err
	}()
	p.waitUntilHeld()
	cancel()
	require.ErrorIs(t, <-left, context.Canceled)
	close(p.hold)
	require.Eventually(t, func() bool { return strings.Contains(p.get("/jobs").body, `"state":"Succeeded"`) }, patience, time.Millisecond)
	p.get("/metrics/RUL?version=v1").json(200)
}

func TestTrainingsOfAnAddressAreLimited(t *testing.T) {
	now := start
	o := options{failures: 2}
	o.api.Now = func() time.Time { return now }
	p := newPlant(t, o) // every training fails soon
	from := func(address string) answer {
		return p.call(t.Context(), http.MethodPost, "/retrain/RUL", "", "Test-Address", address)
	}
	for range 10 {
		from("192.0.2.1").refused(500, "TRAINING_FAILED")
	}
	a := from("192.0.2.1")
	a.refused(429, "RATE_LIMITED")
	require.Equal(t, "60", a.header.Get("Retry-After"))
	p.call(t.Context(), http.MethodPost, "/jobs", `{"modelType":"RUL"}`, "Test-Address", "192.0.2.1").refused(429, "RATE_LIMITED")
	from("192.0.2.2").refused(500, "TRAINING_FAILED")
	p.post("/retrain/RUL", "").refused(500, "TRAINING_FAILED") // from this machine
	now = now.Add(time.Minute)
	from("192.0.2.1").refused(500, "TRAINING_FAILED")
	from("192.0.2.1").refused(429, "RATE_LIMITED")
}

// events is an open stream of jobs.
type events struct {
	t     testing.TB
	lines *bufio.Reader
	close func()
}

func (p *plant) stream(query, last string) *events {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+base+"/jobs/stream"+query, nil)
	require.NoError(p.t, err)
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	resp, err := p.client.Do(r)
	require.NoError(p.t, err)
	require.Equal(p.t, 200, resp.StatusCode)
	require.Equal(p.t, "text/event-stream", resp.Header.Get("Content-Type"))
	return &events{p.t, bufio.NewReader(resp.Body), func() {
		cancel()
		_ = resp.Body.Close()
	}}
}

type jobEvent struct {
	id   string
	Jobs []struct {
		ID, State, Stage string
		Progress         float64
	}
}

func (e *events) next() (event jobEvent, err error) {
	for {
		line, err := e.lines.ReadString('\n')
		if err != nil {
			return event, err
		}
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			event.id = strings.TrimSpace(id)
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			return event, json.Unmarshal([]byte(data), &event)
		}
	}
}

// until returns the event with the first job in a state.
func (e *events) until(state string) jobEvent {
	e.t.Helper()
	for progress := 0.0; ; {
		event, err := e.next()
		require.NoError(e.t, err)
		if len(event.Jobs) == 0 {
			continue
		}
		require.GreaterOrEqual(e.t, event.Jobs[0].Progress, progress)
		progress = event.Jobs[0].Progress
		if event.Jobs[0].State == state {
			return event
		}
	}
}

func TestTheStreamShowsTrainings(t *testing.T) {
	p := newPlant(t, options{failures: 8})
	s := p.stream("?throttleMs=0", "")
	defer s.close()
	first, err := s.next()
	require.NoError(t, err)
	require.NotNil(t, first.Jobs, "a list is never null")
	require.Empty(t, first.Jobs)
	p.post("/retrain/RUL", "").json(200)
	ended := s.until("Succeeded")
	require.Len(t, ended.Jobs, 1)

	// Who comes back gets what has changed since, and nothing twice.
	back := p.stream("?throttleMs=0", ended.id)
	defer back.close()
	p.post("/retrain/RUL", "").json(200)
	again := back.until("Succeeded")
	require.NotEqual(t, ended.Jobs[0].ID, again.Jobs[0].ID)
	missed := p.stream("", ended.id)
	defer missed.close()
	event, err := missed.next()
	require.NoError(t, err)
	require.Len(t, event.Jobs, 1)
	require.Equal(t, again.id, event.id)

	// The id of another run, or none that was given, is answered with everything.
	for _, id := range []string{"", "x", "other.1", ended.id + "0", strings.Split(ended.id, ".")[0] + ".-1"} {
		all := p.stream("", id)
		event, err := all.next()
		all.close()
		require.NoError(t, err)
		require.Len(t, event.Jobs, 2, id)
	}
	p.api.EndStreams()
	for err == nil {
		_, err = s.next()
	}
	require.Equal(t, "EOF", err.Error(), "the stream ends cleanly")
	p.get("/jobs/stream").refused(503, "SERVER_STOPPING")
}

func TestTheStreamRefusesABadThrottle(t *testing.T) {
	p := newPlant(t, options{})
	for _, throttle := range []string{"-1", "3600001", "none"} {
		p.wrong(http.MethodGet, "/jobs/stream?throttleMs="+throttle, "").refused(400, "INVALID_REQUEST")
	}
	require.Equal(t, 200, p.call(t.Context(), http.MethodHead, "/jobs/stream", "").status)
}
