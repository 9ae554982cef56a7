package accountsapi_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/transport/accountsapi"
)

// gateway issues the tokens of the program's own login.
type gateway struct{}

func (gateway) Login(_ context.Context, username, password, _ string) (accountsapi.Grant, error) {
	if username != "ann" || password != "a long password" {
		return accountsapi.Grant{}, accounts.ErrCredentials
	}
	return accountsapi.Grant{AccessToken: "token-of-ann", ExpiresIn: time.Hour, Roles: []string{"Viewer"}}, nil
}

func (gateway) Refresh(context.Context, string) (accountsapi.Grant, error) {
	return accountsapi.Grant{}, accounts.ErrRefreshToken
}

func (gateway) SignIn(ctx context.Context, username, password, remote string) (accountsapi.Grant, error) {
	return gateway{}.Login(ctx, username, password, remote)
}

func (gateway) Renew(context.Context, string) (accountsapi.Grant, error) {
	return accountsapi.Grant{}, accounts.ErrBrowserSession
}

func (gateway) SignOut(context.Context, string, string) error { return nil }

func (gateway) Logout(context.Context) error { return nil }

// The API over an authority of your own. *auth.Authority issues tokens too; see accountspart.
func Example() {
	store := accounts.NewMemory()
	service, err := accounts.New(store, store, accounts.Options{})
	if err != nil {
		panic(err)
	}
	api, err := accountsapi.New(gateway{}, service, accountsapi.Options{})
	if err != nil {
		panic(err)
	}
	router := chi.NewRouter()
	api.Mount(router)
	for _, password := range []string{"a long password", "a guess"} {
		r := httptest.NewRequest("POST", "/api/v1/auth/login", strings.NewReader(fmt.Sprintf(`{"username":"ann","password":%q}`, password)))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		router.ServeHTTP(w, r)
		fmt.Println(w.Code)
	}
	// Output:
	// 200
	// 401
}
