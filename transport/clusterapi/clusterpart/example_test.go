package clusterpart_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/cluster"
	"github.com/otkit/otkit/cluster/bus"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/clusterapi/clusterpart"
	"github.com/otkit/otkit/transport/server"
)

// A server that polls a pump while it has the lease of that work. Others with the same store and bus would take turns.
func Example() {
	ctx := context.Background()
	joined, err := clusterpart.New(ctx, clusterpart.Options{Store: cluster.NewMemory(), Bus: bus.NewMemory().Join(), Engine: "hall-1"})
	if err != nil {
		panic(err)
	}
	begun := make(chan string)
	joined.Handle("pump", func(ctx context.Context, id string, _ *cluster.Held) error {
		begun <- id
		<-ctx.Done()
		return nil
	})
	joined.Set("pump", []cluster.Work{{Name: "p1"}})
	shown, err := clusterpart.NewEngines(joined, clusterpart.EnginesOptions{})
	if err != nil {
		panic(err)
	}
	anyone := func(context.Context, auth.Request) (*auth.Principal, error) {
		return &auth.Principal{Issuer: "plant", Subject: "ann", Role: accounts.Viewer}, nil
	}
	s, err := server.New(ctx, server.Options{Authenticator: auth.AuthenticatorFunc(anyone)}, joined.Part(), shown.Part())
	if err != nil {
		panic(err)
	}
	s.Start()
	fmt.Println("polling", <-begun)
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/api/v1/engines/hall-1", nil))
	fmt.Println(w.Code)
	fmt.Println(s.Close(ctx))
	// Output:
	// polling p1
	// 200
	// <nil>
}
