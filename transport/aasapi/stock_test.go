package aasapi_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/internal/npmtest"
	"github.com/otkit/otkit/transport/aasapi"
)

// stockClient is the client library of Eclipse BaSyx for version 3.0 of the API.
const stockClient = "basyx-typescript-sdk@1.0.2"

func TestStockClient(t *testing.T) {
	dir := npmtest.Need(t, stockClient)
	service, err := repository.New(repository.NewMemory(), repository.Options{})
	require.NoError(t, err)
	api, err := aasapi.New(service, aasapi.Options{})
	require.NoError(t, err)
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	for _, prefix := range aasapi.Prefixes() {
		options, err := json.Marshal(map[string]any{
			"url": server.URL + prefix, "shell": json.RawMessage(pump), "submodel": json.RawMessage(everything), "concept": json.RawMessage(concept),
		})
		require.NoError(t, err)
		cmd := npmtest.Command(t, dir, "testdata/client.cjs", string(options))
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		require.NoError(t, err, "%s", out)
		checkStock(t, out)
		for _, path := range []string{aPump, "/concept-descriptions/" + b64("urn:concept:speed"), "/lookup/shells/" + b64("urn:far")} {
			w := record(api, "DELETE", prefix+path)
			require.Equal(t, http.StatusNoContent, w.Code)
		}
	}
}

// checkStock checks what the client says that it has got. An empty value is one that is not looked at.
func checkStock(t *testing.T, out []byte) {
	t.Helper()
	failures := map[string]string{"postShellAgain": "AAS_ALREADY_EXISTS", "missing": "SUBMODEL_NOT_FOUND"}
	want := map[string]string{
		"postShell": pump, "postSubmodel": everything, "postConcept": concept, "getShell": pump, "getSubmodel": everything,
		"getSubmodelAsShown": `{"modelType":"Blob","idShort":"bytes","contentType":"application/octet-stream"}`,
		"putSubmodelBack":    "", "getSubmodelAfterPut": everything,
		"listShells": `["` + pumpID + `"]`, "listSubmodels": `["` + dataID + `"]`, "listBySemanticId": `["` + dataID + `"]`,
		"listElements": `["speed","label","title"]`,
		"getElement":   `{"modelType":"Property","idShort":"cell","valueType":"xs:int","value":"8"}`,
		"getValue":     `{"depth":3,"rows":[{"cell":7},{"cell":8}]}`, "patchValue": "",
		"getElementThroughShell": `{"modelType":"Property","idShort":"depth","valueType":"xs:int","value":"5"}`,
		"refs":                   "2", "putThumbnail": "", "getThumbnail": `"picture"`, "link": "1", "lookup": `["urn:far"]`,
		"listDescriptors": "1", "deleteSubmodel": "",
	}
	steps := 0
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); steps++ {
		var step struct {
			Name    string
			Success bool
			Value   json.RawMessage
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &step))
		if code, fails := failures[step.Name]; fails {
			require.False(t, step.Success, step.Name)
			require.Contains(t, string(step.Value), code)
			continue
		}
		require.True(t, step.Success, "%s: %s", step.Name, step.Value)
		value, known := want[step.Name]
		require.True(t, known, step.Name)
		if value != "" {
			require.JSONEq(t, value, string(step.Value), step.Name)
		}
	}
	require.Equal(t, len(want)+len(failures), steps)
}
