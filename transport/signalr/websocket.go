package signalr

import (
	"context"
	"net/http"

	"github.com/coder/websocket"
)

// connectWebSocket serves a WebSocket until the connection ends. Without a token the client has
// skipped negotiation.
func (h *Hub) connectWebSocket(w http.ResponseWriter, r *http.Request, token string) {
	err := h.checkOrigin(r)
	var c *conn
	switch {
	case err != nil:
	case token == "":
		c, err = h.open(r.Context())
	default:
		c, err = h.find(r.Context(), token)
	}
	if err == nil {
		_, err = c.begin(webSockets, r)
	}
	if err != nil {
		refuse(w, r, err)
		return
	}
	defer c.finish()
	socket, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true}) // the origin is checked
	if err != nil {
		c.cancel(errGone) // Accept has answered
		return
	}
	socket.SetReadLimit(int64(h.opts.MaxMessageBytes))
	c.logConnected(r)

	gone, written := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(written)
		c.writeSocket(socket, gone)
	}()
	for {
		_, data, err := socket.Read(c.ctx)
		if err != nil {
			break
		}
		c.receive(data)
	}
	close(gone)
	<-written
}

// writeSocket writes until the connection ends or its reader has, and closes the socket, which ends
// the reader.
func (c *conn) writeSocket(socket *websocket.Conn, gone <-chan struct{}) {
	err := c.pump(gone, func(chunk [][]byte) error {
		ctx, cancel := context.WithTimeout(c.ctx, c.hub.opts.WriteTimeout)
		defer cancel()
		return writeFrames(ctx, socket, c.frameType(), chunk)
	})
	c.mu.Lock()
	inOrder := c.ending != nil && c.ctx.Err() == nil
	c.mu.Unlock()
	if inOrder {
		_ = socket.Close(websocket.StatusNormalClosure, "") // the client may close first, or be gone
	}
	c.cancel(err)
	_ = socket.CloseNow()
}

// frameType returns that of the protocol, text if the handshake chose none.
func (c *conn) frameType() websocket.MessageType {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.protocol == messagePack {
		return websocket.MessageBinary
	}
	return websocket.MessageText
}

// writeFrames sends messages as one message of the socket, without copying them together.
func writeFrames(ctx context.Context, socket *websocket.Conn, kind websocket.MessageType, chunk [][]byte) error {
	if len(chunk) == 1 {
		return socket.Write(ctx, kind, chunk[0])
	}
	frames, err := socket.Writer(ctx, kind)
	if err != nil {
		return err
	}
	for _, record := range chunk {
		if _, err := frames.Write(record); err != nil {
			return err
		}
	}
	return frames.Close()
}

func (c *conn) logConnected(r *http.Request) {
	c.hub.log.DebugContext(r.Context(), "hub connection opened", "connection", c.id, "transport", c.transport.String(), "remote", r.RemoteAddr)
}
