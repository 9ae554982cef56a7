package hubspart_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/transport/alarmsapi/alarmspart"
	"github.com/otkit/otkit/transport/alertingapi/alertingpart"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/hubs/hubspart"
	"github.com/otkit/otkit/transport/server"
	"github.com/otkit/otkit/transport/tagsapi/tagspart"
)

// anyone admits every call as Ann; a real program checks a key, a token or a certificate.
func anyone(context.Context, auth.Request) (*auth.Principal, error) {
	return &auth.Principal{Issuer: "plant", Subject: "ann", Name: "Ann", Role: accounts.Operator}, nil
}

// must keeps the example short.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// The hubs need the parts whose news they send. A stock SignalR client negotiates first.
func Example() {
	ctx := context.Background()
	dir := must(os.MkdirTemp("", "otkit"))
	defer func() { _ = os.RemoveAll(dir) }()
	tags := must(tagspart.New(ctx, tagspart.Options{ModelPath: filepath.Join(dir, "model.json")}))
	alarms := must(alarmspart.New(ctx, tags, alarmspart.Options{}))
	alerting := must(alertingpart.New(ctx, alarms, alertingpart.Options{Owner: "engine-1"}))
	part := must(hubspart.New(ctx, tags, alarms, alerting, nil, nil, hubspart.Options{}))
	s := must(server.New(ctx, server.Options{Authenticator: auth.AuthenticatorFunc(anyone)}, tags.Part(), alarms.Part(), alerting.Part(), part.Part()))
	defer func() { _ = s.Close(ctx) }()
	s.Start()
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest("POST", "/hubs/alarms/negotiate?negotiateVersion=1", nil))
	fmt.Println(w.Code)
	// Output: 200
}
