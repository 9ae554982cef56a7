package signalr_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/transport/signalr"
)

// FuzzMessages sends bytes as a client that polls, once as they are and once in two parts: the hub
// must answer both alike, with messages of the protocol, and terminate.
func FuzzMessages(f *testing.F) {
	for _, seed := range []string{
		"", hello, hello + pinging, hello + `{"type":1,"invocationId":"1","target":"x","arguments":[1,{}]}` + "\x1e",
		hello + `{"type":7}` + "\x1e", hello + hello, `{"protocol":"json","version":2}` + "\x1e", "\x1e\x1e", "\x00\xff\x1e",
		hello + `{"type":4,"invocationId":"\ud800","invocationid":null}` + "\x1e" + pinging, hello + `{"type":1e0}` + "\x1e",
		hello + strings.Repeat("[", 3000) + "\x1e", hello + `{"type":6,"type":1,"INVOCATIONID":"\u001e"}` + "\x1e",
	} {
		f.Add([]byte(seed), uint16(len(seed)/2))
	}
	f.Fuzz(func(t *testing.T, data []byte, at uint16) {
		cut := min(int(at), len(data))
		whole := answers(t, data)
		require.Equal(t, whole, answers(t, data[:cut], data[cut:]))
		if whole == "" {
			return // the client has closed, so that nothing was to be sent
		}
		for i, record := range strings.Split(strings.TrimSuffix(whole, "\x1e"), "\x1e") {
			var m struct {
				Type         int
				Error        string
				InvocationID *string
			}
			require.NoError(t, json.Unmarshal([]byte(record), &m), record)
			switch {
			case i == 0: // the answer to the handshake
				require.Zero(t, m.Type)
			case m.Type == 3:
				require.NotNil(t, m.InvocationID)
			default:
				require.Equal(t, 7, m.Type)
			}
		}
	})
}

// FuzzPackedMessages is FuzzMessages for what follows a handshake that chooses MessagePack.
func FuzzPackedMessages(f *testing.F) {
	invoke := pack(f, 1, map[string]string{"a": "b"}, "7", "x", []any{1, nil, 1.5, []byte("x"), map[string]any{"a": []any{}}}, []string{})
	for _, seed := range []string{
		"", pingingPacked, invoke, invoke + pingingPacked + invoke, pack(f, 7), "\x00", "\x80\x80\x80\x80\x80", "\xff\xff\xff\xff\x0f", pinging,
		"\x06\xdd\xff\xff\xff\xff\x06", "\x0a\x92\x06\xc9\xff\xff\xff\xff\x00\x00\x00", "\x64\x92\x06" + strings.Repeat("\x91", 97) + "\x01",
		pack(f, 4, nil, strings.Repeat("7", 300), "x", []any{}), pack(f, 1, nil, nil, "x", []any{}), pack(f, "6"), pack(f, 1, nil, 7, "x", []any{}),
	} {
		f.Add([]byte(seed), uint16(len(seed)/2))
	}
	f.Fuzz(func(t *testing.T, data []byte, at uint16) {
		cut := min(int(at), len(data))
		whole := answers(t, []byte(helloPacked), data)
		require.Equal(t, whole, answers(t, []byte(helloPacked), data[:cut], data[cut:]))
		if whole == "" {
			return
		}
		greeting, rest, found := strings.Cut(whole, "\x1e")
		require.True(t, found)
		require.Equal(t, "{}", greeting)
		for _, m := range unpack(t, []byte(rest)) {
			require.Regexp(t, `^\[(3,\{\},".*",1,"The hub has no methods."|7,("The message is (not valid|too large)\."|null),(true|false))\]$`, m)
		}
	})
}

// FuzzArguments invokes a method that returns its arguments, in both protocols: what is an array comes back with the same
// values, and all else is refused.
func FuzzArguments(f *testing.F) {
	for _, seed := range []string{"[]", `["a",1,-1.5,1e400,null,{"a":[true]}]`, "null", "{}", `["\ud800"]`, "[1", strings.Repeat("[", 200) + strings.Repeat("]", 200),
		"\x90", "\x93\x01\xc0\xa1a", "\x91\x81\x01\x02", "\x91\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00", "\x91\xd6\xff\x00\x00\x00\x00", "\x91\xc4\x01\xff",
		strings.Repeat("\x91", 100) + "\x01"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, args []byte) {
		if bytes.IndexByte(args, 0x1e) >= 0 {
			return // separates messages
		}
		answer := invoked(t, hello, ask("1", "Echo", string(args)), json.Valid(args))
		var m struct {
			Type         int
			InvocationID string
			Error        *string
			Result       json.RawMessage
		}
		var list []json.RawMessage
		switch err := json.Unmarshal(args, &list); {
		case !json.Valid(args): // may end the connection, or add members
		case err != nil:
			require.Contains(t, answer, `"error":"INVALID_REQUEST`)
		default:
			require.NoError(t, json.Unmarshal([]byte(strings.TrimSuffix(answer, "\x1e")), &m), answer)
			require.Equal(t, "1", m.InvocationID)
			require.Nil(t, m.Error)
			if list != nil {
				require.Equal(t, numbered(t, args), numbered(t, m.Result))
			}
		}

		record := "\x96\x01\x80\xa11\xa4Echo" + string(args) + "\x90"
		answer = invoked(t, helloPacked, string(binary.AppendUvarint(nil, uint64(len(record))))+record, false)
		for _, m := range unpack(t, []byte(answer)) {
			require.Regexp(t, `^\[(3,\{\},"1",(1,"(INVALID_REQUEST|HUB_MESSAGE_NOT).*"|3,(\[.*\]|null))|7,.*)\]$`, m)
		}
	})
}

