package signalr_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/go-chi/chi/v5"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/transport/signalr"
)

func TestNegotiation(t *testing.T) {
	inBubble(t, signalr.Options{}, func(t *testing.T, r *rig) {
		seen := map[string]bool{}
		for query, version := range map[string]int{"": 0, "?negotiateVersion=0": 0, "?negotiateVersion=1": 1, "?negotiateVersion=7": 1} {
			status, body := r.do("POST", url+"/negotiate"+query, "")
			require.Equal(t, 200, status)
			var n negotiated
			require.NoError(t, json.Unmarshal([]byte(body), &n))
			require.Equal(t, version, n.NegotiateVersion)
			token := n.ConnectionToken
			if version == 0 {
				require.Empty(t, token)
				token = n.ConnectionID
			}
			require.Greater(t, len(token), 20)
			require.NotEqual(t, n.ConnectionID, n.ConnectionToken)
			require.False(t, seen[token])
			seen[token] = true
			require.JSONEq(t, `[{"transport":"WebSockets","transferFormats":["Text","Binary"]},{"transport":"ServerSentEvents","transferFormats":["Text"]},{"transport":"LongPolling","transferFormats":["Text","Binary"]}]`,
				body[strings.Index(body, "["):len(body)-1])
			status, _ = r.do("GET", url+"?id="+token, "")
			require.Equal(t, 200, status)
			if version == 1 {
				status, _ = r.do("GET", url+"?id="+n.ConnectionID, "")
				require.Equal(t, 404, status, "what may be shown opens nothing")
			}
		}
		for _, bad := range []string{"x", "-1", "1e9999"} {
			status, body := r.do("POST", url+"/negotiate?negotiateVersion="+bad, "")
			require.Equal(t, 400, status)
			require.Contains(t, body, `"INVALID_REQUEST"`)
		}
	})
}

func TestNegotiatedIDExpires(t *testing.T) {
	inBubble(t, signalr.Options{}, func(t *testing.T, r *rig) {
		used, unused := r.negotiate(), r.negotiate()
		time.Sleep(14 * time.Second)
		p := r.dial(used)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		status, _ := r.do("GET", unused, "")
		require.Equal(t, 404, status)
		p.send(hello)
		require.Equal(t, `{}`, p.next())
	})
}

