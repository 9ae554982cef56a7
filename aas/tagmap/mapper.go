package tagmap

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/tags"
)

// Equipment is one asset and the tags that belong to it.
type Equipment struct {
	ShellID  string
	Category string // equipmentCategory, such as Pump; empty leaves the neutral rules
	Tags     []tags.Tag
}

// Options configure a [Mapper].
type Options struct {
	// Rules are asked in this order before [DefaultRules]: those of the equipment's category first,
	// then the neutral ones. The first rule that takes a tag decides; time series are decided by
	// themselves, so that a tag can be in one besides.
	Rules []Rule
	// WithoutDefaults leaves the default rules out.
	WithoutDefaults bool
	// SubmodelID makes the id of a submodel. By default the target is appended to the shell's id, after
	// a colon when that is a URN and after a slash otherwise.
	SubmodelID func(shellID string, target Target) string
	// HistoryURL makes the address where the history of a tag is read. By default it is the path of the
	// engine's REST API.
	HistoryURL func(tag string) string
}

// Mapper builds submodels from tags. Safe for concurrent use.
type Mapper struct {
	rules []compiled
	o     Options
}

// NewMapper checks the rules.
func NewMapper(o Options) (*Mapper, error) {
	if o.SubmodelID == nil {
		o.SubmodelID = submodelID
	}
	if o.HistoryURL == nil {
		o.HistoryURL = func(tag string) string { return "/api/v1/tags/" + url.PathEscape(tag) + "/history" }
	}
	rules := slices.Clone(o.Rules)
	if !o.WithoutDefaults {
		rules = append(rules, DefaultRules()...)
	}
	list, err := compile(rules)
	if err != nil {
		return nil, err
	}
	return &Mapper{rules: list, o: o}, nil
}

func submodelID(shellID string, target Target) string {
	if strings.HasPrefix(strings.ToLower(shellID), "urn:") {
		return shellID + ":" + string(target)
	}
	return strings.TrimSuffix(shellID, "/") + "/" + string(target)
}

// rule returns the rule that decides about a tag, nil when none does.
func (m *Mapper) rule(category string, t *tags.Tag, series bool) *compiled {
	for _, neutral := range []bool{false, true} {
		for i := range m.rules {
			r := &m.rules[i]
			if (r.Category == "") == neutral && (r.Target == TimeSeries) == series && r.takes(category, t) {
				return r
			}
		}
	}
	return nil
}

// Submodels builds the submodels of a piece of equipment, in the order of the constants of [Target],
// with their elements in the order of the tags' names. A submodel without elements is omitted. The
// elements are live: see [repository.LiveQualifier].
func (m *Mapper) Submodels(e Equipment) []*aas.Submodel {
	list := slices.Clone(e.Tags)
	slices.SortFunc(list, func(a, b tags.Tag) int { return strings.Compare(a.Name, b.Name) })
	built := map[Target]*builder{}
	for i := range list {
		t := &list[i]
		if t.DataType == tags.Bytes {
			continue
		}
		for _, series := range []bool{false, true} {
			r := m.rule(e.Category, t, series)
			if r == nil {
				continue
			}
			if built[r.Target] == nil {
				built[r.Target] = m.newBuilder(e.ShellID, r.Target)
			}
			built[r.Target].add(t, r)
		}
	}
	var all []*aas.Submodel
	for _, target := range targets {
		if b := built[target]; b != nil {
			all = append(all, b.submodel)
		}
	}
	return all
}

var targets = []Target{OperationalData, TechnicalData, Nameplate, TimeSeries}

// semantics of the submodels: those of the IDTA templates where there is one.
var semantics = map[Target]string{
	OperationalData: "urn:otkit:submodel:OperationalData:1:0",
	TechnicalData:   "https://admin-shell.io/ZVEI/TechnicalData/Submodel/1/2",
	Nameplate:       "https://admin-shell.io/idta/nameplate/3/0/Nameplate",
	TimeSeries:      "https://admin-shell.io/idta/TimeSeries/1/1",
}

// builder collects the elements of one submodel.
type builder struct {
	m        *Mapper
	submodel *aas.Submodel
	record   *aas.Collection // of a time series: what is recorded
	segments *aas.Collection // of a time series: where it is
	parts    map[string]*aas.Collection
	used     map[string]bool // idShort below its parent
}

