package alarmsapi_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/go-chi/chi/v5"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/transport/alarmsapi"
)

// A server of your own serves alarms behind its own login.
func Example() {
	ctx := context.Background()
	store := alarms.NewMemory()
	service, err := alarms.New(ctx, store, alarms.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = service.Close(ctx) }()
	evaluator, err := rules.New(ctx, rules.NewMemory(store), service, rules.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = evaluator.Close(ctx) }()
	api, err := alarmsapi.New(service, evaluator, alarmsapi.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	router := chi.NewRouter()
	api.Mount(router)

	_, err = service.Raise(ctx, alarms.Alarm{Key: "app:pump-101", Source: "P-101", Message: "the pump does not start", Severity: alarms.Critical})
	if err != nil {
		fmt.Println(err)
		return
	}
	answer := httptest.NewRecorder()
	router.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/api/v1.0/alarms/trend?start=2024-01-01T00:00:00Z&end=2024-01-01T01:00:00Z", nil))
	fmt.Print(answer.Code, " ", answer.Body)
	answer = httptest.NewRecorder()
	router.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/api/v1.0/alarms/1/acknowledge", nil))
	fmt.Print(answer.Code, " ", answer.Body)
	// Output:
	// 200 [{"criticalCount":0,"errorCount":0,"hour":"2024-01-01T00:00:00Z","totalCount":0,"warningCount":0}]
	// 200 {"success":true}
}