func TestRefusals(t *testing.T) {
	inBubble(t, signalr.Options{}, func(t *testing.T, r *rig) {
		_, events := r.stream()
		polling := r.poller()
		socket := r.negotiate()
		r.dial(socket)
		upgrade := []string{"Upgrade", "websocket", "Connection", "Upgrade", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="}
		sse := []string{"Accept", "text/event-stream"}
		for _, row := range []struct {
			method, url string
			header      []string
			status      int
		}{
			{"GET", url + "?id=unknown", nil, 404}, {"GET", url + "?id=unknown", sse, 404}, {"GET", url + "?id=unknown", upgrade, 404},
			{"POST", url + "?id=unknown", nil, 404}, {"DELETE", url + "?id=unknown", nil, 404},
			{"GET", url, nil, 400}, {"GET", url, sse, 400}, {"POST", url, nil, 400}, {"DELETE", url, nil, 400},
			{"GET", events, nil, 409}, {"GET", events, sse, 409}, {"GET", events, upgrade, 409},
			{"GET", socket, nil, 409}, {"GET", socket, sse, 409}, {"GET", socket, upgrade, 409}, {"POST", socket, nil, 409},
			{"GET", polling, sse, 409}, {"GET", polling, upgrade, 409},
			{"PUT", url, nil, 405}, {"HEAD", url, nil, 405}, {"GET", url + "/negotiate", nil, 405},
			{"OPTIONS", url, nil, 204}, {"OPTIONS", url + "/negotiate", nil, 204},
		} {
			status, body := r.do(row.method, row.url, "", row.header...)
			require.Equal(t, row.status, status, "%v", row)
			if status != 204 && row.method != "HEAD" {
				require.Contains(t, body, `"type":"about:blank"`)
			}
		}
	})
}

func TestBadUpgrade(t *testing.T) {
	inBubble(t, signalr.Options{}, func(t *testing.T, r *rig) {
		status, _ := r.do("GET", url, "", "Upgrade", "websocket", "Connection", "Upgrade", "Sec-WebSocket-Version", "12")
		require.Equal(t, 400, status)
		synctest.Wait()
		require.Zero(t, r.Stats())
	})
}

func TestMaxConnections(t *testing.T) {
	inBubble(t, signalr.Options{MaxConnections: 2}, func(t *testing.T, r *rig) {
		first := r.socket()
		r.negotiate()
		status, body := r.do("POST", url+"/negotiate", "")
		require.Equal(t, 503, status)
		require.Contains(t, body, "HUB_FULL")
		_, _, err := websocket.Dial(t.Context(), url, &websocket.DialOptions{HTTPClient: r.client})
		require.ErrorContains(t, err, "503")
		require.Equal(t, signalr.Stats{WebSockets: 1, Connecting: 1, Refused: 2}, r.Stats())
		first.leave()
		synctest.Wait()
		r.socket()
	})
}

// One caller does not use up the places of the others, and a place that was negotiated and never used becomes free.
func TestPlacesAreCountedByOwner(t *testing.T) {
	var principal, address string
	inBubble(t, signalr.Options{Owner: func(context.Context) (string, string) { return principal, address }, MaxPerAddress: 150}, func(t *testing.T, r *rig) {
		negotiate := func(from, at string) int {
			principal, address = from, at
			status, body := r.do("POST", url+"/negotiate", "")
			if status != 200 {
				require.Contains(t, body, "HUB_TOO_MANY_CONNECTIONS")
			}
			return status
		}
		principal, address = "viewer", "here"
		open := r.socket()
		for range 99 {
			require.Equal(t, 200, negotiate("viewer", "here"))
		}
		require.Equal(t, 429, negotiate("viewer", "elsewhere"))
		_, _, err := websocket.Dial(t.Context(), url, &websocket.DialOptions{HTTPClient: r.client})
		require.ErrorContains(t, err, "429", "without a negotiation as well")
		for range 50 {
			require.Equal(t, 200, negotiate("operator", "here"))
		}
		require.Equal(t, 429, negotiate("admin", "here"))
		require.Equal(t, 200, negotiate("admin", "elsewhere"))
		time.Sleep(15 * time.Second)
		synctest.Wait()
		require.Equal(t, signalr.Stats{WebSockets: 1, Refused: 3}, r.Stats())
		for range 99 {
			require.Equal(t, 200, negotiate("viewer", "here"))
		}
		require.Equal(t, 429, negotiate("viewer", "here"))
		open.leave()
		synctest.Wait()
		require.Equal(t, 200, negotiate("viewer", "here"))
	})
}

func TestOrigins(t *testing.T) {
	for origin, want := range map[string]string{ // who may
		"": "all", "http://plant": "all", "https://PLANT": "all", "https://hmi.example.com": "listed any", "https://HMI.example.com": "listed any",
		"http://hmi.example.com": "any", "https://evil.example.com": "any", "null": "any", "http://plant.evil.example.com": "any", "http://plant:81": "any",
	} {
		for hub, origins := range map[string][]string{"default": nil, "listed": {"https://hmi.example.com"}, "any": {"*"}} {
			inBubble(t, signalr.Options{AllowedOrigins: origins}, func(t *testing.T, r *rig) {
				header := http.Header{}
				if origin != "" {
					header.Set("Origin", origin)
				}
				socket, _, err := websocket.Dial(t.Context(), url, &websocket.DialOptions{HTTPClient: r.client, HTTPHeader: header})
				if want != "all" && !strings.Contains(want, hub) {
					require.ErrorContains(t, err, "403", "%s at %s", origin, hub)
					return
				}
				require.NoError(t, err, "%s at %s", origin, hub)
				require.NoError(t, socket.CloseNow())
			})
		}
	}
}

func TestServerSentEvents(t *testing.T) {
	inBubble(t, signalr.Options{}, func(t *testing.T, r *rig) {
		p, at := r.stream()
		require.Equal(t, 1, r.Stats().ServerSentEvents)
		for i := range 3 {
			require.NoError(t, r.Broadcast("ReceiveAlarm", i))
		}
		require.Equal(t, call("0"), p.next())
		require.Equal(t, call("1"), p.next())
		require.Equal(t, call("2"), p.next())
		status, _ := r.do("POST", at, `{"type":1,"invocationId":"1","target":"x","arguments":[]}`+"\x1e")
		require.Equal(t, 200, status)
		require.Contains(t, p.next(), `"invocationId":"1"`)
		for range 10 { // longer than any time limit of the server
			require.Equal(t, `{"type":6}`, p.next())
			status, _ = r.do("POST", at, pinging)
			require.Equal(t, 200, status)
		}
		status, _ = r.do("POST", at, strings.Repeat(" ", 33<<10))
		require.Equal(t, 413, status)
		p.leave()
		synctest.Wait()
		require.Zero(t, r.Stats().ServerSentEvents)
		status, _ = r.do("POST", at, pinging)
		require.Equal(t, 404, status)
	})
}

func TestLongPolling(t *testing.T) {
	inBubble(t, signalr.Options{}, func(t *testing.T, r *rig) {
		at := r.poller()
		require.Equal(t, 1, r.Stats().LongPolling)
		require.NoError(t, r.Broadcast("ReceiveAlarm", 1))
		require.NoError(t, r.Broadcast("ReceiveAlarm", 2))
		_, body := r.do("GET", at, "")
		require.Equal(t, call("1")+"\x1e"+call("2")+"\x1e", body, "what came between two polls")

		time.AfterFunc(80*time.Second, func() { _ = r.Broadcast("ReceiveAlarm", 3) })
		_, body = r.do("GET", at, "")
		require.Equal(t, call("3")+"\x1e", body, "what came during a poll")

		start := time.Now()
		status, body := r.do("GET", at, "")
		require.Equal(t, 200, status)
		require.Empty(t, body)
		require.Equal(t, 90*time.Second, time.Since(start))

		go func() { // a canceled poll loses nothing
			time.Sleep(time.Second)
			_ = r.Broadcast("ReceiveAlarm", 4)
		}()
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, "GET", at, nil)
		require.NoError(t, err)
		_, err = r.client.Do(req)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		time.Sleep(time.Second)
		_, body = r.do("GET", at, "")
		require.Equal(t, call("4")+"\x1e", body)
	})
}

