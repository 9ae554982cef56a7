package aas_test

import (
	"encoding/json"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	core "github.com/aas-core-works/aas-core3.1-golang/jsonization"
	"github.com/aas-core-works/aas-core3.1-golang/reporting"
	"github.com/aas-core-works/aas-core3.1-golang/verification"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/fault"
)

// breach is a rule that a document breaks: the path of a member and the name of the constraint, empty for one without.
type breach struct{ path, constraint string }

var constraintName = regexp.MustCompile(`AAS[a-z]-(3a-)?\d{3}`)

// together are the ends of paths that are omitted, for constraints that aas-core finds once in a list and package aas in
// each entry.
var together = map[string]*regexp.Regexp{
	"AASd-021": regexp.MustCompile(`\[\d+\]\.type$`),
	"AASd-022": regexp.MustCompile(`\[\d+\]\.idShort$`),
	"AASd-077": regexp.MustCompile(`\[\d+\]\.name$`),
	"AASd-108": regexp.MustCompile(`\[\d+\]$`),
	"AASd-109": regexp.MustCompile(`\.?(valueTypeListElement|value\[\d+\]\.valueType)$`),
	"AASd-117": regexp.MustCompile(`(\[\d+\])?(\.value)?(\.idShort)?$`),
}

func breachOf(path, constraint string) breach {
	if end := together[constraint]; end != nil {
		path = end.ReplaceAllString(path, "")
	}
	return breach{path, constraint}
}

type breaches map[breach]bool

func (b breaches) add(path, message string) {
	names := constraintName.FindAllString(message, -1)
	if names == nil {
		names = []string{""}
	}
	for _, name := range names {
		b[breachOf(path, name)] = true
	}
}

// ours returns what package aas finds.
func ours(env *aas.Environment) breaches {
	all := make(breaches)
	for _, f := range aas.Findings(env, 100_000) {
		all.add(f.Field, f.Message)
	}
	return all
}

// theirs returns what aas-core finds in the same document, with false for what it cannot read.
func theirs(t *testing.T, data []byte) (breaches, bool) {
	t.Helper()
	var tree any
	require.NoError(t, json.Unmarshal(data, &tree))
	env, err := core.EnvironmentFromJsonable(tree)
	if err != nil {
		return nil, false
	}
	all := make(breaches)
	verification.Verify(env, func(e *verification.VerificationError) bool {
		f := coreFinding(e)
		all.add(f.Field, f.Message)
		return false
	})
	return all, true
}

// coreFinding returns an error of aas-core with the member that it is about, where aas-core stops at the object that has
// the member, and with the name of the constraint, where aas-core leaves it out.
func coreFinding(e *verification.VerificationError) fault.Field {
	at, text := jsonPath(e.Path), strings.TrimPrefix(e.Message, "Invariant violated:\n")
	member := coreMembers[constraintName.FindString(text)]
	for _, r := range coreRules {
		if strings.HasPrefix(text, r.text) {
			if member = r.member; r.constraint != "" {
				text = r.constraint + ": " + text
			}
			break
		}
	}
	if m := coreUnnamed.FindStringSubmatch(text); m != nil {
		member = camel(m[1])
	} else if m := coreLeading.FindStringSubmatch(text); member == "" && m != nil && m[1] != "The value" {
		member = camel(m[1])
	}
	if member != "" {
		at = strings.TrimPrefix(at+"."+member, ".")
	}
	return fault.Field{Field: at, Message: text}
}

// coreMembers are what constraints are about in the objects that aas-core names.
var coreMembers = map[string]string{
	"AASc-002": "preferredName", "AASc-3a-004": "embeddedDataSpecifications", "AASc-3a-005": "embeddedDataSpecifications",
	"AASc-3a-006": "embeddedDataSpecifications", "AASc-3a-007": "embeddedDataSpecifications", "AASc-3a-009": "unit", "AASc-3a-010": "value",
	"AASd-005": "revision", "AASd-014": "globalAssetId", "AASd-020": "value", "AASd-021": "qualifiers", "AASd-022": "submodelElements",
	"AASd-077": "extensions", "AASd-107": "value", "AASd-108": "value", "AASd-114": "value", "AASd-116": "specificAssetIds",
	"AASd-118": "supplementalSemanticIds", "AASd-119": "qualifiers", "AASd-121": "keys", "AASd-122": "keys", "AASd-123": "keys",
	"AASd-124": "keys", "AASd-125": "keys", "AASd-126": "keys", "AASd-127": "keys", "AASd-128": "keys", "AASd-129": "submodelElements",
	"AASd-133": "externalSubjectId",
}

