package signalr_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/signalr"
)

// poll returns the messages of one long poll, with its status.
func (r *rig) poll(url string) (status int, records []string) {
	r.t.Helper()
	status, body := r.do("GET", url, "")
	if body == "" {
		return status, nil
	}
	return status, strings.Split(strings.TrimSuffix(body, "\x1e"), "\x1e")
}

func TestOrderIsTheSameForAll(t *testing.T) {
	const callers, each = 4, 250
	inBubble(t, signalr.Options{}, func(t *testing.T, r *rig) {
		first := r.socket()
		second, _ := r.stream()
		third := r.poller()
		var wg sync.WaitGroup
		for i := range callers {
			wg.Go(func() {
				for j := range each {
					if err := r.Broadcast("ReceiveAlarm", i*each+j); err != nil {
						t.Error(err)
					}
				}
			})
		}
		var order, polled []string
		last := [callers]int{}
		for range callers * each {
			record := first.next()
			n, err := strconv.Atoi(record[strings.Index(record, "[")+1 : strings.Index(record, "]")])
			require.NoError(t, err)
			require.Equal(t, last[n/each], n%each, "a caller's messages come in its order, none missing")
			last[n/each]++
			order = append(order, record)
		}
		wg.Wait()
		for _, want := range order {
			require.Equal(t, want, second.next())
		}
		for len(polled) < len(order) {
			_, records := r.poll(third)
			polled = append(polled, records...)
		}
		require.Equal(t, order, polled)
	})
}

func TestStalledClientsAreCut(t *testing.T) {
	const messages = 10_000
	var log bytes.Buffer
	opts := signalr.Options{QueueMessages: 500, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	inBubble(t, opts, func(t *testing.T, r *rig) {
		for range 3 {
			r.socket() // no longer reads
		}
		r.stream()
		r.poller()
		var wg sync.WaitGroup
		for range 3 {
			p := r.socket()
			wg.Go(func() {
				for i := range messages {
					if got, err := p.read(); err != nil || got != call(strconv.Itoa(i)) {
						t.Errorf("%d: %s, %v", i, got, err)
						return
					}
				}
			})
		}
		start := time.Now()
		for i := range messages {
			require.NoError(t, r.Broadcast("ReceiveAlarm", i))
			if i%100 == 0 {
				synctest.Wait() // the good ones keep up
			}
		}
		wg.Wait()
		require.Equal(t, start, time.Now(), "nobody waited")
		synctest.Wait()
		require.Equal(t, signalr.Stats{WebSockets: 3, Broadcasts: messages, Cut: 5}, r.Stats())
		require.Equal(t, 5, strings.Count(log.String(), `cause="client reads too slowly"`))
		require.NotContains(t, log.String(), "id=", "a URL opens a connection")
	})
}

func TestStalledWriteIsCut(t *testing.T) {
	inBubble(t, signalr.Options{ClientTimeout: time.Hour}, func(t *testing.T, r *rig) {
		r.socket()
		r.stream()
		require.NoError(t, r.Broadcast("ReceiveAlarm", strings.Repeat("x", 64<<10)))
		time.Sleep(9 * time.Second)
		synctest.Wait()
		require.Zero(t, r.Stats().Cut)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Equal(t, signalr.Stats{Broadcasts: 1, Cut: 2}, r.Stats())
	})
}

func TestQueueIsBoundedByBytes(t *testing.T) {
	inBubble(t, signalr.Options{QueueBytes: 1000}, func(t *testing.T, r *rig) {
		at := r.poller()
		require.NoError(t, r.Broadcast("ReceiveAlarm", strings.Repeat("x", 5000))) // one is always taken
		_, records := r.poll(at)
		require.Len(t, records, 1)
		for range 2 {
			require.NoError(t, r.Broadcast("ReceiveAlarm", strings.Repeat("x", 600)))
		}
		synctest.Wait()
		require.Equal(t, uint64(1), r.Stats().Cut)
		status, _ := r.poll(at)
		require.Equal(t, 404, status)
	})
}

var _ = signalr.Options{Lifetime: auth.Lifetime} // is made for it

func TestLifetime(t *testing.T) {
	var stopped atomic.Int32
	opts := signalr.Options{KeepAlive: time.Hour, ClientTimeout: time.Hour, Lifetime: func(ctx context.Context) (context.Context, func()) {
		if ctx.Done() != nil {
			t.Error("the request's end is not the connection's")
		}
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		return ctx, func() {
			cancel()
			stopped.Add(1)
		}
	}}
	inBubble(t, opts, func(t *testing.T, r *rig) {
		start := time.Now()
		const want = `{"type":7,"error":"The lifetime of the connection has ended.","allowReconnect":true}`
		socket := r.socket()
		events, _ := r.stream()
		polling := r.poller()
		_, records := r.poll(polling)
		require.Equal(t, []string{want}, records)
		require.Equal(t, time.Minute, time.Since(start))
		require.JSONEq(t, want, socket.next())
		require.JSONEq(t, want, events.next())
		socket.ended()
		events.ended()
		synctest.Wait()
		status, _ := r.poll(polling)
		require.Equal(t, 404, status)
		require.Equal(t, int32(3), stopped.Load())

		r.socket().leave() // and when the client goes first
		synctest.Wait()
		require.Equal(t, int32(4), stopped.Load())
		require.Zero(t, r.Stats())
	})
}

func TestLifetimeHasTheValuesOfTheRequest(t *testing.T) {
	opts := signalr.Options{Lifetime: func(ctx context.Context) (context.Context, func()) {
		if ctx.Value(http.ServerContextKey) == nil { // which net/http puts into each request
			t.Error("the values of the request are lost")
		}
		return ctx, func() {}
	}}
	inBubble(t, opts, func(t *testing.T, r *rig) {
		r.socket()
		r.stream()
		r.poller()
	})
}

func TestClose(t *testing.T) {
	inBubble(t, signalr.Options{}, func(t *testing.T, r *rig) {
		const want = `{"type":7,"allowReconnect":true}`
		socket := r.socket()
		events, _ := r.stream()
		polling, early := r.poller(), r.dial(url)
		r.negotiate()
		require.NoError(t, r.Broadcast("ReceiveAlarm", 1))
		closed := make(chan error)
		go func() { closed <- r.Close(t.Context()) }()
		synctest.Wait()

		_, records := r.poll(polling)
		require.Equal(t, []string{call("1"), want}, records)
		for _, p := range []*peer{socket, events} { // what was queued comes first
			require.Equal(t, call("1"), p.next())
			require.Equal(t, want, p.next())
			p.ended()
		}
		require.JSONEq(t, `{"error":"The server is closing."}`, early.next())
		early.ended()
		require.NoError(t, <-closed)
		require.Equal(t, signalr.Stats{Broadcasts: 1}, r.Stats())

		status, body := r.do("POST", url+"/negotiate", "")
		require.Equal(t, 503, status)
		require.Contains(t, body, "HUB_CLOSED")
		require.NoError(t, r.Broadcast("ReceiveAlarm", 2))
		require.NoError(t, r.Close(t.Context()))
	})
}

func TestCloseCutsWhoDoesNotLeave(t *testing.T) {
	inBubble(t, signalr.Options{}, func(t *testing.T, r *rig) {
		r.socket()
		r.stream()
		r.poller()
		require.NoError(t, r.Broadcast("ReceiveAlarm", strings.Repeat("x", 64<<10)))
		synctest.Wait()
		errLate, start := errors.New("late"), time.Now()
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errLate)
		defer cancel()
		require.ErrorIs(t, r.Close(ctx), errLate)
		require.Equal(t, time.Second, time.Since(start))
		require.Equal(t, signalr.Stats{Broadcasts: 1}, r.Stats())
	})
}