// broken is an answer that its client never receives.
type broken struct {
	*httptest.ResponseRecorder
	write func() error
}

func (b *broken) Write(p []byte) (int, error) { return len(p), b.write() }

func TestWhatAPollDidNotDeliverComesWithTheNext(t *testing.T) {
	inBubble(t, signalr.Options{}, func(t *testing.T, r *rig) {
		at := r.poller()
		ctx, giveUp := context.WithCancel(t.Context())
		for i, write := range []func() error{
			func() error { return errors.New("connection reset by peer") },
			func() error { return os.ErrDeadlineExceeded },
			func() error { giveUp(); return nil },
		} {
			require.NoError(t, r.Broadcast("ReceiveAlarm", i))
			r.ServeHTTP(&broken{httptest.NewRecorder(), write}, httptest.NewRequestWithContext(ctx, "GET", at, nil))
		}
		require.NoError(t, r.Broadcast("ReceiveAlarm", 3))
		_, body := r.do("GET", at, "")
		require.Equal(t, call("0")+"\x1e"+call("1")+"\x1e"+call("2")+"\x1e"+call("3")+"\x1e", body)

		require.NoError(t, r.Broadcast("ReceiveAlarm", 4))
		_, body = r.do("GET", at, "")
		require.Equal(t, call("4")+"\x1e", body, "what was delivered does not come again")
	})
}

// A client that asks for the end of the HTTP connection closes it as soon as it has the answer.
func TestAHungUpPollWasDelivered(t *testing.T) {
	inBubble(t, signalr.Options{}, func(t *testing.T, r *rig) {
		at := r.poller()
		require.NoError(t, r.Broadcast("ReceiveAlarm", 1))
		ctx, hangUp := context.WithCancel(t.Context())
		poll := httptest.NewRequestWithContext(ctx, "GET", at, nil)
		poll.Close = true
		r.ServeHTTP(&broken{httptest.NewRecorder(), func() error { hangUp(); return nil }}, poll)
		require.NoError(t, r.Broadcast("ReceiveAlarm", 2))
		_, body := r.do("GET", at, "")
		require.Equal(t, call("2")+"\x1e", body)
	})
}