// coreRules are texts that aas-core gives without the name of the constraint, or of the member as JSON has it.
var coreRules = []struct{ text, constraint, member string }{
	{"ID-short of Referables", "AASd-002", ""},
	{"ID-shorts of the value must be unique", "AASd-022", "value"},
	{"Value must be consistent with the value type", "AASd-020", "value"},
	{"The value must match the value type", "AASd-020", "value"},
	{"Min must be consistent with the value type", "AASd-020", "min"},
	{"Max must be consistent with the value type", "AASd-020", "max"},
	{"Value must have the ID-short", "", "value"},
	{"String shall have a maximum length", "", "text"},
}

var (
	coreUnnamed = regexp.MustCompile(`^ID-shorts need to be defined for all the items of (.+?) according`)
	coreLeading = regexp.MustCompile(`^(?:All )?([A-Za-z][\w. -]*?) (?:must|is not applicable)\b`)
)

// camel returns the member for its name in words: Specific asset IDs becomes specificAssetIds.
func camel(words string) string {
	var b strings.Builder
	for i, w := range strings.FieldsFunc(words, func(r rune) bool { return r == ' ' || r == '-' || r == '.' }) {
		w = strings.ReplaceAll(w, "ID", "Id")
		if i == 0 {
			b.WriteString(strings.ToLower(w[:1]) + w[1:])
		} else {
			b.WriteString(strings.ToUpper(w[:1]) + w[1:])
		}
	}
	return b.String()
}

// jsonPath returns the JSON form of aas-core's path of Go names: IDShort becomes idShort.
func jsonPath(p *reporting.Path) string {
	var b strings.Builder
	for s := range strings.SplitSeq(strings.ReplaceAll(reporting.ToGolangPath(p), "ID", "Id"), ".") {
		if s == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(strings.ToLower(s[:1]) + s[1:])
	}
	return b.String()
}

// compare returns what one of the verifiers alone finds, intended differences left out; false when one of them cannot
// read the document.
func compare(t *testing.T, data []byte) (missing, more []breach, read bool) {
	t.Helper()
	env, err := aas.Decode[aas.Environment](data)
	if err != nil {
		return nil, nil, false
	}
	data = aas.Append(nil, env) // without empty texts and lists, which package aas takes for absent ones
	want, read := theirs(t, data)
	if !read {
		return nil, nil, false
	}
	got := ours(env)
	for b := range want {
		if !got[b] && !intended(data, b, looser) {
			missing = append(missing, b)
		}
	}
	for b := range got {
		if !want[b] && !intended(data, b, stricter) {
			more = append(more, b)
		}
	}
	return missing, more, true
}

type direction bool

const (
	looser   direction = false // package aas finds less
	stricter direction = true  // package aas finds more
)

// difference is what package aas finds otherwise than aas-core on purpose.
type difference struct {
	direction direction
	reason    string
	is        func(data string, b breach) bool
}

var differences = []difference{
	{looser, "concept descriptions that are a name, a unit and a format are common, and nothing needs the definition",
		func(_ string, b breach) bool { return b.constraint == "AASc-3a-008" }},
	{looser, "an xs:anyURI may have characters that are escaped in a URI (XSD 1.0 part 2, 3.2.17)",
		func(data string, b breach) bool {
			return b.constraint == "AASd-020" && strings.Contains(data, `"xs:anyURI"`) && unescaped.MatchString(data)
		}},
	{looser, "an idShort may be one letter in metamodel 3.0",
		func(data string, b breach) bool { return b.constraint == "AASd-002" && oneLetter.MatchString(data) }},
	{looser, "lengths count characters, not bytes",
		func(data string, b breach) bool {
			return b.constraint == "" && strings.Contains(data, strings.Repeat("ü", 100))
		}},
	{looser, "AASd-014 wants a global asset id or specific ones, and says nothing against both",
		func(data string, b breach) bool {
			return b.constraint == "AASd-014" && strings.Contains(data, `"globalAssetId":`)
		}},
	{looser, "zero is an xs:nonPositiveInteger with however many digits",
		func(data string, b breach) bool { return b.constraint == "AASd-020" && zeros.MatchString(data) }},
	{stricter, "a list of properties or ranges needs its value type before it has entries (AASd-109)",
		func(_ string, b breach) bool { return b.constraint == "AASd-109" }},
	{stricter, "statements and annotations are name spaces too (AASd-022)",
		func(_ string, b breach) bool {
			return b.constraint == "AASd-022" && (strings.HasSuffix(b.path, ".statements") || strings.HasSuffix(b.path, ".annotations"))
		}},
	{stricter, "aas-core reports equal names of an operation's variables as unique (AASd-134)",
		func(_ string, b breach) bool { return b.constraint == "AASd-134" }},
}

