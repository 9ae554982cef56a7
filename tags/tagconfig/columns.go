package tagconfig

import (
	"math"
	"strconv"
	"strings"

	"github.com/otkit/otkit/tags"
)

// column is one member of Config as a spreadsheet and a comparison see it.
type column struct {
	name string
	text bool
	get  func(*Config) any            // nil when absent; a string, float64, int64 or bool
	set  func(*Config, string) string // from a cell that is not empty; returns what is wrong with it
}

// columns has the members in the order of an export.
var columns = []column{
	nameColumn("tagId", func(c *Config) *string { return &c.TagID }),
	nameColumn("driverId", func(c *Config) *string { return &c.DriverID }),
	textColumn("address", func(c *Config) *string { return &c.Address }),
	nameColumn("dataType", func(c *Config) *string { return (*string)(&c.DataType) }),
	textColumn("unit", func(c *Config) *string { return &c.Unit }),
	textColumn("description", func(c *Config) *string { return &c.Description }),
	limitColumn("minValue", func(c *Config) (**float64, *bool) { return &c.MinValue, &c.NoMin }),
	limitColumn("maxValue", func(c *Config) (**float64, *bool) { return &c.MaxValue, &c.NoMax }),
	numberColumn("scalingFactor", func(c *Config) **float64 { return &c.ScalingFactor }),
	numberColumn("offset", func(c *Config) **float64 { return &c.Offset }),
	nameColumn("accessMode", func(c *Config) *string { return (*string)(&c.AccessMode) }),
	textColumn("nativeType", func(c *Config) *string { return &c.NativeType }),
	{
		name: "intervalMs",
		get: func(c *Config) any {
			if c.IntervalMs == 0 {
				return nil
			}
			return c.IntervalMs
		},
		set: func(c *Config, cell string) string {
			n, msg := parseNumber(cell)
			if msg != "" || n != math.Trunc(n) || n < 0 || n > MaxIntervalMs {
				return "must be a whole number, 0 to " + strconv.Itoa(MaxIntervalMs)
			}
			c.IntervalMs = int64(n)
			return ""
		},
	},
	numberColumn("deadband", func(c *Config) **float64 { return &c.Deadband }),
	numberColumn("deadbandPercent", func(c *Config) **float64 { return &c.DeadbandPercent }),
	{
		name: "confirmWrites",
		get: func(c *Config) any {
			if c.ConfirmWrites == nil {
				return nil
			}
			return *c.ConfirmWrites
		},
		set: func(c *Config, cell string) string {
			v, err := tags.ParseValue(tags.Bool, strings.TrimSpace(cell))
			if err != nil {
				return "must be true or false"
			}
			b := v.Bool()
			c.ConfirmWrites = &b
			return ""
		},
	},
}

// columnAt finds a column by name without regard to case, -1 for none.
func columnAt(name string) int {
	for i := range columns {
		if strings.EqualFold(columns[i].name, name) {
			return i
		}
	}
	return -1
}

func textColumn(name string, at func(*Config) *string) column {
	return column{
		name: name, text: true,
		get: func(c *Config) any {
			if *at(c) == "" {
				return nil
			}
			return *at(c)
		},
		set: func(c *Config, cell string) string {
			*at(c) = cell
			return ""
		},
	}
}

// nameColumn is a textColumn where blanks around a cell mean nothing.
func nameColumn(name string, at func(*Config) *string) column {
	col := textColumn(name, at)
	col.set = func(c *Config, cell string) string {
		*at(c) = strings.TrimSpace(cell)
		return ""
	}
	return col
}

func numberColumn(name string, at func(*Config) **float64) column {
	return column{
		name: name,
		get: func(c *Config) any {
			if *at(c) == nil {
				return nil
			}
			return **at(c)
		},
		set: func(c *Config, cell string) string {
			f, msg := parseNumber(cell)
			if msg == "" {
				*at(c) = &f
			}
			return msg
		},
	}
}

// noLimit is the cell of a limit that is null.
const noLimit = "null"

// limitColumn is a numberColumn that also has a word for no limit.
func limitColumn(name string, at func(*Config) (value **float64, none *bool)) column {
	col := numberColumn(name, func(c *Config) **float64 {
		value, _ := at(c)
		return value
	})
	number := col
	col.get = func(c *Config) any {
		if _, none := at(c); *none {
			return noLimit
		}
		return number.get(c)
	}
	col.set = func(c *Config, cell string) string {
		if _, none := at(c); strings.EqualFold(strings.TrimSpace(cell), noLimit) {
			*none = true
			return ""
		}
		return number.set(c, cell)
	}
	return col
}

func parseNumber(cell string) (f float64, msg string) {
	cell = strings.TrimSpace(cell)
	f, err := strconv.ParseFloat(cell, 64)
	// ParseFloat also reads hexadecimal, underscores, "inf" and "nan".
	if err != nil || strings.Trim(cell, "0123456789+-.eE") != "" || math.IsInf(f, 0) {
		return 0, "must be a finite number with a decimal point"
	}
	return f, ""
}

func formatCell(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case int64:
		return strconv.FormatInt(v, 10)
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}
