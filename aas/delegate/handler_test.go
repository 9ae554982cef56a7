package delegate_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/delegate"
	"github.com/otkit/otkit/aas/repository"
)

func number(idShort, value string) *aas.Property {
	p := &aas.Property{ValueType: "xs:int", Value: &value}
	p.IDShort = idShort
	return p
}

func operation(url string) *aas.Operation {
	o := &aas.Operation{
		InputVariables: []aas.Element{number("a", "0")}, InoutputVariables: []aas.Element{number("b", "0")},
		OutputVariables: []aas.Element{number("sum", "0")},
	}
	o.IDShort = "Add"
	o.Qualifiers = []aas.Qualifier{{Type: repository.DelegationQualifier, ValueType: "xs:string", Value: &url}}
	return o
}

// invoke calls an operation of a submodel through a service.
func invoke(t *testing.T, url string, o delegate.Options) (repository.InvocationResult, error) {
	t.Helper()
	h, err := delegate.New(o)
	require.NoError(t, err)
	s, err := repository.New(repository.NewMemory(), repository.Options{Delegate: h})
	require.NoError(t, err)
	m := &aas.Submodel{Elements: []aas.Element{operation(url)}}
	m.ID, m.IDShort = "urn:m", "M"
	_, err = s.Submodels.Create(t.Context(), m)
	require.NoError(t, err)
	path, err := aas.ParsePath("Add")
	require.NoError(t, err)
	return s.Invoke(t.Context(), "urn:m", path, []aas.Element{number("a", "2")}, []aas.Element{number("b", "3")})
}

// The caller says how long an operation may take; the option is for a caller that does not.
func TestTheTimeOfTheCallerHolds(t *testing.T) {
	const short = 10 * time.Millisecond
	peer := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then does the server see that the caller goes
		if r.URL.Path == "/late" {
			time.Sleep(5 * short)
			return
		}
		<-r.Context().Done()
	}))
	defer peer.Close()
	h, err := delegate.New(delegate.Options{Allow: []string{peer.URL}, Timeout: short})
	require.NoError(t, err)
	_, err = h.Invoke(t.Context(), repository.Invocation{Operation: operation(peer.URL + "/never")})
	require.ErrorIs(t, err, delegate.ErrPeerFailed)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err = h.Invoke(ctx, repository.Invocation{Operation: operation(peer.URL + "/late")})
	require.NoError(t, err)
}

func TestArgumentsAndResults(t *testing.T) {
	var got string
	peer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = r.Method + " " + r.URL.Path + " " + string(body)
		_, _ = io.WriteString(w, `[{"value":{"modelType":"Property","idShort":"sum","valueType":"xs:int","value":"5"}},
			{"value":{"modelType":"Property","idShort":"b","valueType":"xs:int","value":"4"}}]`)
	}))
	defer peer.Close()
	result, err := invoke(t, peer.URL+"/math/add", delegate.Options{Allow: []string{peer.URL + "/math"}})
	require.NoError(t, err)
	require.Equal(t, `POST /math/add [{"value":{"modelType":"Property","idShort":"a","valueType":"xs:int","value":"2"}},`+
		`{"value":{"modelType":"Property","idShort":"b","valueType":"xs:int","value":"3"}}]`, got)
	require.Equal(t, repository.InvocationResult{Output: []aas.Element{number("sum", "5")}, Inoutput: []aas.Element{number("b", "4")}}, result)
}

func TestOnlyAllowedURLsAreCalled(t *testing.T) {
	called := false
	peer := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called = true }))
	defer peer.Close()
	allow := []string{peer.URL + "/math"}
	for _, url := range []string{
		peer.URL, peer.URL + "/mathematics", peer.URL + "/math/../admin", peer.URL + "/math/%2e%2E/admin", peer.URL + "/math%2f..%2fadmin",
		strings.Replace(peer.URL, "http://", "http://user@", 1) + "/math", "http://169.254.169.254/math", "file:///math", "::",
	} {
		_, err := invoke(t, url, delegate.Options{Allow: allow})
		require.ErrorIs(t, err, delegate.ErrNotAllowed, url)
	}
	_, err := invoke(t, peer.URL, delegate.Options{})
	require.ErrorIs(t, err, delegate.ErrNotAllowed, "nothing is allowed by default")
	require.False(t, called)
	_, err = invoke(t, peer.URL+"/math", delegate.Options{Allow: allow})
	require.NoError(t, err)
	require.True(t, called)
}

func TestPeerThatFails(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"status":   func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "SECRET", http.StatusInternalServerError) },
		"redirect": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) },
		"no array": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{}`) },
		"no element": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `[{"value":{"modelType":"X"}}]`)
		},
		"too much": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat(" ", 2000)) },
	} {
		t.Run(name, func(t *testing.T) {
			peer := httptest.NewServer(answer)
			defer peer.Close()
			_, err := invoke(t, peer.URL, delegate.Options{Allow: []string{peer.URL}, MaxBytes: 1000})
			require.ErrorIs(t, err, delegate.ErrPeerFailed)
			require.NotContains(t, err.Error(), "SECRET")
		})
	}
}

func TestBadOptions(t *testing.T) {
	for _, o := range []delegate.Options{{Allow: []string{"ftp://x"}}, {Allow: []string{"http://u:p@x"}}, {Timeout: -1}, {MaxBytes: -1}} {
		_, err := delegate.New(o)
		require.Error(t, err)
	}
}
