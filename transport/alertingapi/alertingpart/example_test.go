package alertingpart_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/transport/alarmsapi/alarmspart"
	"github.com/otkit/otkit/transport/alertingapi/alertingpart"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/server"
	"github.com/otkit/otkit/transport/tagsapi/tagspart"
)

// anyone admits every call as Ann; a real program checks a key, a token or a certificate.
func anyone(context.Context, auth.Request) (*auth.Principal, error) {
	return &auth.Principal{Issuer: "plant", Subject: "ann", Name: "Ann", Role: accounts.Operator}, nil
}

// horn is a channel of the program's own.
type horn chan string

func (horn) Name() string { return "horn" }

func (h horn) Send(_ context.Context, n alerting.Notification) error {
	h <- n.Title
	return nil
}

// must keeps the example short.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A server that sends its alarms to a channel of its own.
func Example() {
	ctx := context.Background()
	dir := must(os.MkdirTemp("", "otkit"))
	defer func() { _ = os.RemoveAll(dir) }()
	tags := must(tagspart.New(ctx, tagspart.Options{ModelPath: filepath.Join(dir, "model.json")}))
	plant := must(alarmspart.New(ctx, tags, alarmspart.Options{}))
	h := make(horn)
	part := must(alertingpart.New(ctx, plant, alertingpart.Options{Owner: "engine-1",
		Channels: []alerting.Channel{h}, Routes: alerting.Routes{alarms.Critical: {"horn"}}}))
	s := must(server.New(ctx, server.Options{Authenticator: auth.AuthenticatorFunc(anyone)}, tags.Part(), plant.Part(), part.Part()))
	defer func() { _ = s.Close(ctx) }()
	s.Start()
	must(plant.Service().Raise(ctx, alarms.Alarm{Key: "app:pump", Source: "P-101", Message: "hot", Severity: alarms.Critical}))
	fmt.Println(<-h)
	// Output: [Critical] P-101: hot
}
