package recorder_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/audit"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/audited"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/recorder"
)

// store is a store that can fail.
type store struct {
	*audit.Memory
	fail atomic.Bool
	hang atomic.Bool
}

func (s *store) Append(ctx context.Context, entries []audit.Entry) (int64, error) {
	if s.fail.Load() {
		return 0, errors.New("disk full")
	}
	if s.hang.Load() {
		<-ctx.Done()
		return 0, context.Cause(ctx)
	}
	return s.Memory.Append(ctx, entries)
}

// site is a guarded server with a log.
type site struct {
	t     *testing.T
	store *store
	log   *audit.Log
	http.Handler
	acts atomic.Int32 // handlers that were called
}

var operations = []auth.Operation{
	{ID: "setRecipe", Method: http.MethodPut, Path: "/mixers/{id}/recipe", Access: auth.Admin},
	{ID: "acknowledge", Method: http.MethodPost, Path: "/alarms/{id}/acknowledge", Access: auth.Operator, AuditOptional: true},
	{ID: "command", Method: http.MethodPost, Path: "/mixers/{id}/commands", Access: auth.Operator},
	{ID: "read", Method: http.MethodGet, Path: "/mixers/{id}", Access: auth.Viewer},
	{ID: "search", Method: http.MethodPost, Path: "/search", Access: auth.Viewer, Unaudited: "reads only"},
}

func newSite(t *testing.T, handler http.HandlerFunc, descriptions map[string]audited.Description) *site {
	t.Helper()
	s := &site{t: t, store: &store{Memory: audit.NewMemory()}}
	var err error
	s.log, err = audit.New(s.store, audit.Options{AppendTimeout: time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.log.Close(context.Background())) })
	writeError := func(w http.ResponseWriter, _ *http.Request, err error) {
		w.WriteHeader(map[fault.Kind]int{fault.Forbidden: 403, fault.Unauthenticated: 401, fault.Unavailable: 503}[fault.KindOf(err)])
	}
	r, err := recorder.New(s.log, recorder.Options{Descriptions: descriptions, WriteError: writeError,
		Message: func(m any) []byte { b, _ := json.Marshal(m); return b }})
	require.NoError(t, err)
	table, err := auth.NewTable(operations)
	require.NoError(t, err)
	who := auth.AuthenticatorFunc(func(_ context.Context, r auth.Request) (*auth.Principal, error) {
		token, _ := r.Token()
		role, ok := accounts.ParseRole(token)
		if !ok {
			return nil, nil
		}
		return &auth.Principal{Issuer: "test", Subject: "42", Name: strings.ToLower(token), Role: role, SessionID: "s-1"}, nil
	})
	guard, err := auth.NewGuard(who, table, auth.GuardOptions{WriteError: writeError, Recorder: r})
	require.NoError(t, err)
	router := chi.NewRouter()
	guarded := guard.Router(router)
	for _, op := range operations {
		guarded.Method(op.Method, op.Path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s.acts.Add(1)
			handler(w, r)
		}))
	}
	require.NoError(t, guard.Err())
	s.Handler = router
	return s
}

func (s *site) call(role accounts.Role, method, path, body string) int {
	s.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+string(role))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	func() {
		defer func() { _ = recover() }()
		s.ServeHTTP(w, r)
	}()
	return w.Code
}

func (s *site) records() []audit.Record {
	s.t.Helper()
	page, _, err := s.log.List(s.t.Context(), audit.Query{})
	require.NoError(s.t, err)
	for i := range page {
		page[i].ID, page[i].Time, page[i].EndedAt, page[i].Hash = 0, time.Time{}, time.Time{}, audit.Hash{}
	}
	return page
}

var admin = audit.Act{Actor: "admin", Principal: "test 42", Role: "Admin", Session: "s-1", Via: "rest", Action: "setRecipe", Objects: []string{"mixer 1/a"}}

func TestSuccess(t *testing.T) {
	var got string
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got = string(b)
		w.Header().Set("Location", "/recipes/7")
		w.WriteHeader(http.StatusCreated)
	}, map[string]audited.Description{"setRecipe": {Before: func(_ context.Context, c audited.Call) any { return map[string]string{"was": c.Param("id")} }}})
	require.Equal(t, 201, s.call(accounts.Admin, http.MethodPut, "/mixers/mixer%201%2Fa/recipe", `{"recipe": "B", "token": "x"}`))
	require.JSONEq(t, `{"recipe": "B", "token": "x"}`, got, "the handler reads the whole body")
	want := admin
	want.Before, want.After = `{"was":"mixer 1/a"}`, `{"recipe":"B","token":"[redacted]"}`
	require.Equal(t, []audit.Record{{Act: want, Result: audit.Result{Outcome: audit.Succeeded, Detail: "/recipes/7"}}}, s.records())
}

