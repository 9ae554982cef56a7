package tagspart_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/simdriver"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/server"
	"github.com/otkit/otkit/transport/tagsapi/tagspart"
)

// anyone admits every call as Ann; a real program checks a key, a token or a certificate.
func anyone(context.Context, auth.Request) (*auth.Principal, error) {
	return &auth.Principal{Issuer: "plant", Subject: "ann", Name: "Ann", Role: accounts.Operator}, nil
}

// A server that serves tags and nothing else.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "otkit")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	driver, err := simdriver.New(simdriver.Options{Scenario: simdriver.RandomWalk})
	if err != nil {
		panic(err)
	}
	flow := tags.Tag{Name: "pump.flow", Address: "device1.tag1", DataType: tags.Float, Unit: "l/min"}
	part, err := tagspart.New(ctx, tagspart.Options{ModelPath: filepath.Join(dir, "model.json"), Drivers: []tagspart.Driver{
		{ID: "pump", Driver: driver, Options: tags.DriverOptions{Tags: []tags.Tag{flow}}}}})
	if err != nil {
		panic(err)
	}
	s, err := server.New(ctx, server.Options{Authenticator: auth.AuthenticatorFunc(anyone)}, part.Part())
	if err != nil {
		panic(err)
	}
	defer func() { _ = s.Close(ctx) }()
	s.Start()
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/api/v1/tags/pump.flow", nil))
	fmt.Println(w.Code, w.Header().Get("Content-Type"))
	// Output: 200 application/json
}
