package aasapi_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/transport/aasapi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	v31        = "/api/v3.1"
	pumpID     = "https://example.com/shells/pump?unit=1&x=ü"
	dataID     = "urn:example:submodel:data"
	templateID = "0173-1#01-AHX837#002"
)

// pump is a shell that refers to two submodels, one of which is not there.
const pump = `{"modelType":"AssetAdministrationShell","id":"` + pumpID + `","idShort":"Pump",
	"assetInformation":{"assetKind":"Instance","globalAssetId":"urn:asset:pump","assetType":"urn:type:pump",
		"specificAssetIds":[{"name":"serial","value":"P-1"},{"name":"plant","value":"north"}]},
	"submodels":[
		{"type":"ModelReference","keys":[{"type":"Submodel","value":"` + dataID + `"}]},
		{"type":"ModelReference","keys":[{"type":"Submodel","value":"urn:example:submodel:gone"}]}]}`

// everything is a submodel with an element of every kind.
const everything = `{"modelType":"Submodel","id":"` + dataID + `","idShort":"Data","kind":"Instance",
	"semanticId":{"type":"ExternalReference","keys":[{"type":"GlobalReference","value":"urn:semantic:data"}]},
	"qualifiers":[{"type":"origin","valueType":"xs:string","value":"test"}],
	"submodelElements":[
	{"modelType":"Property","idShort":"speed","valueType":"xs:double","value":"12.5","semanticId":{"type":"ExternalReference","keys":[{"type":"GlobalReference","value":"urn:concept:speed"}]}},
	{"modelType":"Property","idShort":"label","valueType":"xs:string","value":"a \"b\""},
	{"modelType":"MultiLanguageProperty","idShort":"title","value":[{"language":"de","text":"Pumpe"},{"language":"en","text":"pump"}]},
	{"modelType":"Range","idShort":"span","valueType":"xs:int","min":"1","max":"9"},
	{"modelType":"ReferenceElement","idShort":"link","value":{"type":"ModelReference","keys":[{"type":"Submodel","value":"` + dataID + `"},{"type":"Property","value":"speed"}]}},
	{"modelType":"RelationshipElement","idShort":"relation","first":{"type":"ExternalReference","keys":[{"type":"GlobalReference","value":"urn:a"}]},"second":{"type":"ExternalReference","keys":[{"type":"GlobalReference","value":"urn:b"}]}},
	{"modelType":"AnnotatedRelationshipElement","idShort":"noted","first":{"type":"ExternalReference","keys":[{"type":"GlobalReference","value":"urn:a"}]},"second":{"type":"ExternalReference","keys":[{"type":"GlobalReference","value":"urn:b"}]},
		"annotations":[{"modelType":"Property","idShort":"note","valueType":"xs:string","value":"n"}]},
	{"modelType":"Blob","idShort":"bytes","contentType":"application/octet-stream","value":"AAEC"},
	{"modelType":"File","idShort":"manual","contentType":"application/pdf","value":"https://example.com/manual.pdf"},
	{"modelType":"SubmodelElementCollection","idShort":"group","value":[
		{"modelType":"Property","idShort":"depth","valueType":"xs:int","value":"3"},
		{"modelType":"SubmodelElementList","idShort":"rows","typeValueListElement":"SubmodelElementCollection","value":[
			{"modelType":"SubmodelElementCollection","value":[{"modelType":"Property","idShort":"cell","valueType":"xs:int","value":"7"}]},
			{"modelType":"SubmodelElementCollection","value":[{"modelType":"Property","idShort":"cell","valueType":"xs:int","value":"8"}]}]}]},
	{"modelType":"SubmodelElementList","idShort":"series","typeValueListElement":"Property","valueTypeListElement":"xs:int","value":[
		{"modelType":"Property","valueType":"xs:int","value":"1"},{"modelType":"Property","valueType":"xs:int","value":"2"}]},
	{"modelType":"Entity","idShort":"part","entityType":"SelfManagedEntity","globalAssetId":"urn:asset:part","statements":[
		{"modelType":"Property","idShort":"count","valueType":"xs:int","value":"2"}]},
	{"modelType":"BasicEventElement","idShort":"event","observed":{"type":"ModelReference","keys":[{"type":"Submodel","value":"` + dataID + `"}]},"direction":"output","state":"on"},
	{"modelType":"Capability","idShort":"pumping"},
	{"modelType":"Operation","idShort":"double",
		"inputVariables":[{"value":{"modelType":"Property","idShort":"number","valueType":"xs:int"}}],
		"outputVariables":[{"value":{"modelType":"Property","idShort":"result","valueType":"xs:int"}}],
		"inoutputVariables":[{"value":{"modelType":"Property","idShort":"times","valueType":"xs:int"}}]},
	{"modelType":"Operation","idShort":"unplugged"}
	]}`

const concept = `{"modelType":"ConceptDescription","id":"urn:concept:speed","idShort":"Speed",
	"isCaseOf":[{"type":"ExternalReference","keys":[{"type":"GlobalReference","value":"urn:case"}]}]}`