func TestOutcomes(t *testing.T) {
	for name, test := range map[string]struct {
		status int
		body   string
		want   audit.Result
	}{
		"refused":  {409, `{"code":"IN_USE","detail":"mixer is in use","title":"x"}`, audit.Result{Outcome: audit.Refused, Code: "IN_USE", Detail: "mixer is in use"}},
		"aas":      {400, `{"errorCode":"INVALID_REQUEST","message":"bad id"}`, audit.Result{Outcome: audit.Refused, Code: "INVALID_REQUEST", Detail: "bad id"}},
		"no body":  {404, ``, audit.Result{Outcome: audit.Refused, Code: "Not Found"}},
		"failed":   {503, `{"code":"DOWN"}`, audit.Result{Outcome: audit.Failed, Code: "DOWN"}},
		"canceled": {499, `{"code":"CANCELED"}`, audit.Result{Outcome: audit.Unknown, Code: "CANCELED"}},
		"too late": {504, `{"code":"CANCELED"}`, audit.Result{Outcome: audit.Unknown, Code: "CANCELED"}},
		"done":     {200, `{"id":5}`, audit.Result{Outcome: audit.Succeeded, Detail: `{"id":5}`}},
		"panicked": {0, ``, audit.Result{Outcome: audit.Unknown, Detail: "panic"}},
	} {
		s := newSite(t, func(w http.ResponseWriter, _ *http.Request) {
			if test.status == 0 {
				panic("boom")
			}
			w.WriteHeader(test.status)
			_, _ = io.WriteString(w, test.body)
		}, map[string]audited.Description{"setRecipe": {Detail: true}})
		s.call(accounts.Admin, http.MethodPut, "/mixers/1/recipe", `{}`)
		got := s.records()
		require.Len(t, got, 1)
		require.Equal(t, test.want, got[0].Result, name)
	}
}

func TestOutcomesThatAnswersTell(t *testing.T) {
	large := strings.Repeat("x", 8<<10)
	for body, want := range map[string]audit.Result{
		`{"jammed":"gripper"}`:                     {Outcome: audit.Failed, Code: "JAMMED", Detail: "gripper"},
		`{"x":"` + large + `","jammed":"gripper"}`: {Outcome: audit.Failed, Code: "JAMMED", Detail: "gripper"},
		`{"id":5}`:              {Outcome: audit.Succeeded, Detail: `{"id":5}`},
		`{"x":"` + large + `"}`: {Outcome: audit.Succeeded, Detail: `{"bytes":4096`},
	} {
		s := newSite(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) },
			map[string]audited.Description{"setRecipe": {Detail: true, Result: func(status int, body []byte) (audit.Result, bool) {
				require.Equal(t, 200, status)
				var answer struct{ Jammed string }
				require.NoError(t, json.Unmarshal(body, &answer))
				return audit.Result{Outcome: audit.Failed, Code: "JAMMED", Detail: answer.Jammed}, answer.Jammed != ""
			}}})
		s.call(accounts.Admin, http.MethodPut, "/mixers/1/recipe", `{}`)
		got := s.records()
		require.Len(t, got, 1)
		require.True(t, strings.HasPrefix(got[0].Detail, want.Detail), got[0].Detail)
		got[0].Detail = want.Detail
		require.Equal(t, want, got[0].Result)
	}
}

func TestLogUnavailable(t *testing.T) {
	s := newSite(t, func(http.ResponseWriter, *http.Request) {}, nil)
	s.store.fail.Store(true)
	require.Equal(t, 503, s.call(accounts.Admin, http.MethodPut, "/mixers/1/recipe", `{}`))
	require.Zero(t, s.acts.Load(), "without an intent nothing is done")
	require.Equal(t, 200, s.call(accounts.Operator, http.MethodPost, "/alarms/7/acknowledge", `{}`))
	require.EqualValues(t, 1, s.acts.Load(), "an alarm can be acknowledged all the same")
	require.Equal(t, 200, s.call(accounts.Viewer, http.MethodGet, "/mixers/1", ""))
	s.store.fail.Store(false)
	require.Eventually(t, func() bool {
		got := s.records()
		return len(got) == 1 && got[0].Action == "acknowledge" && got[0].Outcome == audit.Succeeded
	}, time.Minute, 10*time.Millisecond, "what was done is recorded later")
}

