package accountspart_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/otkit/otkit/transport/accountsapi/accountspart"
	"github.com/otkit/otkit/transport/server"
)

// The part is the login of the server it is in.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "otkit")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	part, err := accountspart.New(ctx, accountspart.Options{DataDir: dir})
	if err != nil {
		panic(err)
	}
	s, err := server.New(ctx, server.Options{Authenticator: part.Authenticator()}, part.Part())
	if err != nil {
		panic(err)
	}
	defer func() { _ = s.Close(ctx) }()
	password, err := part.EnsureAdmin(ctx) // show it to the operator: it is stored nowhere
	if err != nil {
		panic(err)
	}
	s.Start()
	w := httptest.NewRecorder()
	r := httptest.NewRequest("POST", "/api/v1/auth/login", strings.NewReader(fmt.Sprintf(`{"username":"admin","password":%q}`, password)))
	r.Header.Set("Content-Type", "application/json")
	s.Handler().ServeHTTP(w, r)
	fmt.Println(w.Code, strings.Contains(w.Body.String(), `"accessToken"`))
	// Output: 200 true
}