// unescaped is a character that is escaped in a URI.
var unescaped = regexp.MustCompile("[^\\x00-\\x7f]|\"(value|min|max)\":\"[^\"]*[ <>{}|^`\\\\]")

var (
	oneLetter = regexp.MustCompile(`"idShort":"[a-zA-Z]"`)
	zeros     = regexp.MustCompile(`"(value|min|max)":"00+".*"xs:nonPositiveInteger"|"xs:nonPositiveInteger".*"(value|min|max)":"00+"`)
)

func intended(data []byte, b breach, d direction) bool {
	return slices.ContainsFunc(differences, func(i difference) bool { return i.direction == d && i.is(string(data), b) })
}

// wrappers make environments of the parts that the test data of aas-core are.
var wrappers = func() map[string]string {
	submodel := func(s string) string { return `{"submodels":[{"modelType":"Submodel","id":"urn:s",` + s + `}]}` }
	asset := func(s string) string {
		return `{"assetAdministrationShells":[{"modelType":"AssetAdministrationShell","id":"urn:a","assetInformation":` + s + `}]}`
	}
	reference := func(s string) string { return submodel(`"semanticId":` + s) }
	content := func(s string) string {
		return `{"conceptDescriptions":[{"modelType":"ConceptDescription","id":"urn:c","embeddedDataSpecifications":[{"dataSpecification":
		{"type":"ExternalReference","keys":[{"type":"GlobalReference","value":"urn:d"}]},"dataSpecificationContent":` + s + `}]}]}`
	}
	iec := func(s string) string { return content(`{"modelType":"DataSpecificationIec61360",` + s + `}`) }
	english := `"preferredName":[{"language":"en","text":"x"}],`
	all := map[string]string{
		"Environment": `%s`, "AssetAdministrationShell": `{"assetAdministrationShells":[%s]}`, "Submodel": `{"submodels":[%s]}`,
		"ConceptDescription": `{"conceptDescriptions":[%s]}`, "AssetInformation": asset(`%s`),
		"SpecificAssetId": asset(`{"assetKind":"Instance","specificAssetIds":[%s]}`),
		"Resource":        asset(`{"assetKind":"Instance","globalAssetId":"urn:x","defaultThumbnail":%s}`),
		"Reference":       reference(`%s`), "Key": reference(`{"type":"ExternalReference","keys":[%s]}`),
		"Qualifier": submodel(`"qualifiers":[%s]`), "Extension": submodel(`"extensions":[%s]`), "AdministrativeInformation": submodel(`"administration":%s`),
		"LangStringNameType": submodel(`"displayName":[%s]`), "LangStringTextType": submodel(`"description":[%s]`),
		"EmbeddedDataSpecification":           submodel(`"embeddedDataSpecifications":[%s]`),
		"OperationVariable":                   submodel(`"submodelElements":[{"modelType":"Operation","idShort":"o1","inputVariables":[%s]}]`),
		"DataSpecificationIec61360":           content(`%s`),
		"LangStringPreferredNameTypeIec61360": iec(`"preferredName":[%s]`),
		"LangStringShortNameTypeIec61360":     iec(english + `"shortName":[%s]`),
		"LangStringDefinitionTypeIec61360":    iec(english + `"definition":[%s]`),
		"ValueList":                           iec(english + `"valueList":%s`), "LevelType": iec(english + `"levelType":%s`),
		"ValueReferencePair": iec(english + `"valueList":{"valueReferencePairs":[%s]}`),
	}
	for _, kind := range []string{"RelationshipElement", "AnnotatedRelationshipElement", "BasicEventElement", "Blob", "Capability", "Entity", "File",
		"MultiLanguageProperty", "Operation", "Property", "Range", "ReferenceElement", "SubmodelElementCollection", "SubmodelElementList"} {
		all[kind] = submodel(`"submodelElements":[%s]`)
	}
	return all
}()

