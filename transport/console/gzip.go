package console

import (
	"bytes"
	"compress/gzip"
	"net/http"

	"github.com/otkit/otkit/transport/middleware"
)

func acceptsGzip(r *http.Request) bool {
	return middleware.AcceptsGzip(r.Header.Get("Accept-Encoding"))
}

// compress returns a text in gzip, nil if that is not smaller.
func compress(text []byte) []byte {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil
	}
	_, err = w.Write(text)
	if err != nil || w.Close() != nil || b.Len() >= len(text) {
		return nil
	}
	return b.Bytes()
}
