package predictivepart_test

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/predictiveapi/predictivepart"
	"github.com/otkit/otkit/transport/server"
)

// anyone admits every call as Ann; a real program checks a key, a token or a certificate.
func anyone(context.Context, auth.Request) (*auth.Principal, error) {
	return &auth.Principal{Issuer: "plant", Subject: "ann", Name: "Ann", Role: accounts.Operator}, nil
}

// historian has the samples of another system; this one has none.
type historian struct{}

func (historian) Samples(context.Context, string, time.Time, time.Time) iter.Seq2[predictive.Sample, error] {
	return func(func(predictive.Sample, error) bool) {}
}

// plant lists the tags of that system.
func plant(context.Context) ([]predictive.DriverTag, error) {
	return []predictive.DriverTag{{ID: "pump1.vibration", DriverID: "pump1", Unit: "mm/s"}}, nil
}

// must keeps the example short.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A server that predicts from the history of another system.
func Example() {
	ctx := context.Background()
	part := must(predictivepart.New(ctx, nil, nil, predictivepart.Options{History: historian{}, Inventory: predictive.DriverInventory(plant)}))
	s := must(server.New(ctx, server.Options{Authenticator: auth.AuthenticatorFunc(anyone)}, part.Part()))
	defer func() { _ = s.Close(ctx) }()
	s.Start()
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/health", http.NoBody))
	fmt.Println(w.Code)
	// Output: 200
}
