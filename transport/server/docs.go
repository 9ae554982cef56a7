package server

import (
	"net/http"

	"github.com/go-chi/chi/v5"
	"github.com/swaggest/swgui"
	"github.com/swaggest/swgui/v5emb"
)

// mountDocs serves an OpenAPI document and a viewer for it, whose files are in the binary.
func mountDocs(r chi.Router, document []byte) {
	r.Get("/openapi.yaml", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/yaml")
		_, _ = w.Write(document)
	})
	viewer := v5emb.NewHandlerWithConfig(swgui.Config{Title: "otkit", SwaggerJSON: "/openapi.yaml", BasePath: "/docs/", HideCurl: false})
	r.Get("/docs", viewer.ServeHTTP)
	r.Get("/docs/*", viewer.ServeHTTP)
}