// emergency lets stops go on without the log.
var emergency = map[string]audited.Description{"command": {
	Before: func(ctx context.Context, _ audited.Call) any { <-ctx.Done(); return nil }, // a store that hangs
	Optional: func(c audited.Call) bool {
		var body struct{ CommandType string }
		return c.Decode(&body) && body.CommandType == "EmergencyStop"
	},
}}

func TestCallThatIsOptionalByItsContent(t *testing.T) {
	for name, fault := range map[string]func(*store) *atomic.Bool{
		"fails": func(s *store) *atomic.Bool { return &s.fail },
		"hangs": func(s *store) *atomic.Bool { return &s.hang },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, func(http.ResponseWriter, *http.Request) {}, map[string]audited.Description{"command": {Optional: emergency["command"].Optional}})
				const path = "/mixers/1/commands"
				fault(s.store).Store(true)
				for _, body := range []string{`{"commandType":"Mix"}`, `{"commandType":"EmergencyStop"`, ``,
					`{"commandType":"EmergencyStop","x":"` + strings.Repeat("y", audit.MaxValue) + `"}`} {
					require.Equal(t, 503, s.call(accounts.Operator, http.MethodPost, path, body))
				}
				require.Zero(t, s.acts.Load())
				began := time.Now()
				require.Equal(t, 403, s.call(accounts.Viewer, http.MethodPost, path, `{"commandType":"EmergencyStop"}`))
				require.Equal(t, 200, s.call(accounts.Operator, http.MethodPost, path, `{"commandType":"EmergencyStop"}`))
				require.Equal(t, began, time.Now(), "it does not wait for the log")
				require.EqualValues(t, 1, s.acts.Load())
				fault(s.store).Store(false)
				time.Sleep(time.Minute)
				var stops []audit.Record
				for _, r := range s.records() {
					if r.Action == "command" && r.Outcome == audit.Succeeded {
						stops = append(stops, r)
					}
				}
				require.Len(t, stops, 1, "it is recorded when the store works again")
				require.Equal(t, []string{"1"}, stops[0].Objects)
				require.Equal(t, "operator", stops[0].Actor)
				require.JSONEq(t, `{"commandType":"EmergencyStop"}`, stops[0].After)
			})
		})
	}
}

func TestOptionalCallDoesNotWaitForTheValuesBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, func(http.ResponseWriter, *http.Request) {}, emergency)
		began := time.Now()
		require.Equal(t, 200, s.call(accounts.Operator, http.MethodPost, "/mixers/1/commands", `{"commandType":"EmergencyStop"}`))
		require.Equal(t, began, time.Now())
	})
}

func TestUnaryThatIsOptionalByItsContent(t *testing.T) {
	s := newSite(t, nil, nil)
	r, err := recorder.New(s.log, recorder.Options{WriteError: func(http.ResponseWriter, *http.Request, error) {}, Descriptions: emergency,
		Message: func(m any) []byte { b, _ := json.Marshal(m); return b }})
	require.NoError(t, err)
	s.store.fail.Store(true)
	defer s.store.fail.Store(false)
	command := auth.Operation{ID: "command"}
	stopped := false
	_, err = r.Unary(t.Context(), command, map[string]string{"commandType": "EmergencyStop"}, func(context.Context, any) (any, error) {
		stopped = true
		return nil, nil
	})
	require.NoError(t, err)
	require.True(t, stopped)
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // for Before
	_, err = r.Unary(ctx, command, map[string]string{"commandType": "Mix"}, func(context.Context, any) (any, error) {
		t.Error("acted without an intent")
		return nil, nil
	})
	require.Error(t, err)
}

func TestDenied(t *testing.T) {
	s := newSite(t, func(http.ResponseWriter, *http.Request) {}, nil)
	require.Equal(t, 403, s.call(accounts.Viewer, http.MethodPut, "/mixers/1/recipe", `{}`))
	require.Equal(t, 401, s.call("nobody", http.MethodPut, "/mixers/1/recipe", `{}`))
	require.Zero(t, s.acts.Load())
	got := s.records()
	require.Len(t, got, 1, "strangers without a token leave nothing")
	require.Equal(t, "viewer", got[0].Actor)
	require.Equal(t, "rest", got[0].Via)
	require.Equal(t, []string{"1"}, got[0].Objects)
	require.Equal(t, audit.Result{Outcome: audit.Refused, Code: "FORBIDDEN", Detail: auth.ErrForbidden.Error()}, got[0].Result)
}

