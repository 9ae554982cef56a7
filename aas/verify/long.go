package verify

import (
	"strings"

	core "github.com/aas-core-works/aas-core3.1-golang/types"
)

// longest is far above what a number, date or duration has, and a path may have.
const longest = 4096

// tooLong stands for a value above longest. It is in the form of no number, date or duration, and has more
// characters than a path may have (2000).
var tooLong = strings.Repeat("x", longest)

// cutLong replaces values that are too long, so that they break their form at once: aas-core works out
// whether the year of a date is a leap year, which takes most of a minute for one of some million digits,
// and its patterns are slow over some million characters. The instance is a copy.
func cutLong(c core.IClass) {
	switch c := c.(type) {
	case *core.Property:
		c.SetValue(cut(c.ValueType(), c.Value()))
	case *core.Range:
		c.SetMin(cut(c.ValueType(), c.Min()))
		c.SetMax(cut(c.ValueType(), c.Max()))
	case *core.Qualifier:
		c.SetValue(cut(c.ValueType(), c.Value()))
	case *core.Extension:
		if t := c.ValueType(); t != nil {
			c.SetValue(cut(*t, c.Value()))
		}
	case *core.BasicEventElement:
		c.SetLastUpdate(cut(core.DataTypeDefXSDDateTime, c.LastUpdate()))
	case *core.File:
		c.SetValue(cutText(c.Value()))
	case *core.Resource:
		c.SetPath(*cutText(new(c.Path())))
	}
}

func cut(t core.DataTypeDefXSD, value *string) *string {
	switch t {
	case core.DataTypeDefXSDString, core.DataTypeDefXSDAnyURI, core.DataTypeDefXSDBase64Binary, core.DataTypeDefXSDHexBinary:
		return value // of any length
	}
	return cutText(value)
}

func cutText(value *string) *string {
	if value == nil || len(*value) <= longest {
		return value
	}
	return &tooLong
}
