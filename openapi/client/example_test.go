package client_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/otkit/otkit/openapi/client"
)

// A call returns a decoded body for each status of the document. The program examples/client-rest logs in, reads and writes.
func Example() {
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, `{"tag":{"name":"tank.level","currentValue":{"doubleValue":4.2},"unit":"m","quality":"Good"}}`)
	}))
	defer engine.Close()
	bearer := func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer token-of-a-login")
		return nil
	}
	api, err := client.NewClientWithResponses(engine.URL, client.WithRequestEditorFn(bearer))
	if err != nil {
		panic(err)
	}
	answer, err := api.ReadTagWithResponse(context.Background(), "tank.level")
	if err != nil {
		panic(err)
	}
	if answer.JSON200 == nil {
		panic(answer.Status())
	}
	fmt.Println(answer.JSON200.Tag.CurrentValue, answer.JSON200.Tag.Unit, answer.JSON200.Tag.Quality)
	// Output: 4.2 m Good
}
