package modbus_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
	driver "github.com/otkit/otkit/tags/modbus"
)

// The registers are written out by hand, so that writing and reading cannot be wrong in the same way.
func TestNativeTypesAndOrders(t *testing.T) {
	dev := startDevice(t)
	d := connected(t, driver.Options{Address: dev.addr})
	for _, c := range []struct {
		native    string
		value     tags.Value
		registers []uint16
	}{
		{"Int16", tags.IntValue(-2), []uint16{0xFFFE}},
		{"Int16;BADC", tags.IntValue(0x1234), []uint16{0x3412}},
		{"Int16;CDAB", tags.IntValue(0x1234), []uint16{0x1234}},
		{"UInt16", tags.IntValue(65535), []uint16{0xFFFF}},
		{"UInt16;DCBA", tags.IntValue(0xABCD), []uint16{0xCDAB}},
		{"Int32", tags.IntValue(0x01020304), []uint16{0x0102, 0x0304}},
		{"Int32;ABCD", tags.IntValue(-2), []uint16{0xFFFF, 0xFFFE}},
		{"Int32;CDAB", tags.IntValue(0x01020304), []uint16{0x0304, 0x0102}},
		{"Int32;BADC", tags.IntValue(0x01020304), []uint16{0x0201, 0x0403}},
		{"Int32;DCBA", tags.IntValue(0x01020304), []uint16{0x0403, 0x0201}},
		{"UInt32", tags.IntValue(math.MaxUint32), []uint16{0xFFFF, 0xFFFF}},
		{"UInt32;cdab", tags.IntValue(0x80000001), []uint16{0x0001, 0x8000}},
		{"Int64", tags.IntValue(0x0102030405060708), []uint16{0x0102, 0x0304, 0x0506, 0x0708}},
		{"Int64", tags.IntValue(math.MinInt64), []uint16{0x8000, 0, 0, 0}},
		{"Int64;CDAB", tags.IntValue(0x0102030405060708), []uint16{0x0708, 0x0506, 0x0304, 0x0102}},
		{"Int64;BADC", tags.IntValue(0x0102030405060708), []uint16{0x0201, 0x0403, 0x0605, 0x0807}},
		{"Int64;DCBA", tags.IntValue(0x0102030405060708), []uint16{0x0807, 0x0605, 0x0403, 0x0201}},
		{"UInt64", tags.IntValue(math.MaxInt64), []uint16{0x7FFF, 0xFFFF, 0xFFFF, 0xFFFF}},
		{"Float32", tags.FloatValue(-1.5), []uint16{0xBFC0, 0x0000}},
		{"Float32;CDAB", tags.FloatValue(-1.5), []uint16{0x0000, 0xBFC0}},
		{"Float32;BADC", tags.FloatValue(-1.5), []uint16{0xC0BF, 0x0000}},
		{"Float32;DCBA", tags.FloatValue(-1.5), []uint16{0x0000, 0xC0BF}},
		{"Float64", tags.FloatValue(math.Pi), []uint16{0x4009, 0x21FB, 0x5444, 0x2D18}},
		{"Float64;DCBA", tags.FloatValue(math.Pi), []uint16{0x182D, 0x4454, 0xFB21, 0x0940}},
		{"Float32", tags.IntValue(-3), []uint16{0xC040, 0x0000}}, // an Int tag on a float
		{"Int16", tags.FloatValue(7), []uint16{7}},               // a Float tag on an integer
		{"UInt64", tags.FloatValue(2), []uint16{0, 0, 0, 2}},
		{"String:6", tags.StringValue("Grün"), []uint16{0x4772, 0xC3BC, 0x6E00}},
		{"String:5", tags.StringValue("abcde"), []uint16{0x6162, 0x6364, 0x6500}},
		{"String:4;BADC", tags.StringValue("abcd"), []uint16{0x6261, 0x6463}},
		{"String:4;CDAB", tags.StringValue("abcd"), []uint16{0x6162, 0x6364}},
		{"String:3", tags.BytesValue([]byte{0, 0xFF, 1}), []uint16{0x00FF, 0x0100}},
	} {
		p := point("HR:100", c.native, c.value.Type())
		dev.set(1, "HR", 100, 0xAAAA, 0xAAAA, 0xAAAA, 0xAAAA)
		require.NoError(t, write(t, d, tags.WriteItem{Point: p, Value: c.value})[0], c.native)
		require.Equal(t, c.registers, dev.get(1, "HR", 100, len(c.registers)), "%s %s", c.native, c.value)
		requireReading(t, c.value, read(t, d, p)[0])
	}
}

