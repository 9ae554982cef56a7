package logging

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// The lines are the ones that slog would have written.
func TestLinesOfRequestsAreAsSlogWritesThem(t *testing.T) {
	texts := []string{"", "plain", "two words", "a=b", "/api/v1/tags?x=1&y=<2>", "[::1]:80", `"`, `\`, "ä", "\n", "\x7f", "\xff"}
	for _, zone := range []*time.Location{time.UTC, time.FixedZone("", 5*3600+1800), time.FixedZone("", -3600)} {
		now := time.Date(2026, 3, 1, 8, 15, 2, 7_000_123, zone)
		for _, text := range texts {
			for _, r := range []Request{
				{Method: "GET", Path: text, Status: 200, Bytes: 366, Began: now.Add(-1234 * time.Microsecond), Ended: now, Remote: "192.0.2.7:4711", Subject: "anna", TraceID: "0af7"},
				{Method: "gRPC", Path: "/p.S/M", Began: now, Ended: now, Code: text, Remote: text, Subject: text, TraceID: "0af7"},
			} {
				for _, json := range []bool{false, true} {
					var want, got bytes.Buffer
					record := slog.NewRecord(now, slog.LevelInfo, "request", 0)
					record.AddAttrs(r.attrs()...)
					var plain slog.Handler = slog.NewTextHandler(&want, nil)
					if json {
						plain = slog.NewJSONHandler(&want, nil)
					}
					require.NoError(t, plain.Handle(t.Context(), record))
					if !r.isPlain() {
						require.NotEqual(t, "plain", text)
						continue
					}
					New(&got, Options{JSON: json}).Handler().(*handler).request(slog.LevelInfo, &r)
					require.Equal(t, want.String(), got.String())
				}
			}
		}
	}
}

func TestLinesOfRequestsObeyTheLogger(t *testing.T) {
	var out bytes.Buffer
	level := new(slog.LevelVar)
	log := New(&out, Options{Level: level})
	r := Request{Method: "GET", Path: "/x\n", Status: 200}
	r.Log(t.Context(), log, slog.LevelDebug)
	require.Empty(t, out.String())
	r.Log(t.Context(), log, slog.LevelInfo)
	require.Contains(t, out.String(), `path="/x\n" status=200`)
	out.Reset()
	r.Log(t.Context(), log.With("engine", "a"), slog.LevelInfo)
	require.Contains(t, out.String(), "engine=a")
	out.Reset()
	level.Set(slog.LevelDebug)
	r.Path = "/x"
	r.Log(t.Context(), log, slog.LevelDebug)
	require.Contains(t, out.String(), "level=DEBUG msg=request method=GET path=/x status=200")
}

// sink counts writes.
type sink struct {
	mu     sync.Mutex
	text   strings.Builder
	writes int
	err    error
}

func (s *sink) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	if s.err != nil {
		return 0, s.err
	}
	return s.text.Write(b)
}

// paths are the paths and messages in the order of the lines.
func (s *sink) paths() (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for line := range strings.Lines(s.text.String()) {
		for _, field := range strings.Fields(line) {
			if name, value, _ := strings.Cut(field, "="); name == "path" || name == "msg" && value != "request" {
				all = append(all, value)
			}
		}
	}
	return all
}

func TestBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &sink{}
		batch := NewBatch(out)
		log := New(batch, Options{})
		ask := func(path string) {
			Request{Method: "GET", Path: path, Status: 200}.Log(t.Context(), log, slog.LevelInfo)
		}

		ask("/1")
		ask("/2")
		require.Empty(t, out.paths(), "lines of requests wait")
		time.Sleep(batchInterval)
		synctest.Wait()
		require.Equal(t, []string{"/1", "/2"}, out.paths())
		require.Equal(t, 1, out.writes, "and are written together")

		ask("/3")
		log.Error("failed")
		require.Equal(t, []string{"/1", "/2", "/3", "failed"}, out.paths(), "nothing else waits, and the order stays")

		for i := range 1000 {
			ask(fmt.Sprint("/many/", i))
		}
		require.Greater(t, len(out.paths()), 500, "what waits is bounded")
		require.LessOrEqual(t, cap(batch.waiting), 2*batchSize)

		require.NoError(t, batch.Close())
		require.Len(t, out.paths(), 1004)
		ask("/late")
		log.Info("bye")
		require.Equal(t, []string{"/late", "bye"}, out.paths()[1004:], "after Close nothing waits")
		require.NoError(t, batch.Close())
	})
}

func TestBatchGoesOnAfterAFailure(t *testing.T) {
	out := &sink{err: errors.New("disk full")}
	batch := NewBatch(out)
	log := New(batch, Options{})
	Request{Method: "GET", Path: "/lost"}.Log(t.Context(), log, slog.LevelInfo)
	require.Error(t, batch.Flush())
	out.err = nil
	Request{Method: "GET", Path: "/kept"}.Log(t.Context(), log, slog.LevelInfo)
	require.NoError(t, batch.Close())
	require.Equal(t, []string{"/kept"}, out.paths())
}

func BenchmarkRequest(b *testing.B) {
	r := Request{Method: "GET", Path: "/api/v1/tags/sim.temperature", Status: 200, Bytes: 366, Began: time.Now(), Ended: time.Now(),
		Remote: "127.0.0.1:4711", Subject: "admin", TraceID: "0af7651916cd43dd8448eb211c80319c"}
	log := New(NewBatch(&sink{err: errors.New("none")}), Options{})
	b.Run("slog", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			log.LogAttrs(b.Context(), slog.LevelInfo, "request", r.attrs()...)
		}
	})
	b.Run("line", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r.Log(b.Context(), log, slog.LevelInfo)
		}
	})
}
