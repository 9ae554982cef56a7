package restapi

import (
	"bufio"
	"errors"
	"io"
	"mime"
	"net/http"
	"time"
)

// Download is an answer that is written as it is made.
type Download struct {
	ContentType string
	Name        string // of the file; empty if it is none
}

// downloadTimeout is how long a client may take for one part of an answer.
const downloadTimeout = 30 * time.Second

// Head sends the head alone.
func (d Download) Head(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", d.ContentType)
	if d.Name != "" {
		h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": d.Name}))
	}
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(http.StatusOK)
}

// Send sends what write writes, without a limit of time for the whole. It returns an error of write before the first bytes are sent; a later one
// breaks the connection, because nothing else tells that the answer is not whole.
func (d Download) Send(w http.ResponseWriter, write func(io.Writer) error) error {
	if err := Stream(w); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	out := &downloadWriter{Download: d, w: w, control: http.NewResponseController(w)}
	buffer := bufio.NewWriterSize(out, 32<<10)
	err := write(buffer)
	if err == nil {
		err = buffer.Flush()
	}
	switch {
	case err == nil:
		return nil
	case out.began:
		panic(http.ErrAbortHandler)
	}
	out.extend()
	return err
}

// downloadWriter sends the head with the first bytes, and gives the client time for each part.
type downloadWriter struct {
	Download
	w       http.ResponseWriter
	control *http.ResponseController
	began   bool
}

func (d *downloadWriter) extend() { _ = d.control.SetWriteDeadline(time.Now().Add(downloadTimeout)) }

func (d *downloadWriter) Write(p []byte) (int, error) {
	if !d.began {
		d.began = true
		d.Head(d.w)
	}
	d.extend()
	return d.w.Write(p)
}