// coreDocuments are the test data of aas-core, as environments by the names of their files.
func coreDocuments(t *testing.T) map[string][]byte {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/aas-core-works/aas-core3.1-golang").Output()
	require.NoError(t, err)
	root := filepath.Join(strings.TrimSpace(string(dir)), "testdata", "Json")
	all := make(map[string][]byte)
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name := strings.TrimPrefix(filepath.ToSlash(path), filepath.ToSlash(root)+"/")
		for part := range strings.SplitSeq(name, "/") {
			if wrapper, ok := wrappers[part]; ok {
				data, err := os.ReadFile(path)
				require.NoError(t, err)
				all[name] = []byte(strings.Replace(wrapper, "%s", string(data), 1))
				break
			}
		}
		return nil
	}))
	return all
}

func TestFindingsAreThoseOfAASCore(t *testing.T) {
	documents := coreDocuments(t)
	require.Greater(t, len(documents), 3000)
	for name, data := range documents {
		missing, more, _ := compare(t, data)
		if len(missing)+len(more) > 0 {
			t.Errorf("%s\n missing %v\n more %v\n %.800s", name, missing, more, data)
		}
	}
}

func TestFindingsInTemplatesAreThoseOfAASCore(t *testing.T) {
	for name, data := range templates(t) {
		missing, more, read := compare(t, data)
		require.True(t, read, name)
		if len(missing)+len(more) > 0 {
			t.Errorf("%s\n missing %v\n more %v", name, missing, more)
		}
	}
}

// mutants are what texts are replaced by.
var mutants = append(strings.Fields(`x ab a- 1a _ 0 01 1234 12345 -1 1.5 true 2020-01-01T00:00:00Z 2020-02-30T00:00:00Z 2020-01-01T00:00:00+01:00 P1D P
	en EN-us e x- de-CH-1996 text/plain text a/b;c=d a/b;c a/b;c="d" /x a%20b a%zz http://a.b:1/c?d#e #f ?q a:b :b globalAssetId xs:int xs:string xs:anyURI
	REAL_MEASURE STRING FILE PROPERTY VALUE REFERENCE DOCUMENT QUALIFIER_TYPE Template Instance TemplateQualifier ValueQualifier SelfManagedEntity CoManagedEntity
	input output Submodel GlobalReference FragmentReference SubmodelElementList SubmodelElement DataElement Property Range File Blob Referable Identifiable
	AssetAdministrationShell ConceptDescription ModelReference ExternalReference`),
	"00", strings.Repeat("ü", 100), "", "a b", "a\tb", "\x01", "\uffff", "a;  b", "text/plain ; charset=utf-8", strings.Repeat("x", 18), strings.Repeat("x", 19), strings.Repeat("x", 64),
	strings.Repeat("x", 65), strings.Repeat("x", 128), strings.Repeat("x", 129), strings.Repeat("x", 255), strings.Repeat("x", 256),
	strings.Repeat("x", 1023), strings.Repeat("x", 1024), strings.Repeat("x", 2048), strings.Repeat("x", 2049))

// mutator changes values in a tree of JSON.
type mutator struct {
	r     *rand.Rand
	pools map[string][]any // values by the names of their members
}

func (m *mutator) gather(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			m.pools[name] = append(m.pools[name], v[name])
			m.gather(v[name])
		}
	case []any:
		for _, e := range v {
			m.gather(e)
		}
	}
}

