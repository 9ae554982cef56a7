package modbus_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
	driver "github.com/otkit/otkit/tags/modbus"
)

func TestWritesAreOneRequestEach(t *testing.T) {
	dev := startDevice(t)
	d := connected(t, driver.Options{Address: dev.addr})
	for _, err := range write(t, d,
		tags.WriteItem{Point: point("CO:5", "", tags.Bool), Value: tags.BoolValue(true)},
		tags.WriteItem{Point: point("40011", "", tags.Int), Value: tags.IntValue(-1)},
		tags.WriteItem{Point: point("2/HR:20", "Float64", tags.Float), Value: tags.FloatValue(0.5)},
		tags.WriteItem{Point: point("HR:30", "String:5", tags.String), Value: tags.StringValue("abc")},
		tags.WriteItem{Point: point("HR:10", "", tags.Int), Value: tags.IntValue(2)},
	) {
		require.NoError(t, err)
	}
	require.Equal(t, []string{
		"write 1/CO:5+1", "write 1/HR:10+1", "write 2/HR:20+4", "write 1/HR:30+3", "write 1/HR:10+1",
	}, dev.asked())
	require.Equal(t, []uint16{1}, dev.get(1, "CO", 5, 1))
	require.Equal(t, []uint16{2}, dev.get(1, "HR", 10, 1))
	require.Equal(t, []uint16{0x3FE0, 0, 0, 0}, dev.get(2, "HR", 20, 4))
	require.Equal(t, []uint16{0x6162, 0x6300, 0}, dev.get(1, "HR", 30, 3))
}

func TestWritingABitKeepsTheOthers(t *testing.T) {
	dev := startDevice(t)
	dev.set(1, "HR", 7, 0xF00F)
	d := connected(t, driver.Options{Address: dev.addr})
	for _, c := range []struct {
		address, native string
		set             bool
		want            uint16
	}{
		{"HR:7.4", "", true, 0xF01F},
		{"HR:7.15", "", false, 0x701F},
		{"HR:7.15", "", false, 0x701F},
		{"40008.0", "Bool;BADC", true, 0x711F}, // bit 0 of the swapped register
	} {
		item := tags.WriteItem{Point: point(c.address, c.native, tags.Bool), Value: tags.BoolValue(c.set)}
		require.NoError(t, write(t, d, item)[0])
		require.Equal(t, []uint16{c.want}, dev.get(1, "HR", 7, 1))
		requireReading(t, item.Value, read(t, d, item.Point)[0])
	}
}

func TestWritesThatAreRefusedDoNotSpoilTheOthers(t *testing.T) {
	dev := startDevice(t)
	dev.missing["1/HR:9"] = true
	d := connected(t, driver.Options{Address: dev.addr})
	number := func(address string, v int64) tags.WriteItem {
		return tags.WriteItem{Point: point(address, "", tags.Int), Value: tags.IntValue(v)}
	}
	errs := write(t, d,
		number("HR:0", 1), number("IR:0", 1), number("HR:9", 1), number("HR:1", 70000), number("bad", 1),
		tags.WriteItem{Point: point("DI:0", "", tags.Bool), Value: tags.BoolValue(true)},
		tags.WriteItem{Point: point("HR:0", "String:250", tags.String), Value: tags.StringValue("")},
		number("HR:2", 3))
	require.NoError(t, errs[0])
	require.ErrorIs(t, errs[1], tags.ErrReadOnly)
	require.ErrorIs(t, errs[2], tags.ErrNoSuchAddress)
	require.ErrorIs(t, errs[3], tags.ErrInvalidValue)
	require.ErrorIs(t, errs[4], tags.ErrAddress)
	require.ErrorIs(t, errs[5], tags.ErrReadOnly)
	require.ErrorIs(t, errs[6], tags.ErrAddress)
	require.NoError(t, errs[7])
	require.Equal(t, []uint16{1, 0, 3}, dev.get(1, "HR", 0, 3))
}
