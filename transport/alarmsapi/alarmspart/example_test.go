package alarmspart_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/transport/alarmsapi/alarmspart"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/server"
	"github.com/otkit/otkit/transport/tagsapi/tagspart"
)

// anyone admits every call as Ann; a real program checks a key, a token or a certificate.
func anyone(context.Context, auth.Request) (*auth.Principal, error) {
	return &auth.Principal{Issuer: "plant", Subject: "ann", Name: "Ann", Role: accounts.Operator}, nil
}

// The alarms need the tags, whose values the rules watch.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "otkit")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	tags, err := tagspart.New(ctx, tagspart.Options{ModelPath: filepath.Join(dir, "model.json")})
	if err != nil {
		panic(err)
	}
	part, err := alarmspart.New(ctx, tags, alarmspart.Options{DataDir: dir})
	if err != nil {
		panic(err)
	}
	s, err := server.New(ctx, server.Options{Authenticator: auth.AuthenticatorFunc(anyone)}, tags.Part(), part.Part())
	if err != nil {
		panic(err)
	}
	defer func() { _ = s.Close(ctx) }()
	s.Start()
	if _, err := part.Service().Raise(ctx, alarms.Alarm{Key: "app:pump", Source: "P-101", Message: "hot", Severity: alarms.Critical}); err != nil {
		panic(err)
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest("POST", "/api/v1.0/alarms/1/acknowledge", nil))
	fmt.Println(w.Code, w.Body)
	// Output: 200 {"success":true}
}
