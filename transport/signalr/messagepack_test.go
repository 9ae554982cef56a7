package signalr_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/otkit/otkit/transport/signalr"
)

const (
	helloPacked   = `{"protocol":"messagepack","version":1}` + "\x1e"
	pingingPacked = "\x02\x91\x06"
)

// pack returns a message of a client.
func pack(t testing.TB, values ...any) string {
	t.Helper()
	body, err := msgpack.Marshal(values)
	require.NoError(t, err)
	return string(binary.AppendUvarint(nil, uint64(len(body)))) + string(body)
}

// unpack returns the messages of data, all of which must be whole, as JSON.
func unpack(t testing.TB, data []byte) (messages []string) {
	t.Helper()
	for in := bytes.NewReader(data); in.Len() > 0; {
		length, err := binary.ReadUvarint(in)
		require.NoError(t, err)
		body := make([]byte, length)
		_, err = io.ReadFull(in, body)
		require.NoError(t, err)
		var values []any
		require.NoError(t, msgpack.Unmarshal(body, &values))
		text, err := json.Marshal(values)
		require.NoError(t, err)
		messages = append(messages, string(text))
	}
	return messages
}

// packedSocket returns a connected client of a WebSocket that speaks MessagePack.
func (r *rig) packedSocket() *peer {
	r.t.Helper()
	p := r.dial(url)
	p.send(helloPacked)
	require.Equal(r.t, "{}\x1e", string(p.frame()))
	return p
}

// frame returns the next frame, which must be binary.
func (p *peer) frame() []byte {
	p.t.Helper()
	kind, data, err := p.socket.Read(p.t.Context())
	require.NoError(p.t, err)
	require.Equal(p.t, websocket.MessageBinary, kind)
	return data
}

func (p *peer) nextPacked() string {
	p.t.Helper()
	for len(p.unpacked) == 0 {
		p.unpacked = unpack(p.t, p.frame())
	}
	first := p.unpacked[0]
	p.unpacked = p.unpacked[1:]
	return first
}

// The same values come in both protocols, whatever made them.
func TestBroadcastInMessagePack(t *testing.T) {
	inBubble(t, signalr.Options{}, func(t *testing.T, r *rig) {
		text, packed := r.socket(), r.packedSocket()
		at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
		require.NoError(t, r.Broadcast("ReceiveAlarm", "größer \"als\"\n\u2028\x1e", nil, true, 1.5, -3, uint64(1<<63), json.RawMessage("[{\"b\":1e3,\"a\":{}}]"),
			struct {
				At    time.Time `json:"at"`
				Level int       `json:"level,string"`
			}{at, 7}))
		require.JSONEq(t, `[1,{},null,"ReceiveAlarm",["größer \"als\"\n\u2028\u001e",null,true,1.5,-3,9223372036854775808,[{"a":{},"b":1000}],
			{"at":"2026-01-02T03:04:05.000000006Z","level":"7"}],[]]`, packed.nextPacked())
		require.Contains(t, text.next(), "2026-01-02T03:04:05.000000006Z")
		require.NoError(t, r.Broadcast("ReceiveAlarm"))
		require.Equal(t, `[1,{},null,"ReceiveAlarm",[],[]]`, packed.nextPacked())
		require.Equal(t, call(""), text.next())
		require.Equal(t, `[6]`, packed.nextPacked(), "a ping")
		packed.leave()
		synctest.Wait()
		require.NoError(t, r.Broadcast("ReceiveAlarm", 1))
	})
}

func TestMessagePackIsMadeOnlyForClientsThatSpeakIt(t *testing.T) {
	inBubble(t, signalr.Options{QueueMessages: 1 << 20, QueueBytes: 1 << 30}, func(t *testing.T, r *rig) {
		broadcast := func() { require.NoError(t, r.Broadcast("ReceiveAlarm", alarm, "Critical", 7)) }
		before := testing.AllocsPerRun(100, broadcast)
		p := r.packedSocket()
		require.Greater(t, testing.AllocsPerRun(100, broadcast), before+5)
		p.leave()
		synctest.Wait()
		require.InDelta(t, before, testing.AllocsPerRun(100, broadcast), 1)
	})
}