func TestCloseWaitsShortlyForAPollThatDoesNotCome(t *testing.T) {
	inBubble(t, signalr.Options{}, func(t *testing.T, r *rig) {
		r.poller()
		start := time.Now()
		require.NoError(t, r.Close(t.Context()))
		require.Equal(t, 2*time.Second, time.Since(start))
	})
}

func TestClosesBesideConnects(t *testing.T) {
	for range 20 {
		inBubble(t, signalr.Options{}, func(t *testing.T, r *rig) {
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					status, body := r.do("POST", url+"/negotiate", "")
					expected := []int{503}
					if status == 200 {
						status, _ = r.do("GET", url+"?id="+body[strings.Index(body, `"connectionId":"`)+16:][:26], "")
						expected = []int{200, 404}
					}
					if !slices.Contains(expected, status) {
						t.Errorf("answered with %d", status)
					}
				})
			}
			require.NoError(t, r.Close(t.Context()))
			wg.Wait()
			require.Zero(t, r.Stats())
		})
	}
}

// TestWaitForRoom sends far more than a queue holds to a client that reads, and fills the queue of one that does not.
func TestWaitForRoom(t *testing.T) {
	inBubble(t, signalr.Options{QueueMessages: 100}, func(t *testing.T, r *rig) {
		client := r.socket()
		require.Equal(t, 1, r.Clients())
		const messages = 2000
		go func() {
			for i := range messages {
				if i%40 == 0 {
					r.WaitForRoom(t.Context(), time.Minute)
				}
				if err := r.Broadcast("ReceiveAlarm", i); err != nil {
					t.Error(err)
				}
			}
		}()
		for i := range messages {
			require.Contains(t, client.next(), "["+strconv.Itoa(i)+"]")
		}
		require.NoError(t, r.Broadcast("ReceiveAlarm", "the client does not read this"))
		synctest.Wait()
		for range 90 {
			require.NoError(t, r.Broadcast("ReceiveAlarm", "so that these wait"))
		}
		began := time.Now()
		r.WaitForRoom(t.Context(), time.Second)
		require.Equal(t, time.Second, time.Since(began))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r.WaitForRoom(ctx, time.Second)
		require.Equal(t, time.Second, time.Since(began))
	})
}
