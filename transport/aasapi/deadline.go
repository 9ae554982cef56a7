package aasapi

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/otkit/otkit/transport/middleware"
)

// chunk is how much of a long answer a client has chunkTime to take.
const (
	chunk     = 64 << 10
	chunkTime = 30 * time.Second
)

// untimed lifts the server's time limits from an answer that may take longer to make than others.
func (c *call) untimed() error {
	// A writer that cannot lift them has none.
	if err := middleware.Stream(c.w); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// timed returns an answer so much time.
func (c *call) timed(limit time.Duration) error {
	if err := c.untimed(); err != nil {
		return err
	}
	_ = http.NewResponseController(c.w).SetWriteDeadline(time.Now().Add(limit))
	return nil
}

// patient writes a long answer, for which the server's time limit is too short on a slow line: it ends
// when the client takes nothing for a while.
func (c *call) patient() io.Writer {
	return &patientWriter{w: c.w, out: http.NewResponseController(c.w)}
}

type patientWriter struct {
	w   io.Writer
	out *http.ResponseController
}

func (p *patientWriter) Write(data []byte) (n int, err error) {
	for len(data) > 0 {
		// What cannot set the limit has none.
		_ = p.out.SetWriteDeadline(time.Now().Add(chunkTime))
		some, err := p.w.Write(data[:min(chunk, len(data))])
		n += some
		if err != nil {
			return n, err
		}
		data = data[some:]
	}
	return n, nil
}
