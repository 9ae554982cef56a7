package aasapi_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/transport/aasapi"
)

const packageType = "application/asset-administration-shell-package"

// archive makes something that is as much of an AASX package as the API asks for.
func archive(t testing.TB, content string) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	part, err := w.Create("aasx/data.json")
	require.NoError(t, err)
	_, err = part.Write([]byte(content))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return buf.Bytes()
}

// packageForm makes the form of a package.
func packageForm(t testing.TB, fileName string, data []byte, shellIDs ...string) (body, header string) {
	t.Helper()
	var buf bytes.Buffer
	w := multipart.NewWriter(&buf)
	for _, id := range shellIDs {
		require.NoError(t, w.WriteField("aasIds", id))
	}
	part, err := w.CreateFormFile("file", "upload.aasx")
	require.NoError(t, err)
	_, err = part.Write(data)
	require.NoError(t, err)
	require.NoError(t, w.WriteField("fileName", fileName))
	require.NoError(t, w.Close())
	return buf.String(), w.FormDataContentType()
}

type description struct {
	PackageID string   `json:"packageId"`
	ShellIDs  []string `json:"aasIds"`
}

func describedBy(t testing.TB, data []byte) description {
	t.Helper()
	var d description
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(&d), "%s", data)
	return d
}

func TestLifeOfAPackage(t *testing.T) {
	r := start(t, rigOptions{})
	r.strict = true
	data := archive(t, "one")
	body, header := packageForm(t, "pump.aasx", data, pumpID, "urn:x,y")
	posted := r.require(http.StatusCreated, "POST", "/packages", body, "Content-Type", header)
	made := describedBy(t, []byte(posted.body))
	require.NotEmpty(t, made.PackageID)
	require.Equal(t, []string{pumpID, "urn:x,y"}, made.ShellIDs)
	at := posted.header.Get("Location")
	require.Equal(t, v31+"/packages/"+b64(made.PackageID), at)

	get := func(path string, headers ...string) answer {
		r.strict = false // the judge cannot read packages
		defer func() { r.strict = true }()
		return r.sendTo("GET", path, noBody, headers...)
	}
	got := get(at)
	require.Equal(t, http.StatusOK, got.status)
	require.Equal(t, string(data), got.body)
	require.Equal(t, packageType, got.header.Get("Content-Type"))
	require.Equal(t, "pump.aasx", got.header.Get("X-FileName"))
	_, params, err := mime.ParseMediaType(got.header.Get("Content-Disposition"))
	require.NoError(t, err)
	require.Equal(t, "pump.aasx", params["filename"])
	require.Equal(t, posted.header.Get("ETag"), got.header.Get("ETag"))
	require.Equal(t, http.StatusNotModified, get(at, "If-None-Match", got.header.Get("ETag")).status)

	// Its file is replaced although nothing else of it changes, and what was not said any more is gone.
	at = strings.TrimPrefix(at, v31)
	next := archive(t, "two")
	body, header = packageForm(t, "pümp\n.aasx", next)
	require.Equal(t, http.StatusNoContent, r.send("PUT", at, body, "Content-Type", header, "If-Match", got.header.Get("ETag")).status)
	r.strict = false // 412 is none of the document's
	r.require(http.StatusPreconditionFailed, "PUT", at, body, "Content-Type", header, "If-Match", got.header.Get("ETag"))
	r.require(http.StatusPreconditionFailed, "PUT", at, body, "Content-Type", header, "If-None-Match", "*")
	r.require(http.StatusPreconditionFailed, "DELETE", at, noBody, "If-Match", got.header.Get("ETag"))
	r.strict = true
	got = get(v31 + at)
	require.Equal(t, string(next), got.body)
	require.Equal(t, "p%C3%BCmp%0A.aasx", got.header.Get("X-FileName"))
	require.Equal(t, []string{}, describedBy(t, r.require(http.StatusOK, "GET", "/packages", noBody).page(t).Result[0]).ShellIDs)

	r.require(http.StatusNoContent, "DELETE", at, noBody)
	for _, method := range []string{"GET", "DELETE"} {
		r.require(http.StatusNotFound, method, at, noBody)
		r.require(http.StatusBadRequest, method, "/packages/!", noBody)
	}
	// A client may choose the id, and a package that is made again has nothing of the old one.
	own := "/packages/" + b64("line 1/pump ü")
	body, header = packageForm(t, "pump.aasx", data, `["urn:a","urn:b"]`)
	created := r.require(http.StatusCreated, "PUT", own, body, "Content-Type", header)
	require.Equal(t, description{"line 1/pump ü", []string{"urn:a", "urn:b"}}, describedBy(t, []byte(created.body)))
	require.Equal(t, string(data), get(v31+own).body)
}

