package metrics_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/otkit/otkit/transport/metrics"
)

func Example() {
	m := metrics.New(metrics.Options{Version: "1.0.0"})
	router := chi.NewRouter()
	router.Use(m.HTTP)
	router.Get("/api/v1/tags/{tag_name}", func(http.ResponseWriter, *http.Request) {})
	router.Method("GET", "/metrics", m.Handler())

	router.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/api/v1/tags/sim.speed", nil))
	w := httptest.NewRecorder()
	router.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, "otkit_http_requests_total") {
			fmt.Print(line)
		}
	}
	// Output:
	// otkit_http_requests_total{method="GET",route="/api/v1/tags/{tag_name}",status="2xx"} 1
}
