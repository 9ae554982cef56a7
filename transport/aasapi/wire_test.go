package aasapi_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/aasx"
	"github.com/otkit/otkit/aas/aasxml"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/aasapi"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/middleware"
	"github.com/otkit/otkit/transport/problem"
)

func TestErrorsOfTheWire(t *testing.T) {
	r := start(t, rigOptions{api: aasapi.Options{MaxBodyBytes: 10_000, MaxFileBytes: 100}})
	a := r.require(http.StatusMethodNotAllowed, "DELETE", "/shells", noBody)
	require.Equal(t, "GET, HEAD, OPTIONS, POST", a.header.Get("Allow"))
	a = r.require(http.StatusNoContent, "OPTIONS", aData, noBody)
	require.Equal(t, "DELETE, GET, HEAD, OPTIONS, PATCH, PUT", a.header.Get("Allow"))
	for _, path := range []string{"/nothing", "", "/", "/shells/", aPump + "/nothing", "/shells/" + b64("a") + "/" + b64("b")} {
		r.require(http.StatusNotFound, "GET", path, noBody)
	}
	require.Equal(t, http.StatusNotFound, r.sendTo("GET", "/api/v3.10/shells", noBody).status)
	require.Equal(t, http.StatusOK, r.sendTo("GET", "/api/v3.0/shells", noBody).status)
	r.require(http.StatusRequestEntityTooLarge, "POST", "/shells", strings.Repeat(" ", 10_001))
	r.require(http.StatusUnsupportedMediaType, "POST", "/shells", pump, "Content-Type", "text/plain")
	r.require(http.StatusUnsupportedMediaType, "POST", "/shells", pump, "Content-Type", "application/json; charset=latin1")
	r.require(http.StatusConflict, "POST", "/shells", pump, "Content-Type", "application/json; charset=UTF-8")
	for _, body := range []string{noBody, "{", "[]", "null", `{"id":1}`, pump + "x", "\xff", `{"modelType":"Submodel","id":"x"}`} {
		r.require(http.StatusBadRequest, "POST", "/shells", body)
	}
	for _, path := range []string{"/aas", "/aas/submodels", "/submodel/$value", "/query/shells"} {
		r.require(http.StatusNotImplemented, "GET", path, noBody)
	}
	head := r.require(http.StatusOK, "HEAD", aPump, noBody)
	require.Empty(t, head.body)
	require.NotEmpty(t, head.header.Get("Content-Length"))
}

func TestBodyOfUnknownLength(t *testing.T) {
	r := start(t, rigOptions{api: aasapi.Options{MaxBodyBytes: 10_000}})
	for body, want := range map[string]int{
		strings.Repeat(" ", 20_000): http.StatusRequestEntityTooLarge, pump: http.StatusConflict,
	} {
		req, err := http.NewRequestWithContext(t.Context(), "POST", r.url+v31+"/shells", io.MultiReader(strings.NewReader(body)))
		require.NoError(t, err)
		resp, err := r.client.Do(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, want, resp.StatusCode)
	}
}

// broken is a store that fails to find documents above an id.
type broken struct {
	repository.Store
	above string
}

func (b broken) Find(ctx context.Context, q repository.Query) (repository.Page, error) {
	if q.After >= b.above {
		return repository.Page{}, errors.New("SECRET disk")
	}
	return b.Store.Find(ctx, q)
}

func TestInternalErrorsStayInside(t *testing.T) {
	service, err := repository.New(broken{repository.NewMemory(), ""}, repository.Options{})
	require.NoError(t, err)
	api, err := aasapi.New(service, aasapi.Options{})
	require.NoError(t, err)
	w := record(api, "GET", v31+"/shells")
	require.Equal(t, http.StatusInternalServerError, w.Code)
	require.NotContains(t, w.Body.String(), "SECRET")
	requireResult(t, answer{w.Code, w.Header(), w.Body.String()})
}

func TestBrokenSerializationIsNotTakenForAWhole(t *testing.T) {
	service, err := repository.New(broken{repository.NewMemory(), "m"}, repository.Options{})
	require.NoError(t, err)
	api, err := aasapi.New(service, aasapi.Options{PageSize: 1})
	require.NoError(t, err)
	for _, id := range []string{"a", "n", "o"} {
		padding := strings.Repeat("x", 100_000)
		_, err := service.Submodels.Create(t.Context(), &aas.Submodel{Identifiable: aas.Identifiable{ID: id, Referable: aas.Referable{Description: []aas.LangString{{Language: "en", Text: padding[:1000]}}}},
			Elements: []aas.Element{&aas.Blob{ElementCommon: aas.ElementCommon{Referable: aas.Referable{IDShort: "blob"}}, ContentType: "text/plain", Value: []byte(padding)}}})
		require.NoError(t, err)
	}
	server := httptest.NewServer(api)
	defer server.Close()
	resp, err := server.Client().Get(server.URL + v31 + "/serialization")
	require.NoError(t, err)
	_, err = io.ReadAll(resp.Body)
	require.Error(t, err)
	require.NoError(t, resp.Body.Close())
}

