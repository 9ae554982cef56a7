package health

import (
	"bytes"
	"context"
	"log/slog"
	"math"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	grpchealth "google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func fixed(status Status) func(context.Context) Result {
	return func(context.Context) Result { return Result{Status: status, Description: "as told"} }
}

func registry(t *testing.T, o Options, checks ...Check) *Registry {
	r, err := New(o)
	require.NoError(t, err)
	for _, c := range checks {
		require.NoError(t, r.Add(c))
	}
	t.Cleanup(func() { require.NoError(t, r.Close(context.Background())) })
	return r
}

func TestHandlers(t *testing.T) {
	tests := []struct {
		name                   string
		store, driver          Status // driver is not for readiness
		all, ready             int
		allStatus, readyStatus Status
	}{
		{"all well", Healthy, Healthy, 200, 200, Healthy, Healthy},
		{"degraded", Degraded, Healthy, 200, 200, Degraded, Degraded},
		{"only the driver", Healthy, Unhealthy, 503, 200, Unhealthy, Healthy},
		{"store", Unhealthy, Degraded, 503, 503, Unhealthy, Unhealthy},
		{"unknown status", "Fine", Healthy, 503, 503, Unhealthy, Unhealthy},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := registry(t, Options{}, Check{"store", true, fixed(tt.store)}, Check{"driver", false, fixed(tt.driver)})
			get := func(live bool, ready bool) *httptest.ResponseRecorder {
				w := httptest.NewRecorder()
				h := r.Handler()
				if live {
					h = r.LiveHandler()
				} else if ready {
					h = r.ReadyHandler()
				}
				h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
				require.Equal(t, "application/json", w.Header().Get("Content-Type"))
				return w
			}
			all, ready, live := get(false, false), get(false, true), get(true, false)
			require.Equal(t, tt.all, all.Code)
			require.Contains(t, all.Body.String(), `{"status":"`+string(tt.allStatus)+`"`)
			require.Contains(t, all.Body.String(), `"driver":{"status":"`+string(tt.driver)+`","description":"as told","data":{}}`)
			require.Equal(t, tt.ready, ready.Code)
			require.Contains(t, ready.Body.String(), `{"status":"`+string(tt.readyStatus)+`"`)
			require.NotContains(t, ready.Body.String(), "driver")
			require.Equal(t, 200, live.Code)
			require.JSONEq(t, `{"status":"Healthy","results":{}}`, live.Body.String())
		})
	}
}

func TestPanicIsUnhealthy(t *testing.T) {
	var log bytes.Buffer
	r := registry(t, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))},
		Check{"bad", true, func(context.Context) Result { panic("SECRET") }}, Check{"good", true, fixed(Healthy)})
	report := r.Run(t.Context(), true)
	require.Equal(t, Unhealthy, report.Results["bad"].Status)
	require.NotContains(t, report.Results["bad"].Description, "SECRET")
	require.Equal(t, Healthy, report.Results["good"].Status)
	require.Contains(t, log.String(), "SECRET")
}

func TestDataThatJSONCannotHold(t *testing.T) {
	r := registry(t, Options{}, Check{"nan", true, func(context.Context) Result {
		return Result{Status: Healthy, Data: map[string]any{"rate": math.NaN()}}
	}})
	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	require.Equal(t, 200, w.Code)
	require.JSONEq(t, `{"status":"Healthy","results":{"nan":{"status":"Healthy","description":"","data":{}}}}`, w.Body.String())
}

func TestChecksRunAtOnceAndEndInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(ctx context.Context) Result {
			select {
			case <-time.After(time.Second):
				return Result{Status: Healthy}
			case <-ctx.Done():
				return Result{Status: Unhealthy, Description: "given up"}
			}
		}
		hang := make(chan struct{})
		r := registry(t, Options{Timeout: 3 * time.Second}, Check{"a", true, slow}, Check{"b", true, slow}, Check{"c", true, slow},
			Check{"hangs", false, func(context.Context) Result { <-hang; return Result{Status: Healthy} }})
		start := time.Now()
		require.Equal(t, Healthy, r.Run(t.Context(), true).Status)
		require.Equal(t, time.Second, time.Since(start))

		start = time.Now()
		report := r.Run(t.Context(), false)
		require.Equal(t, 3*time.Second, time.Since(start))
		require.Equal(t, Result{Unhealthy, "no answer in time", map[string]any{}}, report.Results["hangs"])
		require.Equal(t, Healthy, report.Results["a"].Status)

		start = time.Now()
		report = r.Run(t.Context(), false)
		require.Equal(t, Unhealthy, report.Results["hangs"].Status, "it is still the same run")
		require.Equal(t, time.Second, time.Since(start), "nobody waits for it a second time")

		ended, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, r.Close(ended), context.DeadlineExceeded)
		close(hang)
		synctest.Wait()
		require.Equal(t, Unhealthy, r.Run(t.Context(), true).Status, "closed")
	})
}

func TestCallersShareARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs, release := 0, make(chan struct{})
		r := registry(t, Options{Timeout: time.Minute}, Check{"store", true, func(context.Context) Result {
			runs++ // no lock: a check is never run twice at once
			<-release
			return Result{Status: Healthy}
		}})
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		require.Equal(t, Unhealthy, r.Run(gone, true).Status, "a caller that gives up does not wait")
		var callers sync.WaitGroup
		for range 50 {
			callers.Go(func() { r.Run(t.Context(), true) })
		}
		synctest.Wait()
		close(release)
		callers.Wait()
		require.Equal(t, 1, runs)
		require.Equal(t, Healthy, r.Run(t.Context(), true).Status)
		require.Equal(t, 2, runs, "a result is not kept after its run")
	})
}

func TestSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var status atomic.Value
		status.Store(Unhealthy)
		r := registry(t, Options{}, Check{"store", true, func(context.Context) Result { return Result{Status: status.Load().(Status)} }})
		server := grpchealth.NewServer()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { r.Sync(ctx, server, time.Second, "platform.v1.PlatformApi"); close(done) }()
		is := func(want grpc_health_v1.HealthCheckResponse_ServingStatus) {
			synctest.Wait()
			for _, service := range []string{"", "platform.v1.PlatformApi"} {
				answer, err := server.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: service})
				require.NoError(t, err)
				require.Equal(t, want, answer.GetStatus())
			}
		}
		is(grpc_health_v1.HealthCheckResponse_NOT_SERVING)
		status.Store(Degraded)
		time.Sleep(time.Second)
		is(grpc_health_v1.HealthCheckResponse_SERVING)
		cancel()
		<-done
		is(grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	})
}

func TestBadOptions(t *testing.T) {
	_, err := New(Options{Timeout: -1})
	require.ErrorContains(t, err, "Timeout")
	r := registry(t, Options{}, Check{"store", true, fixed(Healthy)})
	require.ErrorContains(t, r.Add(Check{"store", false, fixed(Healthy)}), "store")
	require.ErrorContains(t, r.Add(Check{Name: "x"}), "Run")
	require.ErrorContains(t, r.Add(Check{Run: fixed(Healthy)}), "Name")
}
