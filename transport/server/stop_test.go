package server_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/engine"
	pb "github.com/otkit/otkit/proto/platform/v1"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/server"
	"github.com/otkit/otkit/transport/tagsapi/tagspart"
)

func TestStopEndsStreamsCleanly(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	p := start(t, func(o *engine.Options) { o.Server.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	s := p.stream("?tagNames=line.flag")
	defer s.stop()
	s.next()
	streams := p.both([]string{"line.flag"}, nil)
	for _, receive := range streams {
		_, err := receive()
		require.NoError(t, err)
	}
	watch, err := healthpb.NewHealthClient(p.conn()).Watch(t.Context(), &healthpb.HealthCheckRequest{})
	require.NoError(t, err)
	_, err = watch.Recv()
	require.NoError(t, err)
	reflection, err := reflectionpb.NewServerReflectionClient(p.conn()).ServerReflectionInfo(t.Context())
	require.NoError(t, err)
	require.NoError(t, reflection.Send(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}}))
	_, err = reflection.Recv()
	require.NoError(t, err)

	p.halt()
	require.NotContains(t, log.String(), "cut off")
	_, err = s.read()
	require.ErrorIs(t, err, io.EOF)
	for _, receive := range streams {
		_, err := receive()
		requireStatus(t, err, codes.Unavailable, "SERVER_STOPPING")
	}
	_, err = reflection.Recv()
	requireStatus(t, err, codes.Unavailable, "SERVER_STOPPING")
	for err = nil; err == nil; { // it may still say that it does not serve any more
		_, err = watch.Recv()
	}
	requireStatus(t, err, codes.Unavailable, "SERVER_STOPPING")
	p.halt() // a second time is harmless
	_, err = net.Dial("tcp", p.Addr().String())
	require.Error(t, err)
}

func TestStopLetsQueuedWritesAndRequestsFinish(t *testing.T) {
	t.Parallel()
	log := tags.NewMemoryWriteLog(100)
	p := start(t, func(o *engine.Options) { o.Tags.Writes = log })
	p.line.change(func() { p.line.hold = make(chan struct{}) })
	var ids []string
	for range 5 {
		ids = append(ids, p.write("count", map[string]any{"value": "1"}))
	}
	<-p.line.writing

	// A request whose body is still on its way.
	reader, writer := io.Pipe()
	r := p.request(t.Context(), accounts.Admin, http.MethodPost, "/api/v1/tags:batchRead", nil)
	r.Body, r.ContentLength = reader, -1
	r.Header.Set("Content-Type", "application/json")
	answered := make(chan int, 1)
	transport := &http.Transport{DisableKeepAlives: true}
	go func() {
		resp, err := transport.RoundTrip(r)
		if err != nil {
			answered <- 0
			return
		}
		_ = resp.Body.Close()
		answered <- resp.StatusCode
	}()
	_, err := io.WriteString(writer, `{"tagNames":[`)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		return strings.Contains(string(p.call(nobody, http.MethodGet, "/metrics", nil).body), "http_requests_in_flight 2")
	}, patience, 10*time.Millisecond)

	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		p.halt()
	}()
	require.Eventually(t, func() bool {
		c, err := net.Dial("tcp", p.Addr().String())
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	}, patience, time.Millisecond)
	_, err = io.WriteString(writer, `]}`)
	require.NoError(t, err)
	require.NoError(t, writer.Close())
	require.Equal(t, 200, <-answered)
	p.line.change(func() { close(p.line.hold); p.line.hold = nil })
	<-stopped
	require.Len(t, p.line.writes(), 5)
	for _, id := range ids {
		w, err := log.Get(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, tags.WriteDone, w.State)
	}
	transport.CloseIdleConnections()
}

