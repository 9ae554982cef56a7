package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/openapi/client"
	pb "github.com/otkit/otkit/proto/platform/v1"
)

const callers = 32

// alternate times ours and the baseline in turns of the same length, so that both meet the same
// machine, and reports how they compare: ratio is the baseline's time over ours, 1 is as fast.
func alternate(b *testing.B, ours, baseline func(n int)) {
	b.Helper()
	ours(callers)
	baseline(callers)
	var oursTook, baselineTook time.Duration
	b.ResetTimer()
	for left := b.N; left > 0; {
		n := min(left, 2000)
		left -= n
		start := time.Now()
		baseline(n)
		middle := time.Now()
		ours(n)
		baselineTook += middle.Sub(start)
		oursTook += time.Since(middle)
	}
	b.StopTimer()
	b.ReportMetric(0, "ns/op") // of both together it says nothing
	b.ReportMetric(float64(oursTook.Nanoseconds())/float64(b.N), "ns/ours")
	b.ReportMetric(float64(baselineTook.Nanoseconds())/float64(b.N), "ns/baseline")
	b.ReportMetric(baselineTook.Seconds()/oursTook.Seconds(), "ratio")
}

// spread has n calls made by as many callers as there are.
func spread(b *testing.B, n int, call func() error) {
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			for i := c; i < n; i += callers {
				if err := call(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// echo answers every ReadTag with the same message.
type echo struct {
	pb.UnimplementedPlatformApiServer
	answer *pb.ReadTagResponse
}

func (e *echo) ReadTag(context.Context, *pb.ReadTagRequest) (*pb.ReadTagResponse, error) {
	return e.answer, nil
}

// BenchmarkGRPCReadTag compares ReadTag through the whole server with a bare grpc-go server that
// answers with the same message.
func BenchmarkGRPCReadTag(b *testing.B) {
	p := start(b)
	ours, ctx := p.rpc(accounts.Viewer)
	request := &pb.ReadTagRequest{TagName: "line.level"}
	answer, err := ours.ReadTag(ctx, request)
	require.NoError(b, err)

	bare := grpc.NewServer()
	pb.RegisterPlatformApiServer(bare, &echo{answer: proto.CloneOf(answer)})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	go func() { _ = bare.Serve(l) }()
	defer bare.Stop()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(b, err)
	defer func() { _ = conn.Close() }()
	baseline := pb.NewPlatformApiClient(conn)
	md, _ := metadata.FromOutgoingContext(ctx)
	sameHeader := metadata.NewOutgoingContext(b.Context(), md) // both clients send the token

	alternate(b, func(n int) {
		spread(b, n, func() error { _, err := ours.ReadTag(ctx, request); return err })
	}, func(n int) {
		spread(b, n, func() error { _, err := baseline.ReadTag(sameHeader, request); return err })
	})
}

// BenchmarkRESTReadTag compares reading one tag through the whole server with a bare chi handler
// that marshals the same body.
func BenchmarkRESTReadTag(b *testing.B) {
	p := start(b)
	token := p.token(accounts.Viewer)
	var body client.TagAnswer
	require.NoError(b, json.Unmarshal(p.call(accounts.Viewer, http.MethodGet, "/api/v1/tags/line.level", nil).body, &body))

	r := chi.NewRouter()
	r.Get("/api/v1/tags/{tag_name}", func(w http.ResponseWriter, _ *http.Request) {
		data, err := json.Marshal(body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(data)
	})
	requestRatio(b, p, "/api/v1/tags/line.level", token, r)
}

// requestRatio compares reading from a path through the whole server with doing so from a bare handler.
func requestRatio(b *testing.B, p *platform, path, token string, handler http.Handler) {
	b.Helper()
	bare := &http.Server{Handler: handler}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	go func() { _ = bare.Serve(l) }()
	defer func() { _ = bare.Close() }()

	transport := &http.Transport{MaxIdleConnsPerHost: callers}
	defer transport.CloseIdleConnections()
	get := func(base string) func() error {
		request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, base+path, nil)
		require.NoError(b, err)
		request.Header.Set("Authorization", "Bearer "+token)
		return func() error {
			resp, err := transport.RoundTrip(request.Clone(b.Context()))
			if err != nil {
				return err
			}
			defer func() { _ = resp.Body.Close() }()
			if resp.StatusCode != http.StatusOK {
				return fmt.Errorf("status %d", resp.StatusCode)
			}
			_, err = io.Copy(io.Discard, resp.Body)
			return err
		}
	}
	ours, baseline := get(p.url), get("http://"+l.Addr().String())
	alternate(b, func(n int) { spread(b, n, ours) }, func(n int) { spread(b, n, baseline) })
}

// discard is a ResponseWriter that keeps nothing but the status.
type discard struct {
	header http.Header
	status int
	bytes  int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { d.bytes += len(p); return len(p), nil }
func (d *discard) WriteHeader(status int)      { d.status = status }

// BenchmarkRESTBatchRead compares reading 500 tags through the whole handler, token and request body
// included, with json.Marshal of the same answer. ratio is the handler's time over json.Marshal's.
func BenchmarkRESTBatchRead(b *testing.B) {
	p := start(b)
	handler := p.Handler()
	var names []string
	for i := range 500 {
		names = append(names, []string{"line.level", "line.count", "line.flag", "sim.temperature", "sim.recipe"}[i%5])
	}
	request := []byte(jsonText(b, map[string]any{"tagNames": names}))
	token := p.token(accounts.Viewer)
	var answer client.BatchReadAnswer
	p.call(accounts.Viewer, http.MethodPost, "/api/v1/tags:batchRead", string(request)).into(b, &answer)
	require.Len(b, answer.Tags, 500)
	marshalled, err := json.Marshal(answer)
	require.NoError(b, err)

	var ours, baseline time.Duration
	for b.Loop() {
		r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, "/api/v1/tags:batchRead", bytes.NewReader(request))
		if err != nil {
			b.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		w := &discard{header: http.Header{}}
		begin := time.Now()
		handler.ServeHTTP(w, r)
		middle := time.Now()
		_, err = json.Marshal(answer)
		baseline += time.Since(middle)
		ours += middle.Sub(begin)
		if err != nil || w.status != http.StatusOK || w.bytes < len(marshalled)*9/10 {
			b.Fatal(err, w.status, w.bytes, len(marshalled))
		}
	}
	n := float64(b.N)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(ours.Nanoseconds())/n, "ns/ours")
	b.ReportMetric(float64(baseline.Nanoseconds())/n, "ns/baseline")
	b.ReportMetric(ours.Seconds()/baseline.Seconds(), "ratio")
}
