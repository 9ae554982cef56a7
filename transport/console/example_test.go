package console_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"testing/fstest"

	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/console"
	"github.com/otkit/otkit/transport/server"
)

// nobody lets no token in.
type nobody struct{}

func (nobody) Authenticate(context.Context, auth.Request) (*auth.Principal, error) { return nil, nil }

// A server with a page of your own; console.Assets has that of the engine.
func Example() {
	c, err := console.New(fstest.MapFS{"index.html": {Data: []byte("<!doctype html><title>Plant</title>")}})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	s, err := server.New(ctx, server.Options{Authenticator: nobody{}}, c.Part())
	if err != nil {
		panic(err)
	}
	defer func() { _ = s.Close(ctx) }()
	s.Start()
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	fmt.Println(w.Code, w.Header().Get("Content-Type"), w.Header().Get("Cache-Control"))
	// Output: 200 text/html; charset=utf-8 no-cache
}
