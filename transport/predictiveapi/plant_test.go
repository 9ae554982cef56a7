package predictiveapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	chimiddleware "github.com/go-chi/chi/v5/middleware"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/contract"
	"github.com/otkit/otkit/openapi"
	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/predictive/features"
	"github.com/otkit/otkit/transport/middleware"
	"github.com/otkit/otkit/transport/predictiveapi"
	"github.com/otkit/otkit/transport/remote"
)

const (
	base = "/api/v1.0/predictive-maintenance"
	pump = "hall 1/pump" // must be escaped in a path
	life = 100           // hours
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// plant is a pump whose bearing fails every 100 hours, with a history of its vibration and temperature, and the API over it.
type plant struct {
	t       testing.TB
	records predictive.RecordStore
	service *predictive.Service
	api     *predictiveapi.API
	client  *http.Client
	url     string
	now     time.Time
	hold    chan struct{} // unless nil, trainings wait until it is closed
	held    atomic.Bool
	reading atomic.Int32 // readers of the history that hold stops
	entered atomic.Int32 // requests
}

// Samples implements predictive.History.
func (p *plant) Samples(ctx context.Context, tag string, from, to time.Time) iter.Seq2[predictive.Sample, error] {
	return func(yield func(predictive.Sample, error) bool) {
		if p.hold != nil {
			p.held.Store(true)
			p.reading.Add(1)
			defer p.reading.Add(-1)
			select {
			case <-p.hold:
			case <-ctx.Done():
				yield(predictive.Sample{}, ctx.Err())
				return
			}
		}
		shift := float64(len(tag))
		for hour := max(int(from.Sub(start).Hours()), 0); ; hour++ {
			at := start.Add(time.Duration(hour) * time.Hour)
			value := shift + math.Exp(float64(hour%life)/30)/10 + 0.2*math.Sin(float64(hour*hour)+shift)
			if !at.Before(to) || at.After(p.now) || !at.Before(from) && !yield(predictive.Sample{Time: at, Value: value}, nil) {
				return
			}
		}
	}
}

func inventory(context.Context) ([]predictive.DriverTag, error) {
	return []predictive.DriverTag{{ID: pump + ".vibration", DriverID: pump}, {ID: pump + ".temperature", DriverID: pump}}, nil
}

// options of a plant
type options struct {
	failures int
	store    predictive.RecordStore
	registry predictive.Registry
	api      predictiveapi.Options
}

var theContract = sync.OnceValues(func() (*contract.Contract, error) { return contract.New(openapi.Document) })

func newPlant(t testing.TB, o options) *plant {
	t.Helper()
	p := &plant{t: t, records: o.store, now: start.Add(20*life*time.Hour + 90*time.Hour)}
	if p.records == nil {
		p.records = new(predictive.MemoryRecords)
	}
	if o.registry == nil {
		o.registry = new(predictive.MemoryRegistry)
	}
	for n := range o.failures {
		require.NoError(t, p.records.AddFailures(t.Context(), []predictive.Failure{{ID: fmt.Sprintf("f%02d", n), EquipmentID: pump, Component: "Bearing",
			Source: predictive.SourceManual, Start: start.Add(time.Duration(n+1) * life * time.Hour)}}))
	}
	var err error
	p.service, err = predictive.New(predictive.Deps{History: p, Inventory: predictive.DriverInventory(inventory), Records: p.records, Registry: o.registry},
		predictive.Options{Horizon: 24 * time.Hour, Features: features.Options{Step: 4 * time.Hour}, Clock: func() time.Time { return p.now }, OnJob: func(j predictive.Job) { p.api.OnJob(j) }})
	require.NoError(t, err)
	p.api, err = predictiveapi.New(p.service, p.records, o.api)
	require.NoError(t, err)
	r := chi.NewRouter()
	r.Use(p.withCaller, middleware.EscapedPath, chimiddleware.GetHead)
	p.api.Mount(r)
	s := httptest.NewServer(r)
	c, err := theContract()
	require.NoError(t, err)
	transport := &http.Transport{}
	p.url, p.client = s.URL, &http.Client{Transport: c.Judge(t, transport)}
	t.Cleanup(func() {
		p.api.EndStreams()
		transport.CloseIdleConnections()
		s.Close()
		require.NoError(t, p.service.Close(context.Background()))
	})
	return p
}

// withCaller counts requests, and lets a test call from another address.
func (p *plant) withCaller(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.entered.Add(1)
		if addr, err := netip.ParseAddr(r.Header.Get("Test-Address")); err == nil {
			r = r.WithContext(remote.With(r.Context(), remote.Caller{Addr: addr, Known: true}))
		}
		next.ServeHTTP(w, r)
	})
}

// answer is what the API answered.
type answer struct {
	t      testing.TB
	status int
	header http.Header
	body   string
}

// call makes a request. The headers are names and values.
func (p *plant) call(ctx context.Context, method, path, body string, headers ...string) answer {
	p.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, p.url+base+path, strings.NewReader(body))
	require.NoError(p.t, err)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := p.client.Do(r)
	require.NoError(p.t, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(p.t, err)
	return answer{p.t, resp.StatusCode, resp.Header, string(text)}
}

func (p *plant) get(path string) answer { return p.call(p.t.Context(), http.MethodGet, path, "") }

func (p *plant) post(path, body string) answer {
	return p.call(p.t.Context(), http.MethodPost, path, body)
}

// wrong makes a request that the OpenAPI document does not allow.
func (p *plant) wrong(method, path, body string, headers ...string) answer {
	return p.call(contract.Wrong(p.t.Context()), method, path, body, headers...)
}

// json reads an answer that has a status.
func (a answer) json(status int) (v map[string]any) {
	a.t.Helper()
	require.Equal(a.t, status, a.status, a.body)
	require.NoError(a.t, json.Unmarshal([]byte(a.body), &v), a.body)
	return v
}

// refused checks the status and the code of an error and returns its text.
func (a answer) refused(status int, code string) string {
	a.t.Helper()
	v := a.json(status)
	require.Equal(a.t, code, v["code"], a.body)
	text := v["detail"].(string)
	if fields, ok := v["errors"].([]any); ok {
		for _, f := range fields {
			text += fmt.Sprintf("; %s %s", f.(map[string]any)["field"], f.(map[string]any)["message"])
		}
	}
	return text
}
