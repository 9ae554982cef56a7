package remote_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/predictive/remote"
)

var at = time.Date(2026, 3, 1, 12, 0, 0, 0, time.FixedZone("", 3600))

func newModel(t *testing.T, o remote.Options) *remote.Model {
	t.Helper()
	m, err := remote.New(o)
	require.NoError(t, err)
	t.Cleanup(m.Close)
	return m
}

func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s.URL
}

var rulInput = predictive.ModelInput{ModelType: predictive.RULModel, EquipmentID: "pump1", ComponentName: "Bearing", At: at, Horizon: 36 * time.Hour,
	Step: time.Minute, Names: []string{"flow.mean", "age"}, Values: []float64{1.5, math.NaN()},
	Samples: map[string][]predictive.Sample{"pump1.flow": {{Time: at, Value: 2}, {Time: at.Add(time.Second), Value: 3, Bad: true}}, "pump1.p": nil}}

func TestQuestionsAndAnswers(t *testing.T) {
	var body, header string
	respond := `{"days":3,"lowDays":1,"highDays":9,"capDays":30,"confidence":0.9,"probability":0.5,"other":[1]}`
	m := newModel(t, remote.Options{Token: "T0ken", Step: time.Minute, Roles: []string{"flow"}, Samples: 7, URL: serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		body, header = string(b), r.Method+" "+r.Header.Get("Authorization")+" "+r.Header.Get("Content-Type")
		_, _ = io.WriteString(w, respond)
	}) + "/models?key=1"})
	require.Equal(t, predictive.InputSpec{Step: time.Minute, Roles: []string{"flow"}, Samples: 7}, m.InputSpec())
	out, err := m.Predict(t.Context(), rulInput)
	require.NoError(t, err)
	require.Equal(t, "POST Bearer T0ken application/json", header)
	require.JSONEq(t, `{"modelType":"RUL","equipmentId":"pump1","componentName":"Bearing","at":"2026-03-01T11:00:00Z","horizonHours":36,"stepSeconds":60,
		"features":{"flow.mean":1.5,"age":null},
		"samples":{"pump1.flow":{"times":["2026-03-01T11:00:00Z"],"values":[2]},"pump1.p":{"times":[],"values":[]}}}`, body)
	require.Equal(t, []float64{3, 1, 9, 30, 0.9, 0}, []float64{out.Days, out.LowDays, out.HighDays, out.CapDays, *out.Confidence, out.Probability})

	respond = `{"probability":0,"threshold":0.25}`
	out, err = m.Predict(t.Context(), predictive.ModelInput{ModelType: predictive.FailureModel, EquipmentID: "pump1", TagID: "pump1.flow", Role: "flow", At: at})
	require.NoError(t, err)
	require.Equal(t, predictive.ModelOutput{Threshold: 0.25}, out)
	require.JSONEq(t, `{"modelType":"FailurePrediction","equipmentId":"pump1","tagId":"pump1.flow","role":"flow","at":"2026-03-01T11:00:00Z",
		"horizonHours":0,"stepSeconds":0,"features":{}}`, body)
}

func TestAnswersThatCannotBeUsed(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		reason string
	}{
		"status":  {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "SECRET", http.StatusInternalServerError) }, "answered 500"},
		"refused": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, "answered 401"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}, "answered 307; redirects"},
		"empty":    {func(http.ResponseWriter, *http.Request) {}, "not the JSON"},
		"NaN":      {text(`{"days":NaN,"lowDays":1,"highDays":2}`), "not the JSON"},
		"overflow": {text(`{"days":1e999,"lowDays":1,"highDays":2}`), "not the JSON"},
		"array":    {text(`[1,2,3]`), "not the JSON"},
		"null":     {text(`null`), "has no days"},
		"missing":  {text(`{"days":3,"lowDays":null,"highDays":2}`), "has no lowDays"},
		"long":     {text(strings.Repeat(" ", 1001)), "more than 1000 bytes"},
		"cut": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "99")
			_, _ = io.WriteString(w, "{")
		}, "closed the connection"},
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int32
			m := newModel(t, remote.Options{Token: "T0ken", MaxAnswer: 1000, URL: serve(t, func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				c.answer(w, r)
			})})
			_, err := m.Predict(t.Context(), rulInput)
			require.ErrorIs(t, err, predictive.ErrModelNotAvailable)
			require.ErrorContains(t, err, c.reason)
			require.NotContains(t, err.Error(), "SECRET")
			require.NotContains(t, err.Error(), "T0ken")
			require.EqualValues(t, 1, asked.Load())
		})
	}
}

func text(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }
}

func TestCertificates(t *testing.T) {
	s := httptest.NewUnstartedServer(text(`{"probability":1}`))
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s.StartTLS()
	t.Cleanup(s.Close)
	ask := func(o remote.Options) error {
		_, err := newModel(t, o).Predict(t.Context(), predictive.ModelInput{ModelType: predictive.FailureModel})
		return err
	}
	require.ErrorContains(t, ask(remote.Options{URL: s.URL}), "certificate of the model's server is not trusted")
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	require.NoError(t, ask(remote.Options{URL: s.URL, TLS: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}))
	require.ErrorContains(t, ask(remote.Options{URL: strings.Replace(s.URL, "https", "http", 1)}), "answered 400")
}

