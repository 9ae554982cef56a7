package aasxml_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/aas-core-works/aas-core3.1-golang/jsonization"
	"github.com/aas-core-works/aas-core3.1-golang/xmlization"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/aasxml"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/internal/realtest"
)

const head = `<environment xmlns="https://admin-shell.io/aas/3/1">`

func decode(t *testing.T, s string) *aas.Environment {
	t.Helper()
	env, err := aasxml.Decode(strings.NewReader(s), aasxml.Limits{})
	require.NoError(t, err)
	return env
}

func encode(t *testing.T, env *aas.Environment) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, aasxml.Encode(&b, env))
	return b.Bytes()
}

func TestBothNamespacesAreRead(t *testing.T) {
	const text = `<?xml version="1.0" encoding="UTF-8"?><?style none?>
<!-- made by hand -->
<a:environment xmlns:a="NAMESPACE" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="NAMESPACE AAS.xsd">
 <a:submodels><a:submodel><a:id>urn:s</a:id><a:submodelElements>
  <a:property><a:idShort>speed</a:idShort><a:valueType>xs:int</a:valueType><a:value><?x?> 1<!-- one --> </a:value></a:property>
 </a:submodelElements></a:submodel></a:submodels>
</a:environment>
<?end?>`
	for _, namespace := range []string{"https://admin-shell.io/aas/3/0", "https://admin-shell.io/aas/3/1"} {
		for _, start := range []string{"", "\ufeff"} {
			env := decode(t, start+strings.ReplaceAll(text, "NAMESPACE", namespace))
			p := env.Submodels[0].Elements[0].(*aas.Property)
			require.Equal(t, "speed", p.IDShort)
			require.Equal(t, " 1 ", *p.Value)
		}
	}
	require.Equal(t, &aas.Environment{}, decode(t, head+`</environment>`))
}

func TestTextSurvives(t *testing.T) {
	for _, text := range []string{"", " ", "\n\t ", " a\r\nb ", "<&>\"'", "]]>", "äöü 漢字 😀", "\ufffd", "\u0085\u2028"} {
		env := &aas.Environment{Submodels: []*aas.Submodel{{Identifiable: aas.Identifiable{ID: "x"}, Elements: []aas.Element{
			&aas.Property{ValueType: "xs:string", Value: &text}, &aas.Blob{Value: []byte(text + "\x00")},
		}}}}
		require.Equal(t, env, decode(t, string(encode(t, env))), "%q", text)
	}
}

func TestWhatXMLCannotSayIsRefused(t *testing.T) {
	for _, text := range []string{"\x00", "a\x1bb", "\ufffe", "\xff", "\uffff"} {
		env := &aas.Environment{Submodels: []*aas.Submodel{{Elements: []aas.Element{&aas.Property{}, &aas.Property{ValueType: "xs:string", Value: &text}}}}}
		var b bytes.Buffer
		err := aasxml.Encode(&b, env)
		require.ErrorIs(t, err, aas.ErrInvalidRequest)
		require.ErrorContains(t, err, "Submodels[0].Elements[1].Value", "%q", text)
		require.Zero(t, b.Len())
	}
	err := aasxml.Encode(io.Discard, &aas.Environment{Submodels: []*aas.Submodel{{Elements: []aas.Element{&aas.Property{ValueType: "xs:nothing"}}}}})
	require.ErrorIs(t, err, aas.ErrInvalidRequest)
	err = aasxml.Encode(io.Discard, &aas.Environment{Submodels: []*aas.Submodel{{Elements: []aas.Element{nil}}}})
	require.ErrorContains(t, err, "submodels[0].submodelElements[0]")
}

