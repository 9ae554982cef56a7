package tracing_test

import (
	"context"
	"fmt"

	"github.com/go-chi/chi/v5"

	"github.com/otkit/otkit/transport/tracing"
)

func Example() {
	ctx := context.Background()
	provider, shutdown, err := tracing.Start(ctx, tracing.Options{Endpoint: ""}) // such as http://collector:4318
	if err != nil {
		fmt.Println(err)
		return
	}
	router := chi.NewRouter()
	router.Use(tracing.HTTPMiddleware(provider))

	_, span := provider.Tracer("example").Start(ctx, "work")
	fmt.Println("recording:", span.IsRecording())
	span.End()
	fmt.Println(shutdown(ctx))
	// Output:
	// recording: false
	// <nil>
}
