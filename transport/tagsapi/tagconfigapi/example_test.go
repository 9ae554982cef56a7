package tagconfigapi_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/otkit/otkit/tags/tagconfig"
	"github.com/otkit/otkit/transport/tagsapi/tagconfigapi"
)

// A program that has its own server mounts the API behind its own login.
func Example() {
	dir, err := os.MkdirTemp("", "otkit")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	store, err := tagconfig.Open(context.Background(), tagconfig.Options{Path: filepath.Join(dir, "model.json")})
	if err != nil {
		panic(err)
	}
	api, err := tagconfigapi.New(store, tagconfigapi.Options{})
	if err != nil {
		panic(err)
	}
	r := chi.NewRouter()
	api.Mount(r)

	w := httptest.NewRecorder()
	r.ServeHTTP(w, httptest.NewRequest("POST", "/api/v1.0/config/tags/bulk",
		strings.NewReader(`[{"tagId":"plc.speed","driverId":"plc","address":"40001","dataType":"Int","unit":"rpm"}]`)))
	fmt.Println(w.Code, w.Body, len(store.List()))
	// Output: 200 {"count":1,"message":"1 tags updated"} 1
}
