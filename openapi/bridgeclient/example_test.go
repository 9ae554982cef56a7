package bridgeclient_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/otkit/otkit/openapi/bridgeclient"
)

// A call returns a decoded body for each status of the document.
func Example() {
	bridge := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, `{"bridgeId":"press-7","status":"free","boundEngineId":null,"driverType":"Modbus","driverId":"press","version":"1.0.0"}`)
	}))
	defer bridge.Close()
	api, err := bridgeclient.NewClientWithResponses(bridge.URL)
	if err != nil {
		panic(err)
	}
	answer, err := api.GetStatusWithResponse(context.Background())
	if err != nil {
		panic(err)
	}
	if answer.JSON200 == nil {
		panic(answer.Status())
	}
	fmt.Println(answer.JSON200.BridgeID, answer.JSON200.Status)
	// Output: press-7 free
}
