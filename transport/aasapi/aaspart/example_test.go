package aaspart_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/transport/aasapi/aaspart"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/server"
)

// anyone admits every call as Ann; a real program checks a key, a token or a certificate.
func anyone(context.Context, auth.Request) (*auth.Principal, error) {
	return &auth.Principal{Issuer: "plant", Subject: "ann", Name: "Ann", Role: accounts.Operator}, nil
}

// A server for asset administration shells alone needs no tags.
func Example() {
	ctx := context.Background()
	part, err := aaspart.New(ctx, nil, aaspart.Options{})
	if err != nil {
		panic(err)
	}
	s, err := server.New(ctx, server.Options{Authenticator: auth.AuthenticatorFunc(anyone)}, part.Part())
	if err != nil {
		panic(err)
	}
	defer func() { _ = s.Close(ctx) }()
	s.Start()
	if _, err := part.Service().Submodels.Create(ctx, &aas.Submodel{Identifiable: aas.Identifiable{ID: "urn:example:data"}}); err != nil {
		panic(err)
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/api/v3.1/submodels", nil))
	fmt.Println(w.Code, w.Body)
	// Output: 200 {"paging_metadata":{},"result":[{"modelType":"Submodel","id":"urn:example:data"}]}
}
