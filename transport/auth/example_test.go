package auth_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/go-chi/chi/v5"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/transport/auth"
)

func Example() {
	if err := example(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// without a token: 401
	// with a token: 200
}

func example() error {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "keys")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()

	store := accounts.NewMemory()
	service, err := accounts.New(store, store, accounts.Options{})
	if err != nil {
		return err
	}
	secret, err := service.EnsureAdmin(ctx, "admin", "")
	if err != nil {
		return err
	}
	keys, err := auth.OpenKeys(dir, auth.KeysOptions{})
	if err != nil {
		return err
	}
	authority, err := auth.New(service, keys, auth.Options{})
	if err != nil {
		return err
	}
	table, err := auth.NewTable([]auth.Operation{{ID: "getPlan", Method: "GET", Path: "/plan", Access: auth.Viewer}})
	if err != nil {
		return err
	}
	guard, err := auth.NewGuard(authority, table, auth.GuardOptions{
		WriteError: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusUnauthorized) },
	})
	if err != nil {
		return err
	}
	mux := chi.NewRouter()
	guard.Router(mux).Get("/plan", func(http.ResponseWriter, *http.Request) {})
	if err := guard.Err(); err != nil {
		return err
	}

	request := httptest.NewRequest("GET", "/plan", nil)
	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, request)
	fmt.Println("without a token:", answer.Code)

	grant, err := authority.Login(ctx, "admin", secret, "192.0.2.7:52011")
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+grant.AccessToken)
	answer = httptest.NewRecorder()
	mux.ServeHTTP(answer, request)
	fmt.Println("with a token:", answer.Code)
	return nil
}