func TestMountedOnARouterWithItsOwnMiddleware(t *testing.T) {
	r := start(t, rigOptions{})
	router := chi.NewRouter()
	router.Use(middleware.EscapedPath)
	middleware.Fallbacks(router)
	for _, prefix := range aasapi.Prefixes() {
		router.Mount(prefix, r.api)
	}
	cell := strings.NewReplacer("[", "%5B", "]", "%5D").Replace(aPump + aData + "/submodel-elements/group.rows[1].cell/%24value")
	for _, prefix := range aasapi.Prefixes() {
		require.Equal(t, "8", record(router, "GET", prefix+cell).Body.String())
		w := record(router, "HEAD", prefix+aPump)
		require.Equal(t, http.StatusOK, w.Code)
		require.Zero(t, w.Body.Len())
		for path, method := range map[string]string{aPump: "BREW", "/shells": "DELETE", "/nothing": "GET", "": "GET", "/a%00": "GET"} {
			w := record(router, method, prefix+path)
			requireResult(t, answer{w.Code, w.Header(), w.Body.String()})
			if strings.HasPrefix(path, "/shells") {
				require.Equal(t, http.StatusMethodNotAllowed, w.Code)
				require.NotEmpty(t, w.Header().Get("Allow"))
			}
		}
	}
}

func TestGuardStandsBeforeEveryOperation(t *testing.T) {
	const refused = "X-Refused"
	r := start(t, rigOptions{})
	api, err := aasapi.New(r.service, aasapi.Options{Guard: func(op auth.Operation, h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if op.Access > auth.Viewer {
				w.Header().Set(refused, op.ID)
				problem.Write(w, req, fault.New(fault.Forbidden, "FORBIDDEN", "no"), problem.FamilyOf(req.URL.Path))
				return
			}
			h.ServeHTTP(w, req)
		})
	}})
	require.NoError(t, err)
	ids := map[string]bool{}
	paths := strings.NewReplacer("{aasIdentifier}", b64(pumpID), "{submodelIdentifier}", b64(dataID), "{cdIdentifier}", b64("x"),
		"{idShortPath}", "double", "{handleId}", b64("x"), "{packageId}", b64("x"), "*", "x")
	for _, op := range aasapi.Operations() {
		require.False(t, ids[op.ID], op.ID)
		ids[op.ID] = true
		w := record(api, op.Method, v31+paths.Replace(op.Path))
		isWrite := op.Method != "GET" && !strings.HasSuffix(op.Path, "shellsByAssetLink") && !strings.HasPrefix(op.ID, "NotServed")
		if !isWrite && op.Access == auth.Viewer || op.ID == "GetSelfDescription" && op.Access == auth.Open {
			require.Empty(t, w.Header().Get(refused), op.ID)
			continue
		}
		require.Equal(t, op.ID, w.Header().Get(refused))
		want := auth.Admin
		if strings.Contains(op.Path, "/invoke") || strings.Contains(op.Path, "/operation-") {
			want = auth.Operator
		}
		require.Equal(t, want, op.Access, op.ID)
		requireResult(t, answer{w.Code, w.Header(), w.Body.String()})
	}
	_, err = auth.NewTable(aasapi.Operations())
	require.NoError(t, err)
}

