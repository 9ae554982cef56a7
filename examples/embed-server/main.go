// How do I embed the whole server, with routes, gRPC services and a login of my own? The engine is an http.Handler in
// the program's own http.Server, and its services are in the program's own grpc.Server. An API key identifies the
// caller, over REST, gRPC and hubs alike, and GET /plant/flow is guarded as the server's own routes are.
//
//	go run ./examples/embed-server
//	curl -s -H 'X-API-Key: key-of-ann' localhost:8080/plant/flow
//	curl -s -H 'X-API-Key: key-of-ann' localhost:8080/api/v1/tags
package main

import (
	"context"
	"errors"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"google.golang.org/grpc"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/engine"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/sqlite"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/simdriver"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/server"
	"github.com/otkit/otkit/transport/tagsapi/tagspart"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	port, err := net.Listen("tcp", "localhost:8080")
	if err != nil {
		log.Fatal(err)
	}
	rpcPort, err := net.Listen("tcp", "localhost:8081")
	if err != nil {
		log.Fatal(err)
	}
	if err := run(ctx, port, rpcPort, filepath.Join(os.TempDir(), "embed-server")); err != nil {
		log.Fatal(err)
	}
}

// run serves until ctx ends, and keeps everything in dir.
func run(ctx context.Context, port, rpcPort net.Listener, dir string) (err error) {
	db, err := sqlite.Open(ctx, sqlite.Options{Dir: dir}, schemas()...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close(context.WithoutCancel(ctx))) }() // after the engine
	e, err := newEngine(ctx, dir, db)
	if err != nil {
		return err
	}
	e.Start()

	host := &http.Server{Handler: routes(e), ReadHeaderTimeout: 10 * time.Second}
	rpc := grpc.NewServer()
	e.RegisterGRPC(rpc) // before Serve
	failed := make(chan error, 2)
	go func() { failed <- host.Serve(port) }()
	go func() { failed <- rpc.Serve(rpcPort) }()
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	// The engine goes first: it ends the streams that Shutdown and GracefulStop would wait for.
	err = errors.Join(err, e.Close(stopping), host.Shutdown(stopping))
	rpc.GracefulStop()
	return err
}

// routes puts the engine beside what the program has already. Only the engine's routes are guarded.
func routes(e *engine.Engine) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /hello", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello\n")) })
	mux.Handle("/", e.Handler())
	return mux
}

// newEngine returns an engine with one simulated driver, whose login and part are the program's own.
func newEngine(ctx context.Context, dir string, db *storage.DB) (*engine.Engine, error) {
	driver, err := simdriver.New(simdriver.Options{Scenario: simdriver.RandomWalk})
	if err != nil {
		return nil, err
	}
	flow := tags.Tag{Name: "pump.flow", Address: "device1.tag1", DataType: tags.Float, Unit: "l/min"}
	p := &plant{}
	o := engine.Options{
		DataDir:         dir,
		WithoutAccounts: true, // the login is ours: no accounts, and no /api/v1/auth
		Server: server.Options{Authenticator: auth.AuthenticatorFunc(byKey),
			// Else callers on this machine need no login for tag configuration, silences and more.
			Access: server.AccessOptions{ProtectOpenSurfaces: true}},
		Tags: tagspart.Options{Drivers: []tagspart.Driver{
			{ID: "pump", Driver: driver, Options: tags.DriverOptions{Tags: []tags.Tag{flow}}}}},
		Parts: []server.Part{p.part()},
	}
	if err := useDatabase(&o, db); err != nil {
		return nil, err
	}
	e, err := engine.New(ctx, o)
	if err != nil {
		return nil, err
	}
	p.tags, p.alarms = e.Tags(), e.Alarms() // before Start: no call comes earlier
	return e, nil
}

// users are the callers by their key. A real program looks them up where it keeps them.
var users = map[string]auth.Principal{
	"key-of-ann": {Issuer: "plant", Subject: "ann", Name: "Ann", Role: accounts.Viewer},
	"key-of-bob": {Issuer: "plant", Subject: "bob", Name: "Bob", Role: accounts.Operator},
	"key-of-eva": {Issuer: "plant", Subject: "eva", Name: "Eva", Role: accounts.Admin},
}

// byKey is the login: it returns who calls.
func byKey(_ context.Context, r auth.Request) (*auth.Principal, error) {
	keys := r.Header("X-API-Key") // of HTTP, or metadata of gRPC
	if len(keys) == 0 {
		return nil, nil // a call without credentials
	}
	user, ok := users[keys[0]]
	if !ok {
		return nil, auth.ErrUnauthenticated
	}
	return &user, nil
}
