package repository

import (
	"strconv"
	"strings"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/fault"
)

// without returns the findings about a document that there were not already about what it was before. They
// agree when they are about the element of the same idShortPath; the place in other arrays, and in lists,
// does not count, since a change moves what comes after.
func without(now any, findings []fault.Field, before any, found []fault.Field) []fault.Field {
	there := make(map[fault.Field]int, len(found))
	for _, f := range found {
		there[fault.Field{Field: byName(before, f.Field), Message: f.Message}]++
	}
	var rest []fault.Field
	for _, f := range findings {
		key := fault.Field{Field: byName(now, f.Field), Message: f.Message}
		if there[key] > 0 {
			there[key]--
			continue
		}
		rest = append(rest, f)
	}
	return rest
}

// byName returns the path of a finding about a submodel or an element with idShorts in the place of indexes,
// and without those of other arrays and of lists: submodelElements[3].value is submodelElements.Speed.value.
func byName(document any, path string) string {
	var b strings.Builder
	for segment := range strings.SplitSeq(path, ".") {
		member, index, indexed := strings.Cut(segment, "[")
		b.WriteString("." + member)
		if !indexed {
			continue
		}
		i, err := strconv.Atoi(strings.TrimSuffix(index, "]"))
		list := aas.ElementsIn(document, member)
		if err != nil || i >= len(list) {
			document = nil
			continue
		}
		_, unnamed := document.(*aas.List)
		if document = list[i]; !unnamed {
			b.WriteString("." + list[i].Common().IDShort)
		}
	}
	return b.String()
}