// numbered returns a JSON value with numbers as they are written.
func numbered(t *testing.T, data []byte) (v any) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	require.NoError(t, decoder.Decode(&v))
	return v
}

// invoked returns what a hub sends for a message of a client after the handshake, which may be nothing if it need not be answered.
func invoked(t *testing.T, handshake, message string, answered bool) (answer string) {
	hub, err := signalr.New(signalr.Options{MaxMessageBytes: 2000, Methods: methods(), PollTimeout: time.Millisecond})
	require.NoError(t, err)
	defer func() { require.NoError(t, hub.Close(t.Context())) }()
	do := func(method, path, body string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		hub.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
		return w
	}
	var n negotiated
	require.NoError(t, json.Unmarshal(do("POST", "/hub/negotiate", "").Body.Bytes(), &n))
	path := "/hub?id=" + n.ConnectionID
	defer do("DELETE", path, "")
	require.Equal(t, 200, do("GET", path, "").Code)
	require.Equal(t, 200, do("POST", path, handshake).Code)
	require.Equal(t, "{}\x1e", do("GET", path, "").Body.String())
	if w := do("POST", path, message); w.Code != 200 {
		require.Contains(t, []int{404, 413}, w.Code)
		return ""
	}
	for range 10_000 {
		if answer = do("GET", path, "").Body.String(); answer != "" || !answered {
			break
		}
	}
	return answer
}

// answers returns all that a hub sends to a client that sends parts, up to the end of the connection.
func answers(t *testing.T, parts ...[]byte) string {
	hub, err := signalr.New(signalr.Options{MaxMessageBytes: 2000})
	require.NoError(t, err)
	do := func(method, path, body string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		hub.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
		return w
	}
	var n negotiated
	require.NoError(t, json.Unmarshal(do("POST", "/hub/negotiate", "").Body.Bytes(), &n))
	path := "/hub?id=" + n.ConnectionID
	require.Equal(t, 200, do("GET", path, "").Code)
	for _, part := range parts {
		for len(part) > 0 {
			size := min(len(part), 2000) // of a body
			require.Contains(t, []int{200, 404}, do("POST", path, string(part[:size])).Code)
			part = part[size:]
		}
	}
	closed := make(chan error)
	go func() { closed <- hub.Close(t.Context()) }()
	all := ""
	for {
		w := do("GET", path, "")
		if w.Code != 200 {
			require.NoError(t, <-closed)
			return all
		}
		all += w.Body.String()
	}
}

// FuzzSocket sends bytes in place of frames of a WebSocket: the hub must end the connection.
func FuzzSocket(f *testing.F) {
	frame := func(first byte, payload string) string { // masked with zeros
		return string([]byte{first, 0x80 | byte(len(payload)), 0, 0, 0, 0}) + payload
	}
	for _, seed := range []string{
		"", frame(0x81, hello), frame(0x01, hello[:5]) + frame(0x80, hello[5:]), frame(0x82, hello) + frame(0x88, "\x03\xe8"),
		frame(0x81, hello) + frame(0x89, "ping") + frame(0x81, pinging) + frame(0x81, "x\x1e"), frame(0x8f, ""), frame(0xf1, "x"),
		frame(0x82, helloPacked) + frame(0x82, pingingPacked) + frame(0x82, "\x02\x91\x07"),
		"\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff", "\x81\x05hello", frame(0x88, "\x00"), frame(0x80, "x"),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := newRig(t, signalr.Options{})
		conn, err := r.pipes.dial(t.Context(), "", "")
		require.NoError(t, err)
		_, err = io.WriteString(conn, "GET /hub HTTP/1.1\r\nHost: plant\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
			"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
		require.NoError(t, err)
		in := bufio.NewReader(conn)
		res, err := http.ReadResponse(in, nil)
		require.NoError(t, err)
		require.Equal(t, 101, res.StatusCode)
		drained := make(chan struct{})
		go func() {
			defer close(drained)
			_, _ = io.Copy(io.Discard, in)
		}()
		_, _ = conn.Write(data) // the hub may have closed the connection
		require.NoError(t, conn.Close())
		<-drained
		require.NoError(t, r.Close(t.Context()))
		require.Zero(t, r.Stats())
	})
}
