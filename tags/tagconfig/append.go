package tagconfig

import (
	"math"
	"strconv"
	"unicode/utf8"
)

// appendJSON appends an item as encodeJSON writes it, faster.
func appendJSON(to []byte, c *Config) ([]byte, error) {
	to = appendText(append(to, `{"tagId":`...), c.TagID)
	to = appendText(append(to, `,"driverId":`...), c.DriverID)
	to = appendText(append(to, `,"address":`...), c.Address)
	to = appendText(append(to, `,"dataType":`...), string(c.DataType))
	to = appendText(append(to, `,"unit":`...), c.Unit)
	to = appendText(append(to, `,"description":`...), c.Description)
	var err error
	number := func(name string, f *float64) {
		if f == nil || err != nil {
			return
		}
		to = append(to, name...)
		if abs := math.Abs(*f); abs == 0 || abs >= 1e-6 && abs < 1e21 {
			to = strconv.AppendFloat(to, *f, 'f', -1, 64)
			return
		}
		var text []byte
		text, err = encodeJSON(*f)
		to = append(to, text...)
	}
	number(`,"minValue":`, c.MinValue)
	number(`,"maxValue":`, c.MaxValue)
	number(`,"scalingFactor":`, c.ScalingFactor)
	number(`,"offset":`, c.Offset)
	if c.AccessMode != "" {
		to = appendText(append(to, `,"accessMode":`...), string(c.AccessMode))
	}
	if c.NativeType != "" {
		to = appendText(append(to, `,"nativeType":`...), c.NativeType)
	}
	if c.IntervalMs != 0 {
		to = strconv.AppendInt(append(to, `,"intervalMs":`...), c.IntervalMs, 10)
	}
	number(`,"deadband":`, c.Deadband)
	number(`,"deadbandPercent":`, c.DeadbandPercent)
	if c.ConfirmWrites != nil {
		to = strconv.AppendBool(append(to, `,"confirmWrites":`...), *c.ConfirmWrites)
	}
	if c.NoMin {
		to = append(to, `,"minValue":null`...)
	}
	if c.NoMax {
		to = append(to, `,"maxValue":null`...)
	}
	return append(to, '}'), err
}

func appendText(to []byte, s string) []byte {
	for i := range len(s) {
		if b := s[i]; b < ' ' || b == '"' || b == '\\' || b >= utf8.RuneSelf {
			return append(to, quoted("", s).raw...)
		}
	}
	to = append(append(to, '"'), s...)
	return append(to, '"')
}
