package recorder_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/otkit/otkit/audit"
	"github.com/otkit/otkit/transport/audited"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/problem"
	"github.com/otkit/otkit/transport/recorder"
)

func refuse(w http.ResponseWriter, r *http.Request, err error) {
	problem.Write(w, r, err, problem.Problem)
}

// The guard of a server puts a recorder around its handlers; here it is around a single one.
func Example() {
	ctx := context.Background()
	log, err := audit.New(audit.NewMemory(), audit.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = log.Close(ctx) }()
	rec, err := recorder.New(log, recorder.Options{WriteError: refuse, Descriptions: map[string]audited.Description{
		"setRecipe": {Before: func(context.Context, audited.Call) any { return map[string]string{"recipe": "A"} }},
	}})
	if err != nil {
		panic(err)
	}
	set := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	router := chi.NewRouter()
	router.Method("PUT", "/mixers/{mixer}/recipe", rec.HTTP(auth.Operation{ID: "setRecipe", Access: auth.Operator}, set))
	r := httptest.NewRequest("PUT", "/mixers/m1/recipe", strings.NewReader(`{"recipe":"B"}`))
	r.Header.Set("Content-Type", "application/json")
	router.ServeHTTP(httptest.NewRecorder(), r)

	records, _, err := log.List(ctx, audit.Query{Limit: 10})
	for _, r := range records {
		fmt.Println(r.Actor, r.Action, r.Objects, r.Before, r.After, r.Outcome, err)
	}
	// Output: anonymous setRecipe [m1] {"recipe":"A"} {"recipe":"B"} succeeded <nil>
}
