package server_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/openapi"
	"github.com/otkit/otkit/tags"
)

// What is compressed has neither a secret nor an ETag.
func TestWhichAnswersAreCompressed(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromData(openapi.Document)
	require.NoError(t, err)
	tagged := map[string]bool{}
	for _, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			for _, answer := range op.Responses.Map() {
				if answer.Value != nil && answer.Value.Headers["ETag"] != nil {
					tagged[op.OperationID] = true
				}
			}
		}
	}
	require.NotEmpty(t, tagged)
	compressed := 0
	for _, op := range operations(t) {
		if !op.Gzip {
			continue
		}
		compressed++
		require.False(t, tagged[op.ID], op.ID)
		require.NotContains(t, []string{"accounts", "console", "hubs"}, op.Part, op.ID)
		require.NotContains(t, []string{"getDriver", "createDriver", "replaceDriver", "bindBridge"}, op.ID) // settings of drivers and bind secrets
	}
	require.Greater(t, compressed, 40)
}

var secretMember = regexp.MustCompile(`(?i)password|secret|token|credential|privatekey|^settings$`)

// secretsOf returns the members of a schema whose names are those of secrets, or of settings, which have some.
func secretsOf(ref *openapi3.SchemaRef, seen map[*openapi3.Schema]bool) (found []string) {
	if ref == nil || ref.Value == nil || seen[ref.Value] {
		return nil
	}
	seen[ref.Value] = true
	s := ref.Value
	for name, member := range s.Properties {
		if secretMember.MatchString(name) {
			found = append(found, name)
		}
		found = append(found, secretsOf(member, seen)...)
	}
	for _, part := range append(append(append(openapi3.SchemaRefs{s.Items, s.AdditionalProperties.Schema}, s.AllOf...), s.OneOf...), s.AnyOf...) {
		found = append(found, secretsOf(part, seen)...)
	}
	return found
}

// An operation that gets a secret into its answer must lose Gzip: this finds those whose members are named for it.
func TestNoSecretIsCompressed(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromData(openapi.Document)
	require.NoError(t, err)
	secrets := map[string][]string{}
	for _, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			for _, answer := range op.Responses.Map() {
				for _, content := range answer.Value.Content {
					secrets[op.OperationID] = append(secrets[op.OperationID], secretsOf(content.Schema, map[*openapi3.Schema]bool{})...)
				}
			}
		}
	}
	for _, id := range []string{"login", "refresh", "bindBridge", "getDriver"} {
		require.NotEmpty(t, secrets[id], "%s: the search finds nothing", id)
	}
	for _, op := range operations(t) {
		if op.Gzip {
			require.Empty(t, secrets[op.ID], op.ID)
		}
	}
}

// zipped asks as a client that accepts gzip and does not decompress by itself.
func (p *platform) zipped(ctx context.Context, role accounts.Role, method, path string, body any) *http.Response {
	p.t.Helper()
	r := p.request(ctx, role, method, path, body)
	r.Header.Set("Accept-Encoding", "gzip")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(r)
	require.NoError(p.t, err)
	p.t.Cleanup(func() { _ = answer.Body.Close() })
	return answer
}

func TestAnswersAreCompressed(t *testing.T) {
	t.Parallel()
	p := start(t)
	for _, path := range []string{"/openapi.yaml", "/api/v1/driver-types", "/api/v1.0/config/tags/export?format=csv"} {
		plain := p.call(accounts.Viewer, http.MethodGet, path, nil)
		answer := p.zipped(t.Context(), accounts.Viewer, http.MethodGet, path, nil)
		require.Equal(t, 200, answer.StatusCode, path)
		require.Contains(t, answer.Header.Values("Vary"), "Accept-Encoding", path)
		if len(plain.body) < 1<<10 {
			require.Empty(t, answer.Header.Get("Content-Encoding"), path)
			continue
		}
		require.Equal(t, "gzip", answer.Header.Get("Content-Encoding"), path)
		unzipped, err := gzip.NewReader(answer.Body)
		require.NoError(t, err)
		text, err := io.ReadAll(unzipped)
		require.NoError(t, err)
		require.Equal(t, string(plain.body), string(text), path)
	}
}

func TestSecretsAndTagsOfVersionsArePlain(t *testing.T) {
	t.Parallel()
	p := start(t)
	for _, c := range []struct {
		role         accounts.Role
		method, path string
		body         any
	}{
		{nobody, http.MethodPost, "/api/v1/auth/login", map[string]any{"username": "admin", "password": password}},
		{accounts.Admin, http.MethodGet, "/api/v1/auth/sessions", nil},
		{accounts.Admin, http.MethodGet, "/api/v1/users", nil},
		{accounts.Admin, http.MethodGet, "/api/v1/users/admin", nil},
		{accounts.Admin, http.MethodGet, "/api/v1/drivers/line", nil},
		{nobody, http.MethodGet, "/.well-known/jwks.json", nil},
	} {
		answer := p.zipped(t.Context(), c.role, c.method, c.path, c.body)
		require.Equal(t, 200, answer.StatusCode, c.path)
		require.Empty(t, answer.Header.Get("Content-Encoding"), c.path)
	}
}

// The head and each event of a stream arrive at once, however short they are.
func TestEventsArriveThroughGzip(t *testing.T) {
	t.Parallel()
	p := start(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	answer := p.zipped(ctx, accounts.Viewer, http.MethodGet, "/api/v1/tags/stream?tagNames=line.count&throttleMs=0", nil)
	require.Equal(t, "gzip", answer.Header.Get("Content-Encoding"))
	unzipped, err := gzip.NewReader(answer.Body)
	require.NoError(t, err)
	lines := bufio.NewReader(unzipped)
	for i := range 5 {
		p.line.set("count", tags.IntValue(int64(1000+i)))
		for line := ""; !strings.Contains(line, fmt.Sprintf(`"%d"`, 1000+i)) && !strings.Contains(line, fmt.Sprintf(`:%d`, 1000+i)); {
			line, err = lines.ReadString('\n')
			require.NoError(t, err)
		}
	}
}
