package bridgeapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/go-chi/chi/v5"

	"github.com/otkit/otkit/aas/shellconfig"
	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/audit"
	"github.com/otkit/otkit/discovery/bridge"
	"github.com/otkit/otkit/discovery/license"
	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/bridgeapi"
)

// nobody issues no tokens.
type nobody struct{}

func (nobody) Login(context.Context, string, string, string) (bridgeapi.Grant, error) {
	return bridgeapi.Grant{}, accounts.ErrCredentials
}

func (nobody) Refresh(context.Context, string) (bridgeapi.Grant, error) {
	return bridgeapi.Grant{}, accounts.ErrRefreshToken
}
func (nobody) Logout(context.Context) error { return nil }

// A program that has its own server mounts the API behind its own login.
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
	memory := accounts.NewMemory()
	people, err4 := accounts.New(memory, memory, accounts.Options{})
	vendor, err5 := license.New(license.Options{File: filepath.Join(dir, "license.key"), BridgeID: "bridge-7"})
	shell, err6 := shellconfig.New(shellconfig.Options{File: filepath.Join(dir, "aas.json"), Tags: func() []tags.Tag { return nil },
		Default: shellconfig.Config{ID: "urn:pump", IDShort: "Pump", GlobalAssetID: "urn:asset:pump"}})
	if err := errors.Join(err1, err2, err3, err4, err5, err6); err != nil {
		panic(err)
	}
	defer func() { _, _, _ = host.Close(ctx), engine.Close(ctx), log.Close(ctx) }()
	api, err := bridgeapi.New(bridgeapi.Deps{Host: host, Tags: engine, DriverID: "pump", DriverType: "Simulation", Authority: nobody{}, Accounts: people,
		Audit: log, License: vendor, Shell: shell}, bridgeapi.Options{})
	if err != nil {
		panic(err)
	}
	router := chi.NewRouter()
	api.Mount(router)
	w := httptest.NewRecorder()
	router.ServeHTTP(w, httptest.NewRequest("GET", "/api/bridge/license", nil))
	fmt.Print(w.Code, " ", w.Body)
	// Output: 200 {"edition":"community","features":[],"valid":false}
}
