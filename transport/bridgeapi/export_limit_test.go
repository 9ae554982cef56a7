package bridgeapi_test

import (
	"context"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas/shellconfig"
	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/audit"
	"github.com/otkit/otkit/discovery/bridge"
	"github.com/otkit/otkit/discovery/license"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/bridgeapi"
)

// noHost is a bridge that nothing is asked of.
type noHost struct{ *bridge.Host }

// Anybody may export, and a shell of many tags is much work.
func TestExportsDoNotOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, dir := context.Background(), t.TempDir()
		var inside, most atomic.Int64
		gate := make(chan struct{})
		var until time.Time
		shell, err := shellconfig.New(shellconfig.Options{File: filepath.Join(dir, "aas.json"),
			Default: shellconfig.Config{ID: "urn:pump", IDShort: "Pump", GlobalAssetID: "urn:asset:pump"},
			Tags: func() []tags.Tag {
				most.Store(max(most.Load(), inside.Add(1)))
				defer inside.Add(-1)
				<-gate
				return nil
			}})
		require.NoError(t, err)
		engine, err := tags.New(tags.Options{})
		require.NoError(t, err)
		log, err := audit.New(audit.NewMemory(), audit.Options{})
		require.NoError(t, err)
		defer func() { _, _ = engine.Close(ctx), log.Close(ctx) }()
		memory := accounts.NewMemory()
		people, err := accounts.New(memory, memory, accounts.Options{})
		require.NoError(t, err)
		vendor, err := license.New(license.Options{File: filepath.Join(dir, "license.key"), BridgeID: "b"})
		require.NoError(t, err)
		api, err := bridgeapi.New(bridgeapi.Deps{Host: noHost{}, Tags: engine, DriverID: "pump", Authority: nobody{}, Accounts: people, Audit: log,
			License: vendor, Shell: shell}, bridgeapi.Options{})
		require.NoError(t, err)
		router := chi.NewRouter()
		api.Mount(router)
		var wg sync.WaitGroup
		call := func(ctx context.Context) {
			wg.Go(func() {
				router.ServeHTTP(&slow{httptest.NewRecorder(), &until}, httptest.NewRequestWithContext(ctx, "GET", "/api/bridge/config/aas/export", nil))
			})
		}
		call(ctx)
		call(ctx)
		gone, cancel := context.WithCancel(ctx)
		call(gone)
		synctest.Wait()
		cancel()
		synctest.Wait()
		require.EqualValues(t, 1, inside.Load())
		close(gate)
		wg.Wait()
		require.EqualValues(t, 1, most.Load())
		require.Equal(t, 10*time.Second, time.Until(until), "who does not read keeps others waiting no longer")
	})
}

// slow has the time until which its caller may read.
type slow struct {
	*httptest.ResponseRecorder
	until *time.Time
}

func (s *slow) SetWriteDeadline(t time.Time) error {
	*s.until = t
	return nil
}
