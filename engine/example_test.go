package engine_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/engine"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/server"
)

// The whole server in a program that has its own login. It opens no port: the program serves the handler.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "otkit")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	login := func(_ context.Context, r auth.Request) (*auth.Principal, error) {
		if keys := r.Header("X-API-Key"); len(keys) == 1 && keys[0] == "key-of-ann" {
			return &auth.Principal{Issuer: "plant", Subject: "ann", Name: "Ann", Role: accounts.Viewer}, nil
		}
		return nil, auth.ErrUnauthenticated
	}
	e, err := engine.New(ctx, engine.Options{DataDir: dir, WithoutAccounts: true,
		Server: server.Options{Authenticator: auth.AuthenticatorFunc(login)}})
	if err != nil {
		panic(err)
	}
	defer func() { _ = e.Close(ctx) }()
	e.Start()
	for _, key := range []string{"key-of-ann", "key-of-mallory"} {
		r, w := httptest.NewRequest("GET", "/api/v1/tags", nil), httptest.NewRecorder()
		r.Header.Set("X-API-Key", key)
		e.Handler().ServeHTTP(w, r)
		fmt.Println(w.Code)
	}
	// Output:
	// 200
	// 401
}