func TestReadsAreNotRecorded(t *testing.T) {
	s := newSite(t, func(http.ResponseWriter, *http.Request) {}, nil)
	require.Equal(t, 200, s.call(accounts.Viewer, http.MethodGet, "/mixers/1", ""))
	require.Equal(t, 200, s.call(accounts.Viewer, http.MethodPost, "/search", "{}"))
	require.Empty(t, s.records())
}

func TestBodies(t *testing.T) {
	large := `{"x":"` + strings.Repeat("y", audit.MaxValue) + `"}`
	var got int
	s := newSite(t, func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got = len(b)
	}, nil)
	for _, test := range []struct{ kind, body, want string }{
		{"application/json", large, `{"bytes":65544}`},
		{"text/csv", "a;b", `{"bytes":3}`},
		{"", "", ""},
		{"application/merge-patch+json", `{"a":1}`, `{"a":1}`},
		{"application/json", `{"password":`, `{"bytes":12}`},
	} {
		for _, sized := range []bool{true, false} {
			r := httptest.NewRequest(http.MethodPut, "/mixers/1/recipe", strings.NewReader(test.body))
			r.Header.Set("Authorization", "Bearer Admin")
			r.Header.Set("Content-Type", test.kind)
			if !sized && test.body != "" {
				r.ContentLength = -1
			}
			s.ServeHTTP(httptest.NewRecorder(), r)
			require.Equal(t, len(test.body), got)
			after := s.records()[0].After
			if !sized && strings.HasPrefix(test.want, `{"bytes":`) && test.want != `{"bytes":12}` {
				require.Equal(t, `{"bytes":-1}`, after)
			} else {
				require.Equal(t, test.want, after)
			}
		}
	}
}

func TestUnary(t *testing.T) {
	s := newSite(t, nil, nil)
	r, err := recorder.New(s.log, recorder.Options{WriteError: func(http.ResponseWriter, *http.Request, error) {},
		Message:      func(m any) []byte { b, _ := json.Marshal(m); return b },
		Descriptions: map[string]audited.Description{"setRecipe": {Detail: true, Objects: func(c audited.Call) []string { return []string{c.Param("mixer_id")} }}}})
	require.NoError(t, err)
	ctx := auth.WithPrincipal(t.Context(), &auth.Principal{Issuer: "test", Subject: "42", Name: "admin", Role: accounts.Admin, SessionID: "s-1"})
	request := map[string]string{"mixerId": "mixer 1/a", "recipe": "B"}
	for _, fail := range []error{nil, fault.New(fault.NotFound, "NO_MIXER", "no such mixer"), errors.New("broken")} {
		_, err := r.Unary(ctx, operations[0], request, func(_ context.Context, got any) (any, error) {
			require.Equal(t, request, got)
			return map[string]int{"id": 7}, fail
		})
		require.Equal(t, fail, err)
	}
	want := admin
	want.Via, want.After = "grpc", `{"mixerId":"mixer 1/a","recipe":"B"}`
	require.Equal(t, []audit.Record{
		{Act: want, Result: audit.Result{Outcome: audit.Failed, Detail: "broken"}},
		{Act: want, Result: audit.Result{Outcome: audit.Refused, Code: "NO_MIXER", Detail: "no such mixer"}},
		{Act: want, Result: audit.Result{Outcome: audit.Succeeded, Detail: `{"id":7}`}},
	}, s.records())

	_, err = r.Unary(ctx, operations[0], request, func(context.Context, any) (any, error) { return nil, context.DeadlineExceeded })
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, audit.Unknown, s.records()[0].Outcome)

	s.store.fail.Store(true)
	_, err = r.Unary(ctx, operations[0], request, func(context.Context, any) (any, error) {
		t.Error("acted without an intent")
		return nil, nil
	})
	require.ErrorIs(t, err, audit.ErrUnavailable)
}

func TestNew(t *testing.T) {
	_, err := recorder.New(nil, recorder.Options{})
	require.ErrorContains(t, err, "log is required")
	log, err := audit.New(audit.NewMemory(), audit.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, log.Close(t.Context())) }()
	_, err = recorder.New(log, recorder.Options{})
	require.ErrorContains(t, err, "WriteError")
}