func TestAClientThatReadsNothingCostsNoWrite(t *testing.T) {
	t.Parallel()
	p := start(t, func(o *engine.Options) {
		for i := range o.Tags.Drivers {
			o.Tags.Drivers[i].Options.Timeout = time.Minute
		}
	})
	api, ctx := p.rpc(accounts.Viewer)
	_, err := api.SubscribeTagChanges(ctx, &pb.SubscribeTagChangesRequest{TagNames: []string{"line.note"}, ThrottleMs: ms(0)}) // and never received
	require.NoError(t, err)
	s := p.stream("?tagNames=line.note&throttleMs=0") // and never read
	defer s.stop()
	large := strings.Repeat("x", 1_000_000)
	for i := range 30 {
		p.line.set("note", tags.StringValue(strings.Repeat("y", i)+large))
		time.Sleep(5 * time.Millisecond) // lets the streams fill their connections
	}
	p.line.change(func() { p.line.hold = make(chan struct{}) })
	p.write("flag", map[string]any{"value": "false"})
	<-p.line.writing
	p.write("flag", map[string]any{"value": "true"})
	// Two thirds of the time are for the streams, so the write is still there.
	stop, cancel := context.WithTimeout(t.Context(), 12*time.Second)
	defer cancel()
	time.AfterFunc(8500*time.Millisecond, func() { p.line.change(func() { close(p.line.hold); p.line.hold = nil }) })
	require.NoError(t, p.Close(stop))
	require.Len(t, p.line.writes(), 2)
}

func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	o := engine.Options{DataDir: t.TempDir(), Server: server.Options{Listen: "127.0.0.1:0"}}
	s, err := engine.New(t.Context(), o)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, patience) }()
	require.Eventually(t, func() bool {
		resp, err := http.Get("http://" + s.Addr().String() + "/health/live")
		if err == nil {
			_ = resp.Body.Close()
		}
		return err == nil
	}, patience, 5*time.Millisecond)
	cancel()
	require.NoError(t, <-done)
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

func TestANewServerThatNeverStartedCanBeStopped(t *testing.T) {
	t.Parallel()
	s, err := engine.New(t.Context(), engine.Options{DataDir: t.TempDir(), Server: server.Options{Listen: "127.0.0.1:0"}})
	require.NoError(t, err)
	require.NoError(t, s.Close(t.Context()))
	require.NoError(t, s.Close(t.Context()))
}

func TestNewClosesWhatItOpenedWhenItFails(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = taken.Close() }()
	broken := filepath.Join(t.TempDir(), "model.json")
	require.NoError(t, os.WriteFile(broken, []byte(`{"variables": [{"tagId": 1}]}`), 0o600))
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, c := range []struct {
		name, says string
		change     func(*engine.Options)
	}{
		{"port in use", "address already in use", func(o *engine.Options) { o.Server.Listen = taken.Addr().String() }},
		{"broken model file", "line 1", func(o *engine.Options) { o.Tags.ModelPath = broken }},
		{"no data directory", "DataDir is required", func(o *engine.Options) { o.DataDir = "" }},
		{"data directory is a file", "data directory", func(o *engine.Options) { o.DataDir = file }},
		{"driver id twice", "in use", func(o *engine.Options) { o.Tags.Drivers = append(o.Tags.Drivers, o.Tags.Drivers[0]) }},
		{"no driver", "nil Driver", func(o *engine.Options) { o.Tags.Drivers = []tagspart.Driver{{ID: "x"}} }},
		{"bad driver id", "not a driver id", func(o *engine.Options) { o.Tags.Drivers[0].ID = "a/b" }},
		{"bad tag", "tag definition is not valid", func(o *engine.Options) { o.Tags.Drivers[0].Options.Tags = []tags.Tag{{Name: "x"}} }},
		{"negative body limit", "MaxBody", func(o *engine.Options) { o.Server.MaxBodyBytes = -1 }},
		{"bad origin", "Origins", func(o *engine.Options) { o.Server.CORSOrigins = []string{"nonsense"} }},
		{"stores apart", "go together", func(o *engine.Options) { o.Accounts.Accounts = accounts.NewMemory() }},
		{"accounts that cannot be read", "the disk is gone", func(o *engine.Options) {
			memory := accounts.NewMemory()
			o.Accounts.Accounts, o.Accounts.Sessions = brokenAccounts{memory}, memory
		}},
	} {
		device := newDevice(nil)
		o := engine.Options{DataDir: t.TempDir(), Server: server.Options{Listen: "127.0.0.1:0"}, Tags: tagspart.Options{Drivers: []tagspart.Driver{{ID: "line", Driver: device}}}}
		c.change(&o)
		s, err := engine.New(t.Context(), o)
		require.ErrorContains(t, err, c.says, c.name)
		require.Nil(t, s)
	}
}

// brokenAccounts is a store whose disk has gone.
type brokenAccounts struct{ accounts.Store }

func (brokenAccounts) Accounts(context.Context) ([]accounts.Account, error) {
	return nil, errors.New("the disk is gone")
}
