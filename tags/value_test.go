package tags_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
)

func TestValueJSONRoundTrip(t *testing.T) {
	for _, c := range []struct {
		value tags.Value
		text  string
	}{
		{tags.Value{}, `null`},
		{tags.BoolValue(true), `{"boolValue":true}`},
		{tags.BoolValue(false), `{"boolValue":false}`},
		{tags.IntValue(0), `{"int64Value":0}`},
		{tags.IntValue(math.MaxInt64), `{"int64Value":9223372036854775807}`},
		{tags.IntValue(math.MinInt64), `{"int64Value":-9223372036854775808}`},
		{tags.FloatValue(0), `{"doubleValue":0}`},
		{tags.FloatValue(-1.5), `{"doubleValue":-1.5}`},
		{tags.FloatValue(0.1), `{"doubleValue":0.1}`},
		{tags.FloatValue(math.MaxFloat64), `{"doubleValue":1.7976931348623157e+308}`},
		{tags.FloatValue(math.SmallestNonzeroFloat64), `{"doubleValue":5e-324}`},
		{tags.StringValue(""), `{"stringValue":""}`},
		{tags.StringValue("Füllstand \"A\"\n"), `{"stringValue":"Füllstand \"A\"\n"}`},
		{tags.BytesValue(nil), `{"bytesValue":""}`},
		{tags.BytesValue([]byte{0, 0xff, 'a'}), `{"bytesValue":"AP9h"}`},
	} {
		t.Run(c.text, func(t *testing.T) {
			text, err := json.Marshal(c.value)
			require.NoError(t, err)
			require.Equal(t, c.text, string(text))
			var back tags.Value
			require.NoError(t, json.Unmarshal(text, &back))
			require.Equal(t, c.value, back, "%v came back as %v", c.value, back)
		})
	}
}

func TestValueJSONAccepts(t *testing.T) {
	for text, want := range map[string]tags.Value{
		` { "int64Value" : "42" } `:             tags.IntValue(42),
		`{"int64Value":"-9223372036854775808"}`: tags.IntValue(math.MinInt64),
		`{"doubleValue":1}`:                     tags.FloatValue(1),
		`{"doubleValue":1E3}`:                   tags.FloatValue(1000),
		`{"boolValue":true,"unit":"m"}`:         tags.BoolValue(true),
		`{"stringValue":"\u00fc"}`:              tags.StringValue("ü"),
		"\n null\t":                             {},
	} {
		var v tags.Value
		require.NoError(t, json.Unmarshal([]byte(text), &v), text)
		require.Equal(t, want, v, "%s gives %v", text, v)
	}
}

func TestValueJSONRefuses(t *testing.T) {
	for _, text := range []string{
		`{}`, `[]`, `1`, `"a"`, `{"unit":"m"}`, `{"StringValue":"a"}`,
		`{"boolValue":true,"int64Value":1}`, `{"stringValue":"a","bytesValue":"YQ=="}`,
		`{"boolValue":1}`, `{"boolValue":"true"}`, `{"boolValue":null}`,
		`{"int64Value":1.5}`, `{"int64Value":1e3}`, `{"int64Value":true}`, `{"int64Value":""}`, `{"int64Value":"0x10"}`,
		`{"int64Value":9223372036854775808}`, `{"int64Value":"-9223372036854775809"}`,
		`{"doubleValue":"1"}`, `{"doubleValue":"NaN"}`, `{"doubleValue":1e309}`, `{"doubleValue":-1e309}`, `{"doubleValue":null}`,
		`{"stringValue":1}`, `{"stringValue":null}`, "{\"stringValue\":\"\xff\"}",
		`{"bytesValue":"a"}`, `{"bytesValue":"%%%%"}`, `{"bytesValue":[1]}`,
	} {
		v := tags.IntValue(1)
		require.ErrorIs(t, json.Unmarshal([]byte(text), &v), tags.ErrInvalidValue, text)
		require.True(t, v.IsZero(), "%s leaves %v", text, v)
	}
}

func TestNotANumberIsNoValue(t *testing.T) {
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		require.True(t, tags.FloatValue(f).IsZero())
	}
}

func TestStringsAreUTF8(t *testing.T) {
	require.Equal(t, "a\uFFFDb", tags.StringValue("a\xffb").Text())
}

func TestBytesAreCopied(t *testing.T) {
	b := []byte("abc")
	v := tags.BytesValue(b)
	b[0] = 'x'
	got := v.Bytes()
	got[1] = 'x'
	require.Equal(t, []byte("abc"), v.Bytes())
	require.Nil(t, tags.StringValue("abc").Bytes())
}