func TestLongPollEnds(t *testing.T) {
	inBubble(t, signalr.Options{}, func(t *testing.T, r *rig) {
		at := r.poller()
		polled := make(chan int)
		go func() {
			status, _ := r.do("GET", at, "")
			polled <- status
		}()
		synctest.Wait()
		again := make(chan string)
		go func() {
			_, body := r.do("GET", at, "")
			again <- body
		}()
		require.Equal(t, 200, <-polled, "the client has done with a poll when it polls again")
		synctest.Wait()
		require.NoError(t, r.Broadcast("ReceiveAlarm", 1))
		require.Equal(t, call("1")+"\x1e", <-again)

		go func() {
			status, _ := r.do("GET", at, "")
			polled <- status
		}()
		synctest.Wait()
		status, _ := r.do("DELETE", at, "")
		require.Equal(t, 202, status)
		require.Equal(t, 204, <-polled)
		status, _ = r.do("GET", at, "")
		require.Equal(t, 404, status)

		idle := r.poller()
		time.Sleep(29 * time.Second)
		status, _ = r.do("POST", idle, pinging)
		require.Equal(t, 200, status)
		time.Sleep(31 * time.Second)
		synctest.Wait()
		require.Equal(t, signalr.Stats{Broadcasts: 1}, r.Stats())
		status, _ = r.do("GET", idle, "")
		require.Equal(t, 404, status)

		silent := r.negotiate()
		status, _ = r.do("GET", silent, "")
		require.Equal(t, 200, status)
		status, body := r.do("GET", silent, "")
		require.Equal(t, 200, status)
		require.Equal(t, []string{`{"error":"The handshake took too long."}`, ""}, strings.Split(body, "\x1e"))
	})
}

// Over HTTP/2 a stream whose write deadline passes is reset although nothing is written.
func TestHTTP2(t *testing.T) {
	var versions http.Protocols
	versions.SetUnencryptedHTTP2(true)
	synctest.Test(t, func(t *testing.T) {
		r := newRigOver(t, signalr.Options{WriteTimeout: time.Second, PollTimeout: 3 * time.Second}, &versions)
		p, _ := r.stream()
		time.Sleep(3 * time.Second)
		require.NoError(t, r.Broadcast("ReceiveAlarm", 1))
		require.Equal(t, call("1"), p.next())
		p.leave()

		at := r.negotiate()
		r.do("GET", at, "")
		r.do("POST", at, hello)
		for _, want := range []string{"{}\x1e", ""} {
			res, err := r.client.Get(at)
			require.NoError(t, err)
			require.Equal(t, 2, res.ProtoMajor)
			all, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.Equal(t, want, string(all))
			require.NoError(t, res.Body.Close())
		}
		r.do("DELETE", at, "")
	})
}

func TestMountedInARouter(t *testing.T) {
	hub, err := signalr.New(signalr.Options{})
	require.NoError(t, err)
	router := chi.NewRouter()
	router.Get("/hubs/alarms", hub.ServeHTTP)
	router.Post("/hubs/alarms", hub.ServeHTTP)
	router.Delete("/hubs/alarms", hub.ServeHTTP)
	router.Post("/hubs/alarms/negotiate", hub.ServeHTTP)
	server := httptest.NewServer(router)
	defer server.Close()
	defer func() { require.NoError(t, hub.Close(t.Context())) }()
	r := &rig{t: t, Hub: hub, client: server.Client()}
	status, body := r.do("POST", server.URL+"/hubs/alarms/negotiate?negotiateVersion=1", "")
	require.Equal(t, 200, status)
	var n negotiated
	require.NoError(t, json.Unmarshal([]byte(body), &n))
	p := r.dial(server.URL + "/hubs/alarms?id=" + n.ConnectionToken)
	p.send(hello)
	require.Equal(t, `{}`, p.next())
	p.leave()
}

// The token of a connection may leak through a log; it is of no use to others.
func TestAConnectionBelongsToWhoBeganIt(t *testing.T) {
	principal := "vera"
	inBubble(t, signalr.Options{Owner: func(context.Context) (string, string) { return principal, "here" }}, func(t *testing.T, r *rig) {
		at := r.poller()
		principal = "otto"
		for _, method := range []string{"GET", "POST", "DELETE"} {
			status, body := r.do(method, at, "{}\x1e")
			require.Equal(t, 403, status, method)
			require.Contains(t, body, "HUB_CONNECTION_NOT_YOURS")
		}
		_, _, err := websocket.Dial(t.Context(), at, &websocket.DialOptions{HTTPClient: r.client})
		require.ErrorContains(t, err, "403")
		principal = "vera"
		status, _ := r.do("POST", at, `{"type":6}`+"\x1e")
		require.Equal(t, 200, status)
	})
}
