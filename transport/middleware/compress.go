package middleware

import (
	"mime"
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/gzip"
)

// CompressOptions configure Compress.
type CompressOptions struct {
	// Stream is for answers without an end. Each flush is then compressed by itself: this saves less, and takes no memory
	// from one event to the next.
	Stream bool
}

// Compress compresses answers in gzip for clients that accept it, if they are a text of a kilobyte or more, or a stream.
// It must not be used for answers that carry a secret beside something that the caller chose: their size would tell of
// the secret (Gluck, Harris, Prado, "BREACH: reviving the CRIME attack", 2013). Nor for answers with an ETag, which is of the
// bytes that are sent (RFC 9110, 8.8.3).
func Compress(o CompressOptions) (func(http.Handler) http.Handler, error) {
	level, least := gzip.BestSpeed, 1<<10
	if o.Stream {
		level, least = gzip.StatelessCompression, 1 // the first event may be a short one, and decides for all
	}
	wrap, err := gzhttp.NewWrapper(gzhttp.CompressionLevel(level), gzhttp.MinSize(least), gzhttp.EnableZstd(false), gzhttp.SetContentType(false), gzhttp.ContentTypeFilter(isText))
	if err != nil {
		return nil, err
	}
	return func(next http.Handler) http.Handler { return wrap(next) }, nil
}

// isText reports whether a content type is worth compressing.
func isText(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return false
	}
	return strings.HasPrefix(media, "text/") || strings.HasSuffix(media, "json") || strings.HasSuffix(media, "yaml") || strings.HasSuffix(media, "+xml")
}