func TestBadXMLIsRefused(t *testing.T) {
	for _, c := range []struct{ name, text, message string }{
		{"empty", "", "no root"},
		{"no XML", "{}", "text outside"},
		{"cut off", head + "<submodels>", "not well-formed"},
		{"other root", `<submodel xmlns="https://admin-shell.io/aas/3/1"/>`, "environment of the namespace"},
		{"old namespace", `<environment xmlns="http://www.admin-shell.io/aas/2/0"/>`, "https://admin-shell.io/aas/3/0"},
		{"other namespace within", head + `<submodels xmlns="urn:x"/></environment>`, "namespace"},
		{"two roots", head + "</environment>" + head + "</environment>", "one environment"},
		{"text after the root", head + "</environment>x", "text outside"},
		{"broken after the root", head + "</environment><", "not well-formed"},
		{"entities", `<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>` + head + `</environment>`, "document type"},
		{"unknown entity", head + "&a;</environment>", "not well-formed"},
		{"unknown member", head + "<things/></environment>", "things"},
		{"attribute", head + `<submodels a="b"/></environment>`, "attribute"},
		{"wrong literal", head + "<submodels><submodel><id>x</id><kind>Thing</kind></submodel></submodels></environment>", "submodels[0].kind"},
		{"missing member", head + "<submodels><submodel/></submodels></environment>", "id"},
		{"what JSON refuses", head + "<submodels><submodel><id>x</id>" + references(65) + "</submodel></submodels></environment>",
			"nested too deeply"},
		{"encoding", `<?xml version="1.0" encoding="utf-16"?>` + head + "</environment>", "utf-16"},
		{"invalid UTF-8", head + "\xff</environment>", "UTF-8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := aasxml.Decode(strings.NewReader(c.text), aasxml.Limits{})
			require.ErrorIs(t, err, aas.ErrInvalidRequest)
			require.ErrorContains(t, err, c.message)
		})
	}
}

// references returns a semantic id with references in references.
func references(n int) string {
	const rest = "<type>ExternalReference</type>"
	const keys = "<keys><key><type>GlobalReference</type><value>x</value></key></keys>"
	return "<semanticId>" + rest + strings.Repeat("<referredSemanticId>"+rest, n) + keys +
		strings.Repeat("</referredSemanticId>"+keys, n) + "</semanticId>"
}

func TestLimits(t *testing.T) {
	nested := func(n int) string {
		const open, end = "<submodelElementCollection><value>", "</value></submodelElementCollection>"
		return head + "<submodels><submodel><id>x</id><submodelElements>" + strings.Repeat(open, n-1) +
			"<capability/>" + strings.Repeat(end, n-1) + "</submodelElements></submodel></submodels></environment>"
	}
	decode(t, nested(64))
	flat := head + "<submodels><submodel><id>x</id><submodelElements>" + strings.Repeat("<capability/>", 10) + "</submodelElements></submodel></submodels></environment>"
	for _, c := range []struct {
		name, text, message string
		limits              aasxml.Limits
	}{
		{"elements nest", nested(65), "deeper than 64", aasxml.Limits{}},
		{"anything nests", head + "<submodels><submodel><semanticId>" + strings.Repeat("<referredSemanticId>", 100_000), "deeper than 64", aasxml.Limits{}},
		{"many elements", flat, "more than 9 elements", aasxml.Limits{MaxElements: 9}},
		{"many members", head + "<submodels>" + strings.Repeat("<submodel><id>x</id></submodel>", 1000), "more than 9 elements", aasxml.Limits{MaxElements: 9}},
		{"many bytes", flat, "more bytes", aasxml.Limits{MaxBytes: int64(len(flat) - 1)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := aasxml.Decode(strings.NewReader(c.text), c.limits)
			require.ErrorIs(t, err, aasxml.ErrTooLarge)
			require.ErrorContains(t, err, c.message)
			require.Equal(t, fault.TooLarge, fault.KindOf(err))
		})
	}
	_, err := aasxml.Decode(strings.NewReader(flat), aasxml.Limits{MaxElements: 10, MaxBytes: int64(len(flat)), MaxDepth: 1})
	require.NoError(t, err)
	_, err = aasxml.Decode(strings.NewReader(flat), aasxml.Limits{MaxDepth: -1})
	require.ErrorContains(t, err, "Limits")
}

