package signalr_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/signalr"
)

func TestHandshake(t *testing.T) {
	for name, row := range map[string]struct {
		frames []string
		want   []string // what comes before the connection is closed
	}{
		"good":              {[]string{hello}, []string{`{}`}},
		"further members":   {[]string{`{"version":1,"protocol":"json","x":[]}` + "\x1e"}, []string{`{}`}},
		"split":             {[]string{hello[:1], hello[1:9], hello[9:]}, []string{`{}`}},
		"joined":            {[]string{hello + pinging + `{"type":1,"target":"a","arguments":[],"invocationId":"7"}` + "\x1e"}, []string{`{}`, `{"type":3,"invocationId":"7","error":"The hub has no methods."}`}},
		"version 0":         {[]string{`{"protocol":"json","version":0}` + "\x1e"}, []string{`{}`}},
		"other protocol":    {[]string{`{"protocol":"xml","version":1}` + "\x1e"}, []string{`{"error":"The protocol is not supported, only 'json' and 'messagepack' are."}`, ""}},
		"other version":     {[]string{`{"protocol":"json","version":9}` + "\x1e"}, []string{`{"error":"The version of the 'json' protocol is not supported, only 1 is."}`, ""}},
		"no version":        {[]string{`{"protocol":"json"}` + "\x1e"}, []string{`{"error":"The version of the 'json' protocol is not supported, only 1 is."}`, ""}},
		"garbage":           {[]string{"GET / HTTP/1.1\x1e"}, []string{`{"error":"The handshake is not valid."}`, ""}},
		"nothing":           {[]string{"\x1e"}, []string{`{"error":"The handshake is not valid."}`, ""}},
		"too large":         {[]string{strings.Repeat("x", 32<<10), "x"}, []string{`{"error":"The message is too large."}`, ""}},
		"none within limit": {nil, []string{`{"error":"The handshake took too long."}`, ""}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, signalr.Options{}, func(t *testing.T, r *rig) {
				p, start := r.dial(url), time.Now()
				require.Equal(t, signalr.Stats{Connecting: 1}, r.Stats())
				for _, f := range row.frames {
					p.send(f)
				}
				for _, want := range row.want {
					if want == "" {
						p.ended()
						synctest.Wait()
						require.Zero(t, r.Stats())
						continue
					}
					require.Equal(t, want, p.next())
				}
				if row.frames == nil {
					require.Equal(t, 15*time.Second, time.Since(start))
				}
			})
		})
	}
}

func TestNothingIsSentBeforeTheHandshake(t *testing.T) {
	inBubble(t, signalr.Options{HandshakeTimeout: time.Hour}, func(t *testing.T, r *rig) {
		p := r.dial(url)
		require.NoError(t, r.Broadcast("ReceiveAlarm", 1))
		time.Sleep(50 * time.Second) // time for pings
		p.send(hello)
		require.Equal(t, `{}`, p.next())
		require.NoError(t, r.Broadcast("ReceiveAlarm", 2))
		require.Equal(t, call("2"), p.next())
	})
}

func TestKeepAlive(t *testing.T) {
	inBubble(t, signalr.Options{}, func(t *testing.T, r *rig) {
		p, start := r.socket(), time.Now()
		time.Sleep(10 * time.Second)
		require.NoError(t, r.Broadcast("ReceiveAlarm", 1))
		require.Equal(t, call("1"), p.next())
		for range 10 { // a client that pings stays
			require.Equal(t, `{"type":6}`, p.next())
			p.send(pinging)
		}
		require.Equal(t, 160*time.Second, time.Since(start), "pings come 15 s after the last message")
		require.Equal(t, `{"type":6}`, p.next())
		require.JSONEq(t, `{"type":7,"error":"The client has sent nothing for too long.","allowReconnect":true}`, closeOf(p))
		require.Equal(t, 190*time.Second, time.Since(start))
		p.ended()
		synctest.Wait()
		require.Zero(t, r.Stats().WebSockets)
	})
}

// closeOf returns the next message that is not a ping.
func closeOf(p *peer) string {
	for {
		if record := p.next(); record != `{"type":6}` {
			return record
		}
	}
}