func TestFiles(t *testing.T) {
	r := start(t, rigOptions{api: aasapi.Options{MaxFileBytes: 1000}})
	for i, tree := range trees {
		at := tree + "/submodel-elements/manual/attachment"
		if i == 0 {
			r.require(http.StatusNotFound, "GET", at, noBody) // a URL elsewhere
		}
		body, header := form(t, "../../häßlich \"1\".pdf", "application/pdf", []byte("%PDF-1"))
		r.require(http.StatusNoContent, "PUT", at, body, "Content-Type", header)
		got := r.require(http.StatusOK, "GET", at, noBody)
		require.Equal(t, "%PDF-1", got.body)
		require.Equal(t, "application/pdf", got.header.Get("Content-Type"))
		disposition, params, err := mime.ParseMediaType(got.header.Get("Content-Disposition"))
		require.NoError(t, err)
		require.Equal(t, "attachment", disposition)
		require.Equal(t, "häßlich _1_.pdf", params["filename"])
		require.Equal(t, "nosniff", got.header.Get("X-Content-Type-Options"))
		plain := r.require(http.StatusOK, "GET", at, noBody, "Accept", "application/octet-stream")
		require.Equal(t, "application/octet-stream", plain.header.Get("Content-Type"))
		r.require(http.StatusOK, "DELETE", at, noBody)
		r.require(http.StatusNotFound, "DELETE", at, noBody)
		r.require(http.StatusNotFound, "GET", at, noBody)

		other := tree + "/submodel-elements/speed/attachment"
		for _, method := range []string{"GET", "PUT", "DELETE"} {
			r.require(http.StatusMethodNotAllowed, method, other, body, "Content-Type", header)
		}
		r.require(http.StatusUnsupportedMediaType, "PUT", at, "{}")
		r.require(http.StatusBadRequest, "PUT", at, "not a form", "Content-Type", header)
		r.require(http.StatusBadRequest, "PUT", at, body, "Content-Type", "multipart/form-data")
		empty, emptyHeader := form(t, "x", "text/plain", nil)
		r.require(http.StatusBadRequest, "PUT", at, strings.ReplaceAll(empty, `"file"`, `"other"`), "Content-Type", emptyHeader)
		large, largeHeader := form(t, "x", "text/plain", make([]byte, 1001))
		r.require(http.StatusRequestEntityTooLarge, "PUT", at, large, "Content-Type", largeHeader)
		huge, hugeHeader := form(t, "x", "text/plain", make([]byte, 100_000))
		r.require(http.StatusRequestEntityTooLarge, "PUT", at, huge, "Content-Type", hugeHeader)
	}
	at := aPump + "/asset-information/thumbnail"
	r.require(http.StatusNotFound, "GET", at, noBody)
	r.require(http.StatusNotFound, "DELETE", at, noBody)
	body, header := form(t, "pump.png", "application/octet-stream", []byte("picture"))
	r.require(http.StatusPreconditionFailed, "PUT", at, body, "Content-Type", header, "If-Match", `"9"`)
	r.require(http.StatusNoContent, "PUT", at, body, "Content-Type", header)
	got := r.require(http.StatusOK, "GET", at, noBody)
	require.Equal(t, "image/png", got.header.Get("Content-Type"))
	require.Equal(t, "picture", got.body)
	r.require(http.StatusOK, "DELETE", at, noBody)
}

// A download that broke off goes on where it ended, and is not repeated when nothing has changed.
func TestFilesInParts(t *testing.T) {
	r := start(t, rigOptions{})
	manual, thumbnail := aData+"/submodel-elements/manual/attachment", aPump+"/asset-information/thumbnail"
	for _, at := range []string{manual, thumbnail} {
		body, header := form(t, "a.bin", "application/x-thing", []byte("0123456789"))
		r.require(http.StatusNoContent, "PUT", at, body, "Content-Type", header)
		whole := r.require(http.StatusOK, "GET", at, noBody)
		tag := whole.header.Get("ETag")
		require.NotEmpty(t, tag)
		require.Equal(t, "bytes", whole.header.Get("Accept-Ranges"))
		head := r.require(http.StatusOK, "HEAD", at, noBody)
		require.Empty(t, head.body)
		require.Equal(t, "10", head.header.Get("Content-Length"))
		require.Equal(t, tag, head.header.Get("ETag"))
		r.require(http.StatusNotModified, "GET", at, noBody, "If-None-Match", tag)

		part := r.require(http.StatusPartialContent, "GET", at, noBody, "Range", "bytes=3-5", "If-Range", tag)
		require.Equal(t, "345", part.body)
		require.Equal(t, "bytes 3-5/10", part.header.Get("Content-Range"))
		require.Equal(t, "application/x-thing", part.header.Get("Content-Type"))
		require.NotEmpty(t, part.header.Get("Content-Disposition"))
		none := r.require(http.StatusRequestedRangeNotSatisfiable, "GET", at, noBody, "Range", "bytes=10-")
		require.Equal(t, "bytes */10", none.header.Get("Content-Range"))
		r.require(http.StatusPreconditionFailed, "GET", at, noBody, "If-Match", `"99"`)

		body, header = form(t, "a.bin", "application/x-thing", []byte("abcdefghij"))
		r.require(http.StatusNoContent, "PUT", at, body, "Content-Type", header, "If-Match", tag)
		r.require(http.StatusPreconditionFailed, "PUT", at, body, "Content-Type", header, "If-Match", tag)
		require.Equal(t, "abcdefghij", r.require(http.StatusOK, "GET", at, noBody, "If-None-Match", tag).body)
		require.Equal(t, "abcdefghij", r.require(http.StatusOK, "GET", at, noBody, "Range", "bytes=3-5", "If-Range", tag).body)
	}
}