// change changes something below a value and returns what the value becomes.
func (m *mutator) change(v any) any {
	switch v := v.(type) {
	case map[string]any:
		names := slices.Sorted(maps.Keys(v))
		if len(names) == 0 {
			return v
		}
		name := names[m.r.IntN(len(names))]
		switch m.r.IntN(12) {
		case 0:
			delete(v, name)
		case 1:
			other := m.pools[name]
			v[name] = clone(other[m.r.IntN(len(other))])
		case 2:
			all := slices.Sorted(maps.Keys(m.pools))
			name = all[m.r.IntN(len(all))]
			v[name] = clone(m.pools[name][m.r.IntN(len(m.pools[name]))])
		default:
			v[name] = m.change(v[name])
		}
		return v
	case []any:
		if len(v) == 0 {
			return v
		}
		i := m.r.IntN(len(v))
		switch m.r.IntN(6) {
		case 0:
			return append(v, clone(v[i]))
		case 1:
			return slices.Delete(v, i, i+1)
		}
		v[i] = m.change(v[i])
		return v
	case string:
		return mutants[m.r.IntN(len(mutants))]
	}
	return v
}

func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		c := make(map[string]any, len(v))
		for name, e := range v {
			c[name] = clone(e)
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i, e := range v {
			c[i] = clone(e)
		}
		return c
	}
	return v
}

func TestFindingsInChangedDocumentsAreThoseOfAASCore(t *testing.T) {
	documents := coreDocuments(t)
	m := mutator{r: rand.New(rand.NewPCG(1, 2)), pools: make(map[string][]any)}
	var trees []any
	for _, name := range slices.Sorted(maps.Keys(documents)) {
		if !strings.HasPrefix(name, "Expected/") || strings.Contains(name, "Over") {
			continue
		}
		var tree any
		require.NoError(t, json.Unmarshal(documents[name], &tree))
		trees = append(trees, tree)
		m.gather(tree)
	}
	compared := 0
	for range 20_000 {
		tree := clone(trees[m.r.IntN(len(trees))])
		for range 1 + m.r.IntN(3) {
			tree = m.change(tree)
		}
		data, err := json.Marshal(tree)
		require.NoError(t, err)
		missing, more, read := compare(t, data)
		if read {
			compared++
		}
		if len(missing)+len(more) > 0 {
			t.Errorf("missing %v\n more %v\n %.3000s", missing, more, data)
		}
	}
	require.Greater(t, compared, 5000)
}

// Each intended difference is one: it is met in a document.
func TestDifferencesFromAASCoreAreWhatTheyAreSaidToBe(t *testing.T) {
	submodel := func(elements string) string {
		return `{"submodels":[{"modelType":"Submodel","id":"urn:s","submodelElements":[` + elements + `]}]}`
	}
	capability := `{"modelType":"Capability","idShort":"cc"}`
	met := make(map[string]bool)
	for _, document := range []string{
		`{"conceptDescriptions":[{"modelType":"ConceptDescription","id":"urn:c","embeddedDataSpecifications":[{"dataSpecification":` + ref +
			`,"dataSpecificationContent":{"modelType":"DataSpecificationIec61360","preferredName":[{"language":"en","text":"x"}]}}]}]}`,
		submodel(`{"modelType":"Property","idShort":"aa","valueType":"xs:anyURI","value":"urn:ü"}`),
		submodel(`{"modelType":"Capability","idShort":"a"}`),
		submodel(`{"modelType":"Capability","idShort":"aa","category":"` + strings.Repeat("ü", 100) + `"}`),
		submodel(`{"modelType":"Entity","idShort":"ee","entityType":"SelfManagedEntity","globalAssetId":"urn:a","specificAssetIds":[{"name":"n","value":"v"}]}`),
		submodel(`{"modelType":"Property","idShort":"aa","valueType":"xs:nonPositiveInteger","value":"00"}`),
		submodel(`{"modelType":"SubmodelElementList","idShort":"ll","typeValueListElement":"Property"}`),
		submodel(`{"modelType":"Entity","idShort":"ee","statements":[` + capability + `,` + capability + `]}`),
		submodel(`{"modelType":"Operation","idShort":"oo","inputVariables":[{"value":` + capability + `}],"outputVariables":[{"value":` + capability + `}]}`),
	} {
		env, err := aas.Decode[aas.Environment]([]byte(document))
		require.NoError(t, err)
		want, read := theirs(t, []byte(document))
		require.True(t, read)
		got := ours(env)
		for _, d := range differences {
			alone := want
			other := got
			if d.direction == stricter {
				alone, other = got, want
			}
			for b := range alone {
				if !other[b] && d.is(document, b) {
					met[d.reason] = true
				}
			}
		}
	}
	for _, d := range differences {
		require.True(t, met[d.reason], d.reason)
	}
}
