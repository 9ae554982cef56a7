package auth_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/auth"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const password = "correct horse"

// plant is an authority with one account per role: viewer, operator, admin.
type plant struct {
	*auth.Authority
	accounts *accounts.Service
	store    *accounts.Memory
	keys     *auth.Keys
}

func newPlant(t testing.TB, opts auth.Options) plant {
	t.Helper()
	store := accounts.NewMemory()
	service, err := accounts.New(store, store, accounts.Options{Now: opts.Now, Hash: accounts.HashParams{MemoryKiB: 8, Passes: 1}})
	require.NoError(t, err)
	for name, role := range map[string]accounts.Role{"viewer": accounts.Viewer, "operator": accounts.Operator, "admin": accounts.Admin} {
		require.NoError(t, service.Add(t.Context(), name, password, role))
	}
	keys, err := auth.OpenKeys(t.TempDir(), auth.KeysOptions{Now: opts.Now})
	require.NoError(t, err)
	a, err := auth.New(service, keys, opts)
	require.NoError(t, err)
	return plant{Authority: a, accounts: service, store: store, keys: keys}
}

func (p plant) login(t testing.TB, name string) auth.Grant {
	t.Helper()
	g, err := p.Login(t.Context(), name, password, "192.0.2.7:1")
	require.NoError(t, err)
	return g
}

func (p plant) requireGood(t testing.TB, token string) *auth.Principal {
	t.Helper()
	who, err := p.Verify(t.Context(), token)
	require.NoError(t, err)
	return who
}

func (p plant) requireBad(t testing.TB, token string) {
	t.Helper()
	_, err := p.Verify(t.Context(), token)
	require.ErrorIs(t, err, auth.ErrUnauthenticated)
}

func (p plant) guard(t testing.TB, opts auth.GuardOptions, rows ...auth.Operation) *auth.Guard {
	t.Helper()
	table, err := auth.NewTable(rows)
	require.NoError(t, err)
	opts.WriteError = writeError
	g, err := auth.NewGuard(p.Authority, table, opts)
	require.NoError(t, err)
	return g
}

// writeError stands in for package problem, which is not needed to see what was refused.
func writeError(w http.ResponseWriter, _ *http.Request, err error) {
	status := map[fault.Kind]int{fault.Unauthenticated: 401, fault.Forbidden: 403, fault.Unavailable: 503}[fault.KindOf(err)]
	if status == 0 {
		status = 500
	}
	f, _ := fault.From(err)
	if f == nil {
		f = fault.New(fault.Internal, "INTERNAL_ERROR", "")
	}
	http.Error(w, f.Code, status)
}

// clock is a time that a test moves by hand.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }
