package tagmap

import (
	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/tags"
)

// series is where the semantic ids of IDTA 02008-1-1 begin.
const series = "https://admin-shell.io/idta/TimeSeries/"

// startSeries lays out a submodel after IDTA 02008: metadata that say what a record holds, and segments
// that say where the records are.
func (b *builder) startSeries() {
	metadata := collection("Metadata", series+"Metadata/1/1")
	b.record = collection("Record", series+"Record/1/1")
	b.segments = collection("Segments", series+"Segments/1/1")
	metadata.Value = []aas.Element{text("Name", series+"Metadata/Name/1/1", "Tag history"), b.record}
	b.record.Value = []aas.Element{fixed("Time", series+"UtcTime/1/1", "xs:dateTime", nil)}
	b.used["record.time"] = true
	b.submodel.Elements = []aas.Element{metadata, b.segments}
}

// addSeries adds a tag to the record and a segment that links to its history.
func (b *builder) addSeries(t *tags.Tag, r *compiled) {
	p := property(t, r)
	p.IDShort = b.free("record", p.IDShort)
	b.record.Value = append(b.record.Value, p)

	s := collection(p.IDShort, series+"Segments/LinkedSegment/1/1")
	s.Value = []aas.Element{
		text("Name", series+"Segment/Name/1/1", p.IDShort),
		fixed("Endpoint", series+"Endpoint/1/1", "xs:string", new(b.m.o.HistoryURL(t.Name))),
		fixed("Query", series+"Query/1/1", "xs:string", new("start={start}&end={end}&maxPoints={maxPoints}")),
	}
	b.segments.Value = append(b.segments.Value, s)
}

func text(idShort, semantic, value string) *aas.MultiLanguageProperty {
	p := &aas.MultiLanguageProperty{Value: []aas.LangString{{Language: "en", Text: value}}}
	p.IDShort, p.SemanticID = idShort, aas.Global(semantic)
	return p
}

func fixed(idShort, semantic string, t aas.DataType, value *string) *aas.Property {
	p := &aas.Property{ValueType: t, Value: value}
	p.IDShort, p.SemanticID = idShort, aas.Global(semantic)
	return p
}