func TestParseValue(t *testing.T) {
	for _, c := range []struct {
		typ  tags.DataType
		text string
		want tags.Value // zero: refused
	}{
		{tags.Bool, "true", tags.BoolValue(true)},
		{tags.Bool, "0", tags.BoolValue(false)},
		{tags.Bool, "FALSE", tags.BoolValue(false)},
		{tags.Bool, "yes", tags.Value{}},
		{tags.Bool, "", tags.Value{}},
		{tags.Int, "-7", tags.IntValue(-7)},
		{tags.Int, "9223372036854775807", tags.IntValue(math.MaxInt64)},
		{tags.Int, "9223372036854775808", tags.Value{}},
		{tags.Int, "1.0", tags.Value{}},
		{tags.Int, "1_000", tags.Value{}},
		{tags.Int, "", tags.Value{}},
		{tags.Float, "2.5e3", tags.FloatValue(2500)},
		{tags.Float, "-7", tags.FloatValue(-7)},
		{tags.Float, "NaN", tags.Value{}},
		{tags.Float, "Inf", tags.Value{}},
		{tags.Float, "1e999", tags.Value{}},
		{tags.Float, "0x1p4", tags.Value{}},
		{tags.Float, "1,5", tags.Value{}},
		{tags.String, "", tags.StringValue("")},
		{tags.String, " a ", tags.StringValue(" a ")},
		{tags.Bytes, "AQI=", tags.BytesValue([]byte{1, 2})},
		{tags.Bytes, "AQI", tags.Value{}},
		{"Word", "1", tags.Value{}},
		{"", "1", tags.Value{}},
	} {
		v, err := tags.ParseValue(c.typ, c.text)
		if c.want.IsZero() {
			require.ErrorIs(t, err, tags.ErrInvalidValue, "%s %q", c.typ, c.text)
			require.True(t, v.IsZero())
			continue
		}
		require.NoError(t, err, "%s %q", c.typ, c.text)
		require.Equal(t, c.want, v, "%s %q gives %v", c.typ, c.text, v)
	}
	_, err := tags.ParseValue(tags.Int, strings.Repeat("ü", 1<<20))
	require.Less(t, len(err.Error()), 500, "an error repeats a caller's text only in part")
}

func TestConvert(t *testing.T) {
	const exact = 1 << 53
	for _, c := range []struct {
		from tags.Value
		to   tags.DataType
		want tags.Value // zero: refused
	}{
		{tags.IntValue(3), tags.Int, tags.IntValue(3)},
		{tags.IntValue(3), tags.Float, tags.FloatValue(3)},
		{tags.IntValue(-exact), tags.Float, tags.FloatValue(-exact)},
		{tags.IntValue(exact + 1), tags.Float, tags.Value{}},
		{tags.IntValue(math.MinInt64), tags.Float, tags.Value{}},
		{tags.FloatValue(-3), tags.Int, tags.IntValue(-3)},
		{tags.FloatValue(3.5), tags.Int, tags.Value{}},
		{tags.FloatValue(1e300), tags.Int, tags.Value{}},
		{tags.BoolValue(true), tags.Int, tags.Value{}},
		{tags.IntValue(1), tags.Bool, tags.Value{}},
		{tags.StringValue("1"), tags.Int, tags.Value{}},
		{tags.StringValue("a"), tags.Bytes, tags.Value{}},
		{tags.Value{}, tags.Int, tags.Value{}},
	} {
		v, err := c.from.Convert(c.to)
		if c.want.IsZero() {
			require.ErrorIs(t, err, tags.ErrInvalidValue, "%v to %s", c.from, c.to)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, v, "%v to %s gives %v", c.from, c.to, v)
	}
}

func TestErrorsCutNoCharacter(t *testing.T) {
	for pad := range 4 {
		_, err := tags.ParseValue(tags.Int, strings.Repeat("x", pad)+strings.Repeat("温", tags.MaxNameBytes))
		require.ErrorIs(t, err, tags.ErrInvalidValue)
		require.NotContains(t, err.Error(), "\uFFFD")
		require.Contains(t, err.Error(), "温...")
	}
}

func TestQualityWords(t *testing.T) {
	for _, q := range []tags.Quality{tags.Bad, tags.Uncertain, tags.Good} {
		back, err := tags.ParseQuality(q.String())
		require.NoError(t, err)
		require.Equal(t, q, back)
	}
	_, err := tags.ParseQuality("good")
	require.Error(t, err)
	require.Equal(t, "Quality(9)", tags.Quality(9).String())
	require.Equal(t, "OutOfRange", tags.ReasonOutOfRange.String())
	require.Equal(t, "Reason(99)", tags.Reason(99).String())
}

// What decodes is encoded to something that decodes to the same.
func FuzzValueJSON(f *testing.F) {
	for _, seed := range []string{`null`, `{"boolValue":true}`, `{"int64Value":"12"}`, `{"doubleValue":-0.0}`,
		`{"doubleValue":1e-7}`, `{"stringValue":"\ud800<"}`, `{"bytesValue":"AP9h"}`, `{"bytesValue":"","x":1}`, "{\"stringValue\":\"\xff\"}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var v, back tags.Value
		if json.Unmarshal(data, &v) != nil {
			return
		}
		text, err := json.Marshal(v)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &back), "%s", text)
		require.Equal(t, v, back, "%s became %s", data, text)
	})
}

// What parses has a text that parses to the same.
func FuzzParseValue(f *testing.F) {
	for i, seed := range []string{"true", "-12", "1.5e-9", "text", "AP9h"} {
		f.Add(uint8(i), seed)
	}
	f.Fuzz(func(t *testing.T, kind uint8, text string) {
		typ := tags.DataTypes()[int(kind)%len(tags.DataTypes())]
		v, err := tags.ParseValue(typ, text)
		if err != nil {
			require.ErrorIs(t, err, tags.ErrInvalidValue)
			return
		}
		require.Equal(t, typ, v.Type())
		back, err := tags.ParseValue(typ, v.String())
		require.NoError(t, err)
		require.Equal(t, v, back, "%q became %q", text, v.String())
	})
}
