package auditpart_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/audit"
	"github.com/otkit/otkit/transport/auditapi/auditpart"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/server"
)

// anyone admits every call as Ann; a real program checks a key, a token or a certificate.
func anyone(context.Context, auth.Request) (*auth.Principal, error) {
	return &auth.Principal{Issuer: "plant", Subject: "ann", Name: "Ann", Role: accounts.Operator}, nil
}

// The server records the calls that change something in the part's log. The part comes first, so that it closes last.
func Example() {
	ctx := context.Background()
	part, err := auditpart.New(auditpart.Options{})
	if err != nil {
		panic(err)
	}
	recipe := server.Part{Name: "recipe",
		Operations: []auth.Operation{{ID: "setRecipe", Method: "PUT", Path: "/mixers/{mixer}/recipe", Access: auth.Operator}},
		Routes: func(r server.Router) error {
			r.Put("/mixers/{mixer}/recipe", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
			return nil
		}}
	s, err := server.New(ctx, server.Options{Authenticator: auth.AuthenticatorFunc(anyone), Audit: part.Log()}, part.Part(), recipe)
	if err != nil {
		panic(err)
	}
	defer func() { _ = s.Close(ctx) }()
	s.Start()
	s.Handler().ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("PUT", "/mixers/m1/recipe", nil))
	records, _, err := part.Log().List(ctx, audit.Query{Limit: 10})
	for _, r := range records {
		fmt.Println(r.Actor, r.Action, r.Objects, r.Outcome, err)
	}
	// Output: Ann setRecipe [m1] succeeded <nil>
}