func TestClientMessages(t *testing.T) {
	const refused = `{"type":3,"invocationId":"a\u0001b","error":"The hub has no methods."}`
	notValid := []string{`{"type":7,"error":"The message is not valid."}`, ""}
	for name, row := range map[string]struct {
		frames []string
		want   []string // "" is the end; otherwise the connection still works
	}{
		"invocation":         {[]string{`{"type":1,"invocationId":"a\u0001b","target":"x","arguments":[{}]}` + "\x1e"}, []string{refused}},
		"stream invocation":  {[]string{`{"type":4,"invocationId":"a\u0001b","target":"x","arguments":[]}` + "\x1e"}, []string{refused}},
		"without an answer":  {[]string{`{"type":1,"target":"x","arguments":[]}` + "\x1e"}, nil},
		"others":             {[]string{`{"type":2}` + "\x1e" + `{"type":3}` + "\x1e" + `{"type":5}` + "\x1e" + `{"type":8}` + "\x1e" + `{"type":9}` + "\x1e" + `{"type":-1}` + "\x1e"}, nil},
		"close":              {[]string{`{"type":7}` + "\x1e"}, []string{""}},
		"garbage":            {[]string{"\x00\xff\x1e"}, notValid},
		"empty":              {[]string{"\x1e"}, notValid},
		"no type":            {[]string{"{}\x1e"}, notValid},
		"type of other type": {[]string{`{"type":"6"}` + "\x1e"}, notValid},
		"not an object":      {[]string{"[6]\x1e"}, notValid},
		"second handshake":   {[]string{hello}, notValid},
		"too large in parts": {[]string{strings.Repeat(" ", 20<<10), strings.Repeat(" ", 20<<10)}, []string{`{"type":7,"error":"The message is too large."}`, ""}},
		"too large frame":    {[]string{strings.Repeat(" ", 33<<10)}, []string{""}},
		"many small":         {[]string{strings.Repeat(pinging, 2900), strings.Repeat(pinging, 2900)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, signalr.Options{}, func(t *testing.T, r *rig) {
				p := r.socket()
				for _, f := range row.frames {
					p.send(f)
				}
				for _, want := range row.want {
					if want == "" {
						p.ended()
						synctest.Wait()
						require.Zero(t, r.Stats().WebSockets)
						return
					}
					require.Equal(t, want, p.next())
				}
				require.NoError(t, r.Broadcast("ReceiveAlarm"))
				require.Equal(t, call(""), p.next())
			})
		})
	}
}

func TestBinaryFramesAreRead(t *testing.T) {
	inBubble(t, signalr.Options{}, func(t *testing.T, r *rig) {
		p := r.dial(url)
		require.NoError(t, p.socket.Write(t.Context(), websocket.MessageBinary, []byte(hello)))
		require.Equal(t, `{}`, p.next())
	})
}

func TestBroadcast(t *testing.T) {
	inBubble(t, signalr.Options{}, func(t *testing.T, r *rig) {
		p := r.socket()
		at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		require.NoError(t, r.Broadcast("ReceiveAlarm", "line\nbreak \x1e <ü>", nil, 1.5, at, json.RawMessage("{\n}"), map[string]int{"n": 1}))
		require.JSONEq(t, call(`"line\nbreak \u001e <ü>",null,1.5,"2026-01-02T03:04:05Z",{},{"n":1}`), p.next())

		err := r.Broadcast("ReceiveAlarm", math.NaN())
		require.ErrorIs(t, err, signalr.ErrNotEncodable)
		require.Equal(t, fault.Internal, fault.KindOf(err))
		require.NoError(t, r.Broadcast("ReceiveAlarm", "next"))
		require.Equal(t, call(`"next"`), p.next())
		require.Equal(t, uint64(2), r.Stats().Broadcasts)
	})
}

func TestOptions(t *testing.T) {
	for field, opts := range map[string]signalr.Options{
		"MaxConnections": {MaxConnections: -1}, "MaxMessageBytes": {MaxMessageBytes: -1}, "QueueMessages": {QueueMessages: -1},
		"QueueBytes": {QueueBytes: -1}, "HandshakeTimeout": {HandshakeTimeout: -1}, "KeepAlive": {KeepAlive: -1},
		"ClientTimeout": {ClientTimeout: -1}, "WriteTimeout": {WriteTimeout: -1}, "PollTimeout": {PollTimeout: -1},
		"PollIdle": {PollIdle: -1}, "AllowedOrigins": {AllowedOrigins: []string{"hmi.example.com"}},
	} {
		_, err := signalr.New(opts)
		require.ErrorContains(t, err, "signalr: "+field)
	}
}
