package exchange_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/exchange"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/internal/piptest"
	"github.com/otkit/otkit/internal/realtest"
)

// officialChecker is the checker of the IDTA, for metamodel 3.0.
const officialChecker = "aas-test-engines==1.0.3"

// checkFiles returns what the checker finds in files: level and message.
func checkFiles(t *testing.T, names ...string) [][][2]string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), piptest.Need(t, officialChecker), append([]string{"testdata/check.py"}, names...)...)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	require.NoError(t, err, "%s", problems.String())
	all := make([][][2]string, 0, len(names))
	for line := range bytes.Lines(out) {
		var found [][2]string
		require.NoError(t, json.Unmarshal(line, &found))
		all = append(all, found)
	}
	require.Len(t, all, len(names))
	return all
}

// exportV30 imports a package and writes it again in each format, as older tools read it.
func exportV30(t *testing.T, s *repository.Service, folder string) (names []string) {
	t.Helper()
	out := gather(t, s, everything)
	for _, format := range []exchange.Format{exchange.AASX, exchange.XML, exchange.JSON} {
		name := filepath.Join(folder, "export."+string(format))
		var b bytes.Buffer
		_, err := exchange.WriteV30(&b, out, format)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(name, b.Bytes(), 0o600))
		names = append(names, name)
	}
	return names
}

func TestTheOfficialCheckerTakesExports(t *testing.T) {
	piptest.Need(t, officialChecker)
	ref := func(value string) string {
		return `{"type":"ExternalReference","keys":[{"type":"GlobalReference","value":"` + value + `"}]}`
	}
	env, err := aas.Decode[aas.Environment]([]byte(`{"assetAdministrationShells":[
		{"modelType":"AssetAdministrationShell","id":"urn:s1","idShort":"First","assetInformation":{"assetKind":"Instance","globalAssetId":"urn:a1","defaultThumbnail":{"path":"/aasx/gone.png","contentType":"image/png"}},
			"submodels":[{"type":"ModelReference","keys":[{"type":"Submodel","value":"urn:m"}]}]},
		{"modelType":"AssetAdministrationShell","id":"urn:s2","idShort":"Second","assetInformation":{"assetKind":"Instance","globalAssetId":"urn:a2","specificAssetIds":[{"name":"serial","value":"1","externalSubjectId":` + ref("urn:customer") + `}]}}],
		"submodels":[{"modelType":"Submodel","id":"urn:m","idShort":"Data","kind":"Instance","semanticId":` + ref("urn:c") + `,"submodelElements":[
			{"modelType":"Property","idShort":"p","valueType":"xs:double","value":"1.5"},
			{"modelType":"Blob","idShort":"b","contentType":"text/plain","value":"AAEC"},
			{"modelType":"File","idShort":"f","contentType":"text/plain","value":"/aasx/files/none.txt"},
			{"modelType":"SubmodelElementList","idShort":"l","typeValueListElement":"Property","valueTypeListElement":"xs:int","value":[{"modelType":"Property","valueType":"xs:int","value":"1"}]},
			{"modelType":"SubmodelElementCollection","idShort":"c","value":[{"modelType":"Range","idShort":"r","valueType":"xs:int","min":"1","max":"9"}]},
			{"modelType":"Operation","idShort":"o","inputVariables":[{"value":{"modelType":"Property","idShort":"i","valueType":"xs:int"}}]}]}],
		"conceptDescriptions":[{"modelType":"ConceptDescription","id":"urn:c","idShort":"Concept","embeddedDataSpecifications":[
			{"dataSpecificationContent":{"modelType":"DataSpecificationIec61360","preferredName":[{"language":"en","text":"Concept"}],"definition":[{"language":"en","text":"A concept"}],"dataType":"REAL_MEASURE","unit":"bar"}}]}]}`))
	require.NoError(t, err)
	s := newServiceOver(t, repository.Options{})
	_, err = s.Import(t.Context(), env, nil, repository.ImportOptions{})
	require.NoError(t, err)
	m, err := aas.ParsePath("f")
	require.NoError(t, err)
	require.NoError(t, s.PutFile(t.Context(), "urn:m", m, "a b.txt", "text/plain", []byte("text"), repository.Match{}))
	require.NoError(t, s.PutThumbnail(t.Context(), "urn:s2", "ü.png", "image/png", []byte("picture"), repository.Match{}))

	folder := t.TempDir()
	for i, found := range checkFiles(t, exportV30(t, s, folder)...) {
		require.Empty(t, found, i)
	}
	// The thumbnail that is there is in the package; the one that was lacking is not named.
	data, err := os.ReadFile(filepath.Join(folder, "export.aasx"))
	require.NoError(t, err)
	p := read(t, data, exchange.AASX)
	require.NotEmpty(t, p.Thumbnail)
	for _, shell := range p.Environment.Shells {
		require.Equal(t, shell.ID == "urn:s2", shell.AssetInformation.DefaultThumbnail != nil, shell.ID)
	}
}

// What the checker finds in an export it has found in the original, unless that is in metamodel 3.1, which it
// does not read.
func TestTheOfficialCheckerFindsNothingNewInPublishedFiles(t *testing.T) {
	piptest.Need(t, officialChecker)
	files, err := filepath.Glob(filepath.Join(realtest.Data(t, "idta"), "templates", "*.aasx"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	where := regexp.MustCompile(` @ .*|\d+`)
	originals := checkFiles(t, files...)
	var exports []string
	var known [][]string // for each export
	for i, name := range files {
		found := []string{}
		for _, f := range originals[i] {
			found = append(found, where.ReplaceAllString(f[1], ""))
		}
		if slices.ContainsFunc(found, func(k string) bool { return strings.HasPrefix(k, "invalid namespace") }) {
			continue
		}
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		s := newServiceOver(t, repository.Options{Verification: repository.VerifyOff})
		bring(t, s, read(t, data, exchange.AASX), repository.ImportOptions{})
		exports = append(exports, exportV30(t, s, t.TempDir())...)
		known = append(known, found, found, found)
	}
	require.NotEmpty(t, exports)
	for i, found := range checkFiles(t, exports...) {
		for _, f := range found {
			require.Contains(t, known[i], where.ReplaceAllString(f[1], ""), exports[i])
		}
	}
}
