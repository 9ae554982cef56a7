package signalr

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/otkit/otkit/transport/middleware"
)

// answer writes the body of one request under a deadline for each write.
type answer struct {
	conn *conn
	w    http.ResponseWriter
	ctrl *http.ResponseController
}

// newAnswer lifts the server's time limits, which are not for long answers.
func (c *conn) newAnswer(w http.ResponseWriter) (*answer, error) {
	if err := unlessUnsupported(middleware.Stream(w)); err != nil {
		return nil, err
	}
	return &answer{conn: c, w: w, ctrl: http.NewResponseController(w)}, nil
}

// write sends parts to the client. If the connection is cut meanwhile, it fails immediately.
func (a *answer) write(parts ...[]byte) (err error) {
	if err := unlessUnsupported(a.ctrl.SetWriteDeadline(time.Now().Add(a.conn.hub.opts.WriteTimeout))); err != nil {
		return err
	}
	cut := make(chan struct{})
	stop := context.AfterFunc(a.conn.ctx, func() {
		defer close(cut)
		_ = a.ctrl.SetWriteDeadline(time.Unix(1, 0)) // in the past
	})
	defer func() {
		if !stop() {
			<-cut
		}
		// HTTP/2 ends a stream whose deadline passes, even when nothing is being written, and the
		// next request on a connection of HTTP/1 would meet it.
		if e := unlessUnsupported(a.ctrl.SetWriteDeadline(time.Time{})); err == nil {
			err = e
		}
	}()
	for _, part := range parts {
		if _, err := a.w.Write(part); err != nil {
			return err
		}
	}
	return unlessUnsupported(a.ctrl.Flush())
}

// serveEvents sends server-sent events until the connection ends.
func (c *conn) serveEvents(w http.ResponseWriter, r *http.Request) {
	if _, err := c.begin(serverSentEvents, r); err != nil {
		refuse(w, r, err)
		return
	}
	defer c.finish()
	a, err := c.newAnswer(w)
	if err != nil {
		c.cancel(errGone)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // else a proxy would buffer events
	w.WriteHeader(http.StatusOK)
	if err := a.write(); err != nil { // the client waits for the head
		c.cancel(errGone)
		return
	}
	c.logConnected(r)
	c.cancel(c.pump(r.Context().Done(), func(chunk [][]byte) error {
		// A message in JSON has no line break, so a chunk is one line of data.
		return a.write([]byte("data: "), bytes.Join(chunk, nil), []byte("\n\n"))
	}))
}

// servePoll answers one long poll: 200 with messages or, if there are none in time, without; 204 when
// the connection has ended. The first one is answered immediately and makes the connection.
//
// What a client that canceled its poll did not receive is sent with the next poll, as far as the server knows: the protocol has no
// acknowledgement, so that what left this machine counts as received. A client that canceled at the last moment may get
// messages twice, but none out of order.
func (c *conn) servePoll(w http.ResponseWriter, r *http.Request) {
	first, err := c.beginPoll(r)
	if err != nil {
		refuse(w, r, err)
		return
	}
	defer c.finish()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if first {
		c.logConnected(r)
		w.WriteHeader(http.StatusOK)
		return
	}
	a, err := c.newAnswer(w)
	if err != nil {
		c.cancel(errGone)
		return
	}
	c.poll(a, r)
}

func (c *conn) poll(a *answer, r *http.Request) {
	timeout := time.NewTimer(c.hub.opts.PollTimeout)
	defer timeout.Stop()
	superseded := c.superseded()
	for {
		select {
		case <-c.ctx.Done():
			a.w.WriteHeader(http.StatusNoContent)
			return
		case <-superseded:
			a.w.WriteHeader(http.StatusOK)
			return
		case <-r.Context().Done():
			return // a client that continues polls again
		case <-timeout.C:
			a.w.WriteHeader(http.StatusOK)
			return
		case <-c.wake:
		}
		if r.Context().Err() != nil {
			return // select picks any of two that are ready
		}
		batch, p, last := c.takePoll()
		if len(batch) == 0 {
			continue
		}
		body := bytes.Join(batch, nil)
		if p == messagePack {
			a.w.Header().Set("Content-Type", "application/octet-stream")
		}
		a.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		switch err := a.write(body); {
		case err != nil || r.Context().Err() != nil && !r.Close: // one that asked for the end closes the connection when it has all
			c.putBack(batch)
		case last != nil:
			c.cancel(last)
		}
		return
	}
}

// takePoll is take for the answer to a poll. Clients that send 0 as the version of the protocol read one
// message of an answer, and the rest only with another answer.
func (c *conn) takePoll() (batch [][]byte, p protocol, last error) {
	batch, last = c.take(nil)
	c.mu.Lock()
	p, oneByOne := c.protocol, c.oneByOne
	c.mu.Unlock()
	if oneByOne && len(batch) > 1 {
		c.putBack(batch[1:])
		batch, last = batch[:1:1], nil
	}
	return batch, p, last
}