// TestDeadServerCostsNothing has a server that takes connections and does not answer, as a stopped process does, and answers again later.
func TestDeadServerCostsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := new(pipes)
		var log strings.Builder
		m := newModel(t, remote.Options{URL: "http://model.example", Token: "T0ken", Dial: p.dial, Log: slog.New(slog.NewTextHandler(&log, nil))})
		p.dead.Store(true)
		start := time.Now()
		for range 3 {
			_, err := m.Predict(t.Context(), rulInput)
			require.ErrorContains(t, err, "did not answer in time")
		}
		require.Equal(t, 15*time.Second, time.Since(start))
		start = time.Now()
		for range 1000 {
			_, err := m.Predict(t.Context(), rulInput)
			require.ErrorIs(t, err, predictive.ErrModelNotAvailable)
			require.ErrorContains(t, err, "left alone")
		}
		require.Zero(t, time.Since(start))
		require.EqualValues(t, 3, p.asked.Load())

		time.Sleep(5 * time.Second) // one of many tries
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() { _, _ = m.Predict(t.Context(), rulInput) })
		}
		wg.Wait()
		require.EqualValues(t, 4, p.asked.Load())
		time.Sleep(5 * time.Second)
		_, err := m.Predict(t.Context(), rulInput)
		require.ErrorContains(t, err, "left alone", "the pause has doubled")

		p.dead.Store(false)
		time.Sleep(5 * time.Second)
		for range 3 {
			_, err := m.Predict(t.Context(), rulInput)
			require.NoError(t, err)
		}
		require.NotContains(t, log.String(), "T0ken")
		require.Equal(t, 2, strings.Count(log.String(), "\n"), log.String())
	})
}

// TestCallersThatLeaveSayNothing checks that a caller who gives up neither counts as a failure nor keeps others from trying.
func TestCallersThatLeaveSayNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := new(pipes)
		m := newModel(t, remote.Options{URL: "http://model.example", Dial: p.dial, Failures: 1})
		p.dead.Store(true)
		leave := func() {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			_, err := m.Predict(ctx, rulInput)
			require.ErrorIs(t, err, context.Canceled)
		}
		leave()
		leave()
		_, err := m.Predict(t.Context(), rulInput)
		require.ErrorContains(t, err, "in time")
		time.Sleep(5 * time.Second)
		leave()
		p.dead.Store(false)
		_, err = m.Predict(t.Context(), rulInput)
		require.NoError(t, err)
	})
}

// TestCutConnectionsAreNotUsed cuts connections that wait for the next prediction, as a firewall does that forgets them.
func TestCutConnectionsAreNotUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := new(pipes)
		p.keep = true
		m := newModel(t, remote.Options{URL: "http://model.example", Dial: p.dial})
		var wait sync.WaitGroup
		for range 8 {
			wait.Go(func() {
				if _, err := m.Predict(t.Context(), rulInput); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		require.EqualValues(t, 8, p.asked.Load())
		_, err := m.Predict(t.Context(), rulInput)
		require.NoError(t, err)
		require.EqualValues(t, 8, p.asked.Load(), "connections are used again")
		p.cut.Store(8)
		_, err = m.Predict(t.Context(), rulInput)
		require.ErrorContains(t, err, "in time")
		_, err = m.Predict(t.Context(), rulInput)
		require.NoError(t, err)
	})
}

func TestOptionsAreChecked(t *testing.T) {
	for want, o := range map[string]remote.Options{
		"Options.URL":      {URL: "ftp://x"},
		"without user":     {URL: "http://user:SECRET@x"},
		"Options.Token":    {URL: "http://x", Token: "SECRET\n"},
		"Options.Timeout":  {URL: "http://x", Timeout: -1},
		"Options.Pause":    {URL: "http://x", Pause: -1},
		"Options.MaxConns": {URL: "http://x", MaxConns: -1},
	} {
		_, err := remote.New(o)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "SECRET")
	}
}

// pipes has servers in memory, so that time is that of the test.
type pipes struct {
	dead  atomic.Bool  // no connection answers
	cut   atomic.Int32 // the first so many do not answer
	asked atomic.Int32 // connections
	keep  bool         // connections are kept, and answer after a second
}

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	n := p.asked.Add(1)
	client, server := net.Pipe()
	go func() {
		defer func() { _ = server.Close() }()
		in := bufio.NewReader(server)
		for {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)
			if p.dead.Load() || n <= p.cut.Load() {
				_, _ = io.Copy(io.Discard, in)
				return
			}
			answer := `{"days":1,"lowDays":0,"highDays":2}`
			header := "Connection: close\r\n"
			if p.keep {
				header = ""
				time.Sleep(time.Second)
			}
			_, _ = fmt.Fprintf(server, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n%s\r\n%s", len(answer), header, answer)
			if !p.keep {
				return
			}
		}
	}()
	return client, nil
}
