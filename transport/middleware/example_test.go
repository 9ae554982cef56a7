package middleware_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/otkit/otkit/transport/middleware"
)

func Example() {
	maxBody, err := middleware.MaxBody(1 << 20)
	if err != nil {
		fmt.Println(err)
		return
	}
	log := slog.New(slog.DiscardHandler)
	router := chi.NewRouter()
	router.Use(middleware.Trace(middleware.TraceOptions{Logger: log}), middleware.AccessLog(log), middleware.Recover,
		middleware.SecurityHeaders, middleware.EscapedPath)
	middleware.Fallbacks(router)
	router.Use(maxBody, middleware.JSONBody(nil))
	router.Post("/tags:batchRead", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	})

	for _, body := range []string{`{"tagNames":["sim.speed"]}`, `{"tagNames":[}`} {
		w := httptest.NewRecorder()
		router.ServeHTTP(w, httptest.NewRequest("POST", "/tags%3AbatchRead", strings.NewReader(body)))
		fmt.Println(w.Code, strings.TrimSpace(w.Body.String()))
	}
	// Output:
	// 200 {"tagNames":["sim.speed"]}
	// 400 {"type":"about:blank","title":"Bad Request","status":400,"detail":"request is not valid: malformed JSON at byte 14","code":"INVALID_REQUEST"}
}
