package alertingapi_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting/dispatch"
	"github.com/otkit/otkit/alerting/history"
	"github.com/otkit/otkit/alerting/outbox"
	"github.com/otkit/otkit/alerting/silences"
	"github.com/otkit/otkit/transport/alertingapi"
)

// must keeps the example short.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A program that has its own server mounts the API behind its own login.
func Example() {
	ctx := context.Background()
	plant := must(alarms.New(ctx, alarms.NewMemory(), alarms.Options{}))
	defer func() { _ = plant.Close(ctx) }()
	quiet := must(silences.New(silences.NewMemory(), silences.Options{}))
	records := must(history.New(history.NewMemory()))
	dispatcher := must(dispatch.New(dispatch.Deps{Journal: plant, Outbox: outbox.NewMemory(), Silences: quiet}, dispatch.Options{}))
	defer func() { _ = dispatcher.Close(ctx) }()
	api := must(alertingapi.New(alertingapi.Deps{Silences: quiet, History: records, Dispatcher: dispatcher}, alertingapi.Options{}))
	router := chi.NewRouter()
	api.Mount(router)
	w := httptest.NewRecorder()
	router.ServeHTTP(w, httptest.NewRequest("POST", "/api/v1.0/alert-silence", strings.NewReader(
		`{"sourceType":"Equipment","sourceIdPattern":"P-*","reason":"service","startsAt":"2026-03-01T08:00:00Z","endsAt":"2026-03-01T09:00:00Z"}`)))
	fmt.Println(w.Code)
	// Output: 201
}