func TestErrorsOfTheReaderAndWriterAreGiven(t *testing.T) {
	broken := errors.New("broken")
	_, err := aasxml.Decode(io.MultiReader(strings.NewReader(head), iotest.ErrReader(broken)), aasxml.Limits{})
	require.ErrorIs(t, err, broken)
	require.ErrorIs(t, aasxml.Encode(failing{broken}, &aas.Environment{}), broken)
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// templates returns the XML of each published package.
func templates(t testing.TB) map[string][]byte {
	files, err := filepath.Glob(filepath.Join(realtest.Data(t, "idta"), "templates", "*.aasx"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	all := make(map[string][]byte)
	for _, file := range files {
		archive, err := zip.OpenReader(file)
		require.NoError(t, err)
		for _, f := range archive.File {
			if strings.HasPrefix(f.Name, "aasx/") && strings.HasSuffix(f.Name, ".xml") {
				r, err := f.Open()
				require.NoError(t, err)
				all[filepath.Base(file)], err = io.ReadAll(r)
				require.NoError(t, err)
			}
		}
		require.NoError(t, archive.Close())
	}
	require.Len(t, all, len(files))
	return all
}

func TestTemplatesAreKept(t *testing.T) {
	for name, text := range templates(t) {
		t.Run(name, func(t *testing.T) {
			env := decode(t, string(text))
			require.NotEmpty(t, env.Submodels)
			require.Equal(t, env, decode(t, string(encode(t, env))))
		})
	}
}

// Templates that break a constraint themselves are judged by what was wrong before.
func TestSchemaHoldsForWhatIsWritten(t *testing.T) {
	schema := filepath.Join(realtest.Data(t, "idta"), "spec", "AAS.xsd")
	lint := realtest.Need(t, "xmllint")
	valid := 0
	for name, text := range templates(t) {
		file := filepath.Join(t.TempDir(), "environment.xml")
		require.NoError(t, os.WriteFile(file, bytes.ReplaceAll(text, []byte("admin-shell.io/aas/3/0"), []byte("admin-shell.io/aas/3/1")), 0o600))
		if exec.CommandContext(t.Context(), lint, "--noout", "--schema", schema, file).Run() != nil {
			continue
		}
		valid++
		require.NoError(t, os.WriteFile(file, encode(t, decode(t, string(text))), 0o600))
		out, err := exec.CommandContext(t.Context(), lint, "--noout", "--schema", schema, file).CombinedOutput()
		require.NoError(t, err, "%s: %s", name, out)
	}
	require.Greater(t, valid, 5)
	t.Logf("%d templates are valid before and after", valid)
}

// aas-core writes the same bytes, and reads what is written here.
func TestAASCoreWritesTheSame(t *testing.T) {
	for name, text := range templates(t) {
		t.Run(name, func(t *testing.T) {
			env := decode(t, string(text))
			var tree any
			require.NoError(t, json.Unmarshal(aas.Append(nil, env), &tree))
			instance, err := jsonization.EnvironmentFromJsonable(tree)
			require.NoError(t, err)
			var want bytes.Buffer
			want.WriteString(xml.Header)
			encoder := xml.NewEncoder(&want)
			require.NoError(t, xmlization.Marshal(encoder, instance, true))
			require.NoError(t, encoder.Flush())
			require.Equal(t, want.String(), string(encode(t, env)))
		})
	}
}

func BenchmarkXML(b *testing.B) {
	for name, text := range templates(b) {
		env, err := aasxml.Decode(bytes.NewReader(text), aasxml.Limits{})
		require.NoError(b, err)
		b.Run("encode/"+name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				require.NoError(b, aasxml.Encode(io.Discard, env))
			}
		})
		b.Run("decode/"+name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				_, err := aasxml.Decode(bytes.NewReader(text), aasxml.Limits{})
				require.NoError(b, err)
			}
		})
	}
}
