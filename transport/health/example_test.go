package health_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/otkit/otkit/transport/health"
)

func Example() {
	checks, err := health.New(health.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = checks.Add(health.Check{Name: "store", Ready: true, Run: func(context.Context) health.Result {
		return health.Result{Status: health.Healthy, Description: "writes go through", Data: map[string]any{"driver": "sqlite"}}
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	w := httptest.NewRecorder()
	checks.ReadyHandler().ServeHTTP(w, httptest.NewRequest("GET", "/health/ready", nil))
	fmt.Println(w.Code, w.Body)
	// Output:
	// 200 {"status":"Healthy","results":{"store":{"status":"Healthy","description":"writes go through","data":{"driver":"sqlite"}}}}
}