func TestSerialization(t *testing.T) {
	r := start(t, rigOptions{})
	r.require(http.StatusCreated, "POST", "/submodels", strings.ReplaceAll(everything, dataID, "urn:twin"))
	r.require(http.StatusCreated, "POST", "/concept-descriptions", `{"modelType":"ConceptDescription","id":"urn:concept:unused"}`)
	body, header := form(t, "m.pdf", "application/pdf", []byte("one"))
	r.require(http.StatusNoContent, "PUT", aData+"/submodel-elements/manual/attachment", body, "Content-Type", header)
	body, header = form(t, "m.pdf", "application/pdf", []byte("two"))
	r.require(http.StatusNoContent, "PUT", "/submodels/"+b64("urn:twin")+"/submodel-elements/manual/attachment", body, "Content-Type", header)
	body, header = form(t, "p.png", "image/png", []byte("png"))
	r.require(http.StatusNoContent, "PUT", aPump+"/asset-information/thumbnail", body, "Content-Type", header)

	counts := func(a answer) [3]int {
		env, err := aas.Decode[aas.Environment]([]byte(a.body))
		require.NoError(t, err, "%s", a.body)
		return [3]int{len(env.Shells), len(env.Submodels), len(env.ConceptDescriptions)}
	}
	named := "/serialization?aasIds=" + b64(pumpID) + "&submodelIds=" + b64(dataID)
	require.Equal(t, [3]int{1, 2, 2}, counts(r.require(http.StatusOK, "GET", "/serialization", noBody)))
	require.Equal(t, [3]int{1, 1, 1}, counts(r.require(http.StatusOK, "GET", named, noBody)))
	require.Equal(t, [3]int{1, 1, 0}, counts(r.require(http.StatusOK, "GET", named+"&includeConceptDescriptions=false", noBody)))
	require.Equal(t, [3]int{0, 2, 1}, counts(r.require(http.StatusOK, "GET", "/serialization?submodelIds="+b64(dataID)+","+b64("urn:twin"), noBody)))
	require.Equal(t, [3]int{1, 2, 0}, counts(r.require(http.StatusOK, "GET", "/serialization?includeConceptDescriptions=false", noBody)))
	r.require(http.StatusNotFound, "GET", "/serialization?aasIds="+b64("urn:none"), noBody)
	r.require(http.StatusBadRequest, "GET", "/serialization?aasIds=!", noBody)
	r.require(http.StatusNotAcceptable, "GET", "/serialization", noBody, "Accept", "image/png, application/json;q=0")

	xml := r.require(http.StatusOK, "GET", "/serialization", noBody, "Accept", "application/json;q=0.5, application/xml")
	require.Equal(t, "application/xml", xml.header.Get("Content-Type"))
	env, err := aasxml.Decode(strings.NewReader(xml.body), aasxml.Limits{})
	require.NoError(t, err)
	require.Len(t, env.Submodels, 2)

	require.Contains(t, xml.body, `"https://admin-shell.io/aas/3/1"`)
	old := r.sendTo("GET", "/api/v3.0/serialization", noBody, "Accept", "application/xml")
	require.Contains(t, old.body, `"https://admin-shell.io/aas/3/0"`)
	require.Len(t, old.body, len(xml.body))
	pack := r.sendTo("GET", "/api/v3.0/serialization", noBody, "Accept", "application/asset-administration-shell-package+xml")
	p, err := aasx.Read(strings.NewReader(pack.body), int64(len(pack.body)), aasx.Limits{})
	require.NoError(t, err)
	require.Len(t, p.Environment.Submodels, 2)

	pack = r.require(http.StatusOK, "GET", "/serialization", noBody, "Accept", "application/asset-administration-shell-package+xml")
	_, err = zip.NewReader(strings.NewReader(pack.body), int64(len(pack.body)))
	require.NoError(t, err)
	p, err = aasx.Read(bytes.NewReader([]byte(pack.body)), int64(len(pack.body)), aasx.Limits{})
	require.NoError(t, err)
	require.Len(t, p.Files, 3)
	require.Equal(t, p.Environment.Shells[0].AssetInformation.DefaultThumbnail.Path, p.Thumbnail)
	content := map[string]string{}
	for _, f := range p.Files {
		content[f.Name] = string(f.Data)
	}
	path, err := aas.ParsePath("manual")
	require.NoError(t, err)
	for i, want := range []string{"one", "two"} {
		e, err := p.Environment.Submodels[i].Element(path)
		require.NoError(t, err)
		require.Equal(t, want, content[*e.(*aas.File).Value])
	}
}
