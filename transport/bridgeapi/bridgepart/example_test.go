package bridgepart_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/otkit/otkit/aas/shellconfig"
	"github.com/otkit/otkit/audit"
	"github.com/otkit/otkit/discovery/bridge"
	"github.com/otkit/otkit/discovery/license"
	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/accountsapi/accountspart"
	"github.com/otkit/otkit/transport/bridgeapi/bridgepart"
	"github.com/otkit/otkit/transport/server"
)

// A server with nothing but a bridge. Package bridgehost makes all of this.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "otkit")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	engine, err1 := tags.New(tags.Options{})
	host, err2 := bridge.New(ctx, bridge.Options{ID: "bridge-7", Tags: engine, DriverID: "pump", DriverType: "Simulation", Buffer: bridge.NewMemoryBuffer(0),
		StateFile: filepath.Join(dir, "binding.json"),
		Dial: func(context.Context, string, []string) (link.BridgeConn, error) {
			return nil, errors.New("no link here")
		}})
	log, err3 := audit.New(audit.NewMemory(), audit.Options{})
	people, err4 := accountspart.New(ctx, accountspart.Options{DataDir: dir})
	vendor, err5 := license.New(license.Options{File: filepath.Join(dir, "license.key"), BridgeID: "bridge-7"})
	shell, err6 := shellconfig.New(shellconfig.Options{File: filepath.Join(dir, "aas.json"), Tags: func() []tags.Tag { return nil },
		Default: shellconfig.Config{ID: "urn:pump", IDShort: "Pump", GlobalAssetID: "urn:asset:pump"}})
	if err := errors.Join(err1, err2, err3, err4, err5, err6); err != nil {
		panic(err)
	}
	defer func() { _, _ = engine.Close(ctx), log.Close(ctx) }()
	part, err := bridgepart.New(bridgepart.Deps{Host: host, Tags: engine, Accounts: people, Audit: log, License: vendor, Shell: shell},
		bridgepart.Options{DriverID: "pump", DriverType: "Simulation"})
	if err != nil {
		panic(err)
	}
	s, err := server.New(ctx, server.Options{Authenticator: part.Authenticator(), HealthMembers: part.HealthMembers}, part.Part())
	if err != nil {
		panic(err)
	}
	defer func() { _ = s.Close(ctx) }()
	s.Start()
	for _, path := range []string{"/api/bridge/status", "/api/bridge/audit"} {
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		fmt.Println(path, w.Code)
	}
	// Output:
	// /api/bridge/status 200
	// /api/bridge/audit 401
}