func TestDriverOrderIsTheDefault(t *testing.T) {
	dev := startDevice(t)
	dev.set(1, "HR", 0, 0x0304, 0x0102)
	d := connected(t, driver.Options{Address: dev.addr, Order: driver.CDAB})
	requireReading(t, tags.IntValue(0x01020304), read(t, d, point("HR:0", "Int32", tags.Int))[0])
	requireReading(t, tags.IntValue(0x03040102), read(t, d, point("HR:0", "Int32;ABCD", tags.Int))[0])
}

func TestDefaultNativeTypes(t *testing.T) {
	dev := startDevice(t)
	dev.set(1, "HR", 0, 0xBFC0, 0)
	d := connected(t, driver.Options{Address: dev.addr})
	requireReading(t, tags.FloatValue(-1.5), read(t, d, point("HR:0", "", tags.Float))[0])
	requireReading(t, tags.IntValue(0xBFC0-0x10000), read(t, d, point("HR:0", "", tags.Int))[0])
}

func TestValuesThatDoNotFitTheTag(t *testing.T) {
	dev := startDevice(t)
	d := connected(t, driver.Options{Address: dev.addr})
	for _, c := range []struct {
		native    string
		as        tags.DataType
		registers []uint16
	}{
		{"UInt64", tags.Int, []uint16{0x8000, 0, 0, 0}},
		{"Float32", tags.Float, []uint16{0x7FC0, 0}},       // NaN
		{"Float32", tags.Int, []uint16{0xFF80, 0}},         // -Inf
		{"Float64", tags.Float, []uint16{0x7FF0, 0, 0, 0}}, // Inf
		{"Float32", tags.Int, []uint16{0x5F00, 0}},         // 2^63
		{"String:2", tags.String, []uint16{0x61FF}},        // not UTF-8
	} {
		dev.set(1, "HR", 0, c.registers...)
		require.ErrorIs(t, read(t, d, point("HR:0", c.native, c.as))[0].Err, tags.ErrType, c.native)
	}
	dev.set(1, "HR", 0, 0x8000, 0, 0, 0)
	requireReading(t, tags.FloatValue(1<<63), read(t, d, point("HR:0", "UInt64", tags.Float))[0])
	dev.set(1, "HR", 0, 0x41A4, 0) // 20.5
	requireReading(t, tags.IntValue(21), read(t, d, point("HR:0", "Float32", tags.Int))[0])
	dev.set(1, "HR", 0, 0x6100, 0x6262)
	requireReading(t, tags.StringValue("a"), read(t, d, point("HR:0", "String:4", tags.String))[0])
}

func TestValuesThatDoNotFitTheDevice(t *testing.T) {
	dev := startDevice(t)
	d := connected(t, driver.Options{Address: dev.addr})
	for _, c := range []struct {
		native string
		value  tags.Value
	}{
		{"Int16", tags.IntValue(70000)},
		{"Int16", tags.IntValue(32768)},
		{"Int16", tags.IntValue(-32769)},
		{"Int16", tags.FloatValue(32767.6)},
		{"UInt16", tags.IntValue(-1)},
		{"UInt16", tags.FloatValue(-0.6)},
		{"UInt16", tags.IntValue(65536)},
		{"Int32", tags.IntValue(math.MaxInt32 + 1)},
		{"UInt32", tags.IntValue(-1)},
		{"UInt32", tags.IntValue(math.MaxUint32 + 1)},
		{"Int64", tags.FloatValue(1 << 63)},
		{"UInt64", tags.IntValue(-1)},
		{"UInt64", tags.FloatValue(-1)},
		{"Float32", tags.FloatValue(math.MaxFloat64)},
		{"Float32", tags.IntValue(1<<24 + 1)},
		{"Float64", tags.IntValue(1<<53 + 1)},
		{"String:4", tags.StringValue("abcde")},
		{"String:4", tags.StringValue("a\x00b")},
		{"String:4", tags.BytesValue([]byte("abc"))},
	} {
		p := point("HR:0", c.native, c.value.Type())
		require.ErrorIs(t, write(t, d, tags.WriteItem{Point: p, Value: c.value})[0], tags.ErrInvalidValue, "%s %s", c.native, c.value)
	}
	p := point("HR:0", "Int16", tags.Int)
	for _, v := range []tags.Value{tags.StringValue("1"), tags.BoolValue(true), tags.FloatValue(1.5), {}} {
		require.ErrorIs(t, write(t, d, tags.WriteItem{Point: p, Value: v})[0], tags.ErrInvalidValue)
	}
	require.Empty(t, dev.asked(), "what is refused is not sent")
	require.NoError(t, write(t, d, tags.WriteItem{Point: point("HR:0", "Int16", tags.Float), Value: tags.FloatValue(205.00000000000003)})[0])
	require.Equal(t, []uint16{205}, dev.get(1, "HR", 0, 1))
}