// Submodel returns the submodel of a target without elements. A target that is not one of the constants has no semantics.
func (m *Mapper) Submodel(shellID string, target Target) *aas.Submodel {
	s := &aas.Submodel{}
	if semantic := semantics[target]; semantic != "" {
		s.SemanticID = aas.Global(semantic)
	}
	s.ID, s.IDShort = m.o.SubmodelID(shellID, target), idShort(string(target))
	return s
}

// Targets returns the targets of the submodels that Submodels builds, in the same order.
func (m *Mapper) Targets(e Equipment) []Target {
	found := map[Target]bool{}
	for i := range e.Tags {
		if e.Tags[i].DataType == tags.Bytes {
			continue
		}
		for _, series := range []bool{false, true} {
			if r := m.rule(e.Category, &e.Tags[i], series); r != nil {
				found[r.Target] = true
			}
		}
		if len(found) == len(targets) {
			break
		}
	}
	return slices.DeleteFunc(slices.Clone(targets), func(t Target) bool { return !found[t] })
}

func (m *Mapper) newBuilder(shellID string, target Target) *builder {
	b := &builder{m: m, submodel: m.Submodel(shellID, target), parts: make(map[string]*aas.Collection), used: make(map[string]bool)}
	if target == TimeSeries {
		b.startSeries()
	}
	return b
}

func (b *builder) add(t *tags.Tag, r *compiled) {
	if r.Target == TimeSeries {
		b.addSeries(t, r)
		return
	}
	p := property(t, r)
	p.IDShort = b.free(r.Collection, p.IDShort)
	p.Qualifiers = []aas.Qualifier{{Kind: aas.ConceptQualifier, Type: repository.LiveQualifier, ValueType: "xs:string", Value: new(t.Name)}}
	if r.Collection == "" {
		b.submodel.Elements = append(b.submodel.Elements, p)
		return
	}
	c := b.parts[r.Collection]
	if c == nil {
		c = collection(b.free("", r.Collection), "")
		b.parts[r.Collection] = c
		b.submodel.Elements = append(b.submodel.Elements, c)
	}
	c.Value = append(c.Value, p)
}

// free returns an idShort that no sibling has, with a number behind it if need be.
func (b *builder) free(parent, idShort string) string {
	name := idShort
	for n := 2; b.used[parent+"."+strings.ToLower(name)]; n++ {
		suffix := fmt.Sprintf("_%d", n)
		name = idShort[:min(len(idShort), maxIDShort-len(suffix))] + suffix
	}
	b.used[parent+"."+strings.ToLower(name)] = true
	return name
}

// property returns the element of a tag: its type, its unit and its text.
func property(t *tags.Tag, r *compiled) *aas.Property {
	p := &aas.Property{ValueType: valueType(t.DataType)}
	if p.IDShort = r.IDShort; p.IDShort == "" {
		p.IDShort = idShort(localName(t))
	}
	if r.SemanticID != "" {
		p.SemanticID = aas.Global(r.SemanticID)
	}
	if t.Description != "" {
		p.Description = []aas.LangString{{Language: "en", Text: shorten(t.Description, 1023)}}
	}
	if t.Unit != "" {
		p.EmbeddedDataSpecifications = []aas.EmbeddedDataSpecification{{
			DataSpecification: aas.Global(aas.IEC61360Template),
			Content: &aas.IEC61360{PreferredName: []aas.LangString{{Language: "en", Text: shorten(localName(t), 255)}},
				Unit: t.Unit, DataType: iecType(t.DataType)},
		}}
	}
	return p
}

// shorten cuts a text after so many characters.
func shorten(s string, limit int) string {
	for i := range s {
		if limit == 0 {
			return s[:i]
		}
		limit--
	}
	return s
}

func valueType(t tags.DataType) aas.DataType {
	switch t {
	case tags.Bool:
		return "xs:boolean"
	case tags.Int:
		return "xs:long"
	case tags.Float:
		return "xs:double"
	default:
		return "xs:string"
	}
}

func iecType(t tags.DataType) string {
	switch t {
	case tags.Bool:
		return "BOOLEAN"
	case tags.Int:
		return "INTEGER_MEASURE"
	case tags.Float:
		return "REAL_MEASURE"
	default:
		return "STRING"
	}
}

func collection(idShort, semantic string) *aas.Collection {
	c := &aas.Collection{}
	c.IDShort = idShort
	if semantic != "" {
		c.SemanticID = aas.Global(semantic)
	}
	return c
}