// rig is a running API with its service.
type rig struct {
	t       testing.TB
	service *repository.Service
	api     *aasapi.API
	url     string
	client  *http.Client
	strict  bool // answers are held to the official document
}

type rigOptions struct {
	service repository.Options
	api     aasapi.Options
}

// start runs an API with the fixtures until the test ends.
func start(t testing.TB, o rigOptions) *rig {
	t.Helper()
	if o.service.Now == nil {
		o.service.Now = func() time.Time { return time.UnixMicro(1) } // versions begin at 1
	}
	service, err := repository.New(repository.NewMemory(), o.service)
	require.NoError(t, err)
	api, err := aasapi.New(service, o.api)
	require.NoError(t, err)
	server := httptest.NewServer(api)
	client := server.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	t.Cleanup(func() {
		server.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		require.NoError(t, api.Close(ctx))
		require.NoError(t, service.Close(context.Background()))
	})
	r := &rig{t: t, service: service, api: api, url: server.URL, client: client}
	r.require(http.StatusCreated, "POST", "/shells", pump)
	r.require(http.StatusCreated, "POST", "/submodels", everything)
	r.require(http.StatusCreated, "POST", "/concept-descriptions", concept)
	return r
}

func b64(id string) string { return base64.RawURLEncoding.EncodeToString([]byte(id)) }

const (
	inRepository = "/submodels/"
	noBody       = ""
)

var (
	aPump = "/shells/" + b64(pumpID)
	aData = inRepository + b64(dataID)
	// trees are the two ways to the same submodel.
	trees = []string{aData, aPump + aData}
)

type answer struct {
	status int
	header http.Header
	body   string
}

// send makes a request below /api/v3.1; headers are pairs.
func (r *rig) send(method, path, body string, headers ...string) answer {
	r.t.Helper()
	return r.sendTo(method, v31+path, body, headers...)
}

func (r *rig) sendTo(method, path, body string, headers ...string) answer {
	r.t.Helper()
	var content io.Reader
	if body != noBody {
		content = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, content)
	require.NoError(r.t, err)
	if body != noBody {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := r.client.Do(req)
	require.NoError(r.t, err)
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	require.NoError(r.t, err)
	a := answer{resp.StatusCode, resp.Header, string(data)}
	if a.status >= 400 && method != http.MethodHead {
		requireResult(r.t, a)
	}
	if r.strict {
		theDocument(r.t).judge(r.t, req, a)
	}
	return a
}

// require makes a request and wants a status.
func (r *rig) require(status int, method, path, body string, headers ...string) answer {
	r.t.Helper()
	a := r.send(method, path, body, headers...)
	require.Equal(r.t, status, a.status, "%s %s: %s", method, path, a.body)
	return a
}

// get wants 200 and a body equal to the JSON.
func (r *rig) equal(want, path string) {
	r.t.Helper()
	require.JSONEq(r.t, want, r.require(http.StatusOK, "GET", path, noBody).body, path)
}

// requireResult checks an error body against both versions of the standard.
func requireResult(t testing.TB, a answer) {
	t.Helper()
	require.Equal(t, "application/json", a.header.Get("Content-Type"), "%s", a.body)
	var result struct {
		Messages []struct{ Code, CorrelationID, MessageType, Text, Timestamp string }
	}
	dec := json.NewDecoder(strings.NewReader(a.body))
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(&result), "%s", a.body)
	require.NotEmpty(t, result.Messages)
	for _, m := range result.Messages {
		require.NotEmpty(t, m.Code)
		require.LessOrEqual(t, len(m.Code), 32)
		require.Len(t, m.CorrelationID, 32)
		require.Contains(t, []string{"Error", "Exception"}, m.MessageType)
		require.NotEmpty(t, m.Text)
		_, err := time.Parse(time.RFC3339, m.Timestamp)
		require.NoError(t, err)
	}
}

// page is a list answer.
type page struct {
	Paging struct{ Cursor string } `json:"paging_metadata"`
	Result []json.RawMessage
}

func (a answer) page(t testing.TB) page {
	t.Helper()
	var p page
	require.NoError(t, json.Unmarshal([]byte(a.body), &p), "%s", a.body)
	return p
}

// form makes a file upload.
func form(t testing.TB, fileName, contentType string, data []byte) (body, header string) {
	t.Helper()
	var buf bytes.Buffer
	w := multipart.NewWriter(&buf)
	require.NoError(t, w.WriteField("fileName", fileName))
	h := textproto.MIMEHeader{"Content-Disposition": {`form-data; name="file"; filename="x"`}, "Content-Type": {contentType}}
	part, err := w.CreatePart(h)
	require.NoError(t, err)
	_, err = part.Write(data)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return buf.String(), w.FormDataContentType()
}

// record serves one request without a server.
func record(h http.Handler, method, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
	return w
}
