package discoverypart_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/discoveryapi/discoverypart"
	"github.com/otkit/otkit/transport/server"
	"github.com/otkit/otkit/transport/tagsapi/tagspart"
)

// anyone admits every call as Ann; a real program checks a key, a token or a certificate.
func anyone(context.Context, auth.Request) (*auth.Principal, error) {
	return &auth.Principal{Issuer: "plant", Subject: "ann", Name: "Ann", Role: accounts.Viewer}, nil
}

// must keeps the example short.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A server that takes the tags of bridges and has none of its own.
func Example() {
	ctx := context.Background()
	dir := must(os.MkdirTemp("", "otkit"))
	defer func() { _ = os.RemoveAll(dir) }()
	tags := must(tagspart.New(ctx, tagspart.Options{ModelPath: filepath.Join(dir, "model.json")}))
	part := must(discoverypart.New(ctx, tags, nil, nil, discoverypart.Options{EngineID: "engine-1"}))
	s := must(server.New(ctx, server.Options{Authenticator: auth.AuthenticatorFunc(anyone)}, tags.Part(), part.Part()))
	defer func() { _ = s.Close(ctx) }()
	s.Start()
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/api/discovery/bindings", nil))
	fmt.Print(w.Code, " ", w.Body)
	// Output: 200 []
}