func TestPackagesAreListed(t *testing.T) {
	r := start(t, rigOptions{})
	r.strict = true
	for id, shells := range map[string][]string{"p1": {"urn:a"}, "p2": {"urn:b", "urn:a", "urn:a"}, "p3": nil, "p4": {"urn:a,urn:b"}} {
		body, header := packageForm(t, id, archive(t, id), shells...)
		r.require(http.StatusCreated, "PUT", "/packages/"+b64(id), body, "Content-Type", header)
	}
	list := func(query string) (ids []string, next string) {
		p := r.require(http.StatusOK, "GET", "/packages"+query, noBody).page(t)
		for _, entry := range p.Result {
			ids = append(ids, describedBy(t, entry).PackageID)
		}
		return ids, p.Paging.Cursor
	}
	for query, want := range map[string][]string{
		"": {"p1", "p2", "p3", "p4"}, "?aasId=" + b64("urn:a"): {"p1", "p2"}, "?aasId=" + b64("urn:b"): {"p2"}, "?aasId=" + b64("urn:c"): nil,
	} {
		got, next := list(query)
		require.Equal(t, want, got, query)
		require.Empty(t, next)
	}
	first, next := list("?limit=3")
	require.Equal(t, []string{"p1", "p2", "p3"}, first)
	rest, next := list("?limit=3&cursor=" + next)
	require.Equal(t, []string{"p4"}, rest)
	require.Empty(t, next)
	first, next = list("?limit=1&aasId=" + b64("urn:a"))
	require.Equal(t, []string{"p1"}, first)
	rest, _ = list("?limit=1&aasId=" + b64("urn:a") + "&cursor=" + next)
	require.Equal(t, []string{"p2"}, rest)
	for _, bad := range []string{"?aasId=!", "?limit=0", "?cursor=abc"} {
		r.require(http.StatusBadRequest, "GET", "/packages"+bad, noBody)
	}
}

func TestPackagesThatAreRefused(t *testing.T) {
	const most = 2000
	r := start(t, rigOptions{api: aasapi.Options{MaxFileBytes: most}})
	good := archive(t, "x")
	for _, at := range []struct{ method, path string }{{"POST", "/packages"}, {"PUT", "/packages/" + b64("p")}} {
		refused := func(status int, fileName string, data []byte, shellIDs ...string) {
			t.Helper()
			body, header := packageForm(t, fileName, data, shellIDs...)
			r.require(status, at.method, at.path, body, "Content-Type", header)
		}
		refused(http.StatusBadRequest, "picture.png", []byte("no archive"))
		refused(http.StatusBadRequest, "empty.aasx", nil)
		refused(http.StatusBadRequest, strings.Repeat("n", 1025), good)
		refused(http.StatusBadRequest, "p.aasx", good, "urn:a", "a\x00b")
		refused(http.StatusBadRequest, "p.aasx", good, strings.Repeat("a", 2049))
		refused(http.StatusRequestEntityTooLarge, "p.aasx", append(make([]byte, most), good...))
		refused(http.StatusRequestEntityTooLarge, "p.aasx", make([]byte, 100_000))
		r.require(http.StatusUnsupportedMediaType, at.method, at.path, "{}")
		r.require(http.StatusBadRequest, at.method, at.path, "no form", "Content-Type", "multipart/form-data; boundary=x")
	}
	body, header := packageForm(t, "p.aasx", good)
	r.require(http.StatusBadRequest, "PUT", "/packages/"+b64(strings.Repeat("p", 129)), body, "Content-Type", header)
	require.Empty(t, r.require(http.StatusOK, "GET", "/packages", noBody).page(t).Result)
}

// meddler does something once before it reads a file.
type meddler struct {
	repository.Store
	first func()
}

func (m *meddler) File(ctx context.Context, key repository.FileKey) (repository.StoredFile, error) {
	if do := m.first; do != nil {
		m.first = nil
		do()
	}
	return m.Store.File(ctx, key)
}

// Another version that comes while a package is read is given as a whole, with its own tag and name.
func TestAPackageIsReadAtOneVersion(t *testing.T) {
	store := &meddler{Store: repository.NewMemory()}
	service, err := repository.New(store, repository.Options{})
	require.NoError(t, err)
	api, err := aasapi.New(service, aasapi.Options{})
	require.NoError(t, err)
	at := v31 + "/packages/" + b64("p")
	get := func(headers ...string) answer {
		r := httptest.NewRequest(http.MethodGet, at, nil)
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		return answer{w.Code, w.Header(), w.Body.String()}
	}
	one, two := archive(t, "one"), archive(t, "two")
	put := func(name string, data []byte) {
		_, _, err := service.PutPackage(t.Context(), repository.Package{ID: "p", FileName: name}, data, repository.Match{})
		require.NoError(t, err)
	}
	put("one.aasx", one)
	before := get()
	require.Equal(t, string(one), before.body)
	store.first = func() { put("two.aasx", two) }
	a := get("Range", "bytes=10-", "If-Range", before.header.Get("ETag"))
	require.Equal(t, http.StatusOK, a.status, "it is no rest of what the caller has")
	require.Equal(t, string(two), a.body)
	require.Equal(t, "two.aasx", a.header.Get("X-FileName"))
	require.Equal(t, get().header.Get("ETag"), a.header.Get("ETag"))
	require.NotEqual(t, before.header.Get("ETag"), a.header.Get("ETag"))

	for status, header := range map[int][2]string{http.StatusPreconditionFailed: {"If-Match", `"9"`}, http.StatusRequestedRangeNotSatisfiable: {"Range", "bytes=100000-"}} {
		a := get(header[0], header[1])
		require.Equal(t, status, a.status)
		requireResult(t, a)
		require.Empty(t, a.header.Get("X-FileName"))
	}
	store.first = func() { require.NoError(t, service.DeletePackage(t.Context(), "p", repository.Match{})) }
	a = get()
	require.Equal(t, http.StatusNotFound, a.status)
	requireResult(t, a)
	require.Contains(t, a.body, "PACKAGE_NOT_FOUND")
	require.NotContains(t, a.body, "package.aasx")
	require.Empty(t, a.header.Get("ETag"))
}