func TestClientMessagesInMessagePack(t *testing.T) {
	const refused = `[3,{},"7",1,"The hub has no methods."]`
	notValid, tooLarge := []string{`[7,"The message is not valid.",false]`, ""}, []string{`[7,"The message is too large.",false]`, ""}
	invoke := pack(t, 1, map[string]string{"Authorization": "Bearer x"}, "7", "x", []any{1, map[string]any{"a": []any{nil, 1.5, time.Unix(1, 1)}}}, []string{})
	for name, row := range map[string]struct {
		frames []string
		want   []string // "" is the end; otherwise the connection still works
	}{
		"invocation":        {[]string{invoke}, []string{refused}},
		"without streams":   {[]string{pack(t, 1, nil, "7", "x", []any{})}, []string{refused}},
		"stream invocation": {[]string{pack(t, 4, map[string]string{}, "7", "x", []any{}, []string{})}, []string{refused}},
		"without an answer": {[]string{pack(t, 1, map[string]string{}, nil, "x", []any{})}, nil},
		"others":            {[]string{pack(t, 2) + pack(t, 3, nil) + pack(t, 5) + pack(t, 8, 1) + pack(t, 9, 1) + pack(t, -1) + pack(t, 99, make([]int, 100))}, nil},
		"split":             {[]string{invoke[:1], invoke[1:2], invoke[2:9], invoke[9:]}, []string{refused}},
		"joined":            {[]string{invoke + invoke[:9], invoke[9:] + pingingPacked + invoke}, []string{refused, refused, refused}},
		"a long prefix":     {[]string{"\x82\x80\x80\x80\x00\x91\x06"}, nil},
		"close":             {[]string{pack(t, 7, nil)}, []string{""}},

		"empty":                {[]string{"\x00"}, notValid},
		"an empty array":       {[]string{"\x01\x90"}, notValid},
		"not an array":         {[]string{"\x01\x06"}, notValid},
		"a map":                {[]string{"\x03\x81\x06\x06"}, notValid},
		"no type":              {[]string{"\x02\x91\xc0"}, notValid},
		"type of other type":   {[]string{pack(t, "6")}, notValid},
		"too few members":      {[]string{pack(t, 1, nil, "7", "x")}, notValid},
		"id of other type":     {[]string{pack(t, 1, nil, 7, "x", []any{})}, notValid},
		"more than the array":  {[]string{"\x03\x91\x06\x06"}, notValid},
		"less than the array":  {[]string{"\x02\x92\x06"}, notValid},
		"4 billion members":    {[]string{"\x06\xdd\xff\xff\xff\xff\x06"}, notValid},
		"4 billion pairs":      {[]string{"\x07\x92\x06\xdf\xff\xff\xff\xff"}, notValid},
		"4 billion bytes":      {[]string{"\x08\x92\x06\xc6\xff\xff\xff\xff\x00"}, notValid},
		"a huge extension":     {[]string{"\x08\x92\x06\xc9\xff\xff\xff\xff\x00"}, notValid},
		"what is never used":   {[]string{"\x03\x92\x06\xc1"}, notValid},
		"deep":                 {[]string{"\x80\x7d" + "\x92\x06" + strings.Repeat("\x91", 15998)}, notValid},
		"deep and whole":       {[]string{"\x80\x7d" + "\x92\x06" + strings.Repeat("\x91", 15997) + "\x01"}, nil},
		"JSON":                 {[]string{pinging}, notValid}, // { is a length of 123
		"too large":            {[]string{"\x81\x80\x02"}, tooLarge},
		"prefix without end":   {[]string{"\x80\x80\x80", "\x80\x80"}, notValid},
		"prefix of 4 billions": {[]string{"\xff\xff\xff\xff\x0f"}, tooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, signalr.Options{}, func(t *testing.T, r *rig) {
				p := r.packedSocket()
				for _, f := range row.frames {
					p.send(f)
				}
				if name == "JSON" {
					p.send(strings.Repeat(" ", 123))
				}
				for _, want := range row.want {
					if want == "" {
						p.ended()
						synctest.Wait()
						require.Zero(t, r.Stats().WebSockets)
						return
					}
					require.Equal(t, want, p.nextPacked())
				}
				require.NoError(t, r.Broadcast("ReceiveAlarm"))
				require.Equal(t, `[1,{},null,"ReceiveAlarm",[],[]]`, p.nextPacked())
			})
		})
	}
}

func TestMessagePackByLongPolling(t *testing.T) {
	inBubble(t, signalr.Options{}, func(t *testing.T, r *rig) {
		at := r.negotiate()
		r.do("GET", at, "")
		status, _ := r.do("POST", at, helloPacked)
		require.Equal(t, 200, status)
		poll := func() []byte {
			res, err := r.client.Get(at)
			require.NoError(t, err)
			defer func() { _ = res.Body.Close() }()
			require.Equal(t, "application/octet-stream", res.Header.Get("Content-Type"))
			all, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			return all
		}
		require.Equal(t, "{}\x1e", string(poll()))
		require.NoError(t, r.Broadcast("ReceiveAlarm", 1))
		require.NoError(t, r.Broadcast("ReceiveAlarm", 2))
		require.Equal(t, []string{`[1,{},null,"ReceiveAlarm",[1],[]]`, `[1,{},null,"ReceiveAlarm",[2],[]]`}, unpack(t, poll()))
		r.do("POST", at, pack(t, 1, nil, "7", "x", []any{}))
		require.Equal(t, []string{`[3,{},"7",1,"The hub has no methods."]`}, unpack(t, poll()))
		status, _ = r.do("DELETE", at, "")
		require.Equal(t, 202, status)
	})
}

func TestMessagePackNeedsABinaryTransport(t *testing.T) {
	inBubble(t, signalr.Options{}, func(t *testing.T, r *rig) {
		at := r.negotiate()
		p := r.events(at)
		r.do("POST", at, helloPacked)
		require.JSONEq(t, `{"error":"The 'messagepack' protocol is not supported with server-sent events, which are text; 'json' is."}`, p.next())
		p.ended()
		status, _ := r.do("GET", at, "")
		require.Equal(t, 404, status)
	})
}
