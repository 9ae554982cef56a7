package verify

import core "github.com/aas-core-works/aas-core3.1-golang/types"

// longestDate is far above what a date, with its year of any number of digits, has.
const longestDate = 1000

// cutDates cuts dates that are too long, so that they break the form of a date: aas-core works out
// whether the year is a leap year, which takes most of a minute for one of some million digits. The
// instance is a copy.
func cutDates(instance core.IClass) {
	cutDate(instance)
	instance.Descend(func(c core.IClass) bool {
		cutDate(c)
		return false
	})
}

func cutDate(c core.IClass) {
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
	}
}

func cut(t core.DataTypeDefXSD, value *string) *string {
	if value == nil || len(*value) <= longestDate || t != core.DataTypeDefXSDDate && t != core.DataTypeDefXSDDateTime {
		return value
	}
	short := (*value)[:longestDate]
	return &short
}
