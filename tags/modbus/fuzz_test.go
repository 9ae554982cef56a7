package modbus_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/driverconfig"
	driver "github.com/otkit/otkit/tags/modbus"
)

// What ValidatePoint takes can be read: the device has all addresses, so there is a value or ErrType.
func FuzzPoint(f *testing.F) {
	for _, a := range []string{"40001", "465536", "3/HR:10", "HR:10.3", "DI:5", "000001", "0/IR:65535", "IR:1.99", "//", ":."} {
		f.Add(a, "", "Int")
	}
	f.Add("HR:0", "String:16;BADC", "String")
	f.Add("HR:65533", "UInt64;DCBA", "Float")
	f.Add("CO:0", "Bool", "Bool")
	dev := startDevice(f)
	d := connected(f, driver.Options{Address: dev.addr})
	f.Fuzz(func(t *testing.T, address, native, as string) {
		p := point(address, native, tags.DataType(as))
		err := d.ValidatePoint(p)
		r := read(t, d, p)[0]
		if err != nil {
			require.ErrorIs(t, err, tags.ErrAddress)
			require.Equal(t, err.Error(), r.Err.Error())
			return
		}
		if r.Err != nil {
			require.ErrorIs(t, r.Err, tags.ErrType)
			return
		}
		require.Equal(t, p.Type, r.Value.Type())
	})
}

// Whatever a device sends, a reading is an error or the value of a whole answer to this request.
func FuzzResponse(f *testing.F) {
	whole := []byte{0, 1, 0, 0, 0, 5, 1, 3, 2, 0x12, 0x34}
	f.Add(whole, false)
	f.Add(append([]byte{0, 9, 0, 0, 0, 2, 1, 3}, whole...), false)
	f.Add(whole[:9], false)
	f.Add([]byte{0, 1, 0, 0, 0, 3, 1, 0x83, 2}, false)
	f.Add([]byte{0, 1, 0, 0, 0, 0, 1, 3}, false)
	f.Add(withCRC(1, 3, 2, 0x12, 0x34), true)
	f.Add(withCRC(1, 0x83, 2), true)
	f.Add([]byte{1, 3, 255, 0, 0}, true)
	var mu sync.Mutex
	var answer []byte
	s := startScripted(f, func([]byte) []byte {
		mu.Lock()
		defer mu.Unlock()
		return answer
	})
	s.once.Store(true)
	drivers := map[bool]*driver.Driver{
		false: connected(f, driver.Options{Address: s.addr, Timeout: 100 * time.Millisecond}),
		true:  connected(f, driver.Options{Address: s.addr, Timeout: 100 * time.Millisecond, Protocol: driver.RTUOverTCP}),
	}
	f.Fuzz(func(t *testing.T, response []byte, serial bool) {
		d := drivers[serial]
		require.NoError(t, d.Connect(t.Context()))
		mu.Lock()
		answer = append([]byte{}, response...)
		mu.Unlock()
		out := make([]tags.Reading, 1)
		if err := d.Read(t.Context(), ints("HR:0"), out); err != nil {
			require.ErrorIs(t, err, tags.ErrNotConnected)
			return
		}
		if out[0].Err == nil {
			value := uint16(out[0].Value.Int())
			frame := string([]byte{0, 1, 0, 0, 0, 5, 1, 3, 2, byte(value >> 8), byte(value)})
			if serial {
				frame = string(withCRC(1, 3, 2, byte(value>>8), byte(value)))
			}
			require.Contains(t, string(response), frame)
		}
	})
}

// Settings that are taken give tags that the driver understands; others name what is wrong.
func FuzzSettings(f *testing.F) {
	f.Add(`{"Protocol": "TCP", "SlaveId": 1, "PollIntervalMs": 1000, "Tags": [{"Name": "a", "Address": "40001", "Type": "Int16"}]}`)
	f.Add(`{"Tags": [{"Name": "a", "Address": "HR:1.4", "Type": "Bool", "AccessMode": "ReadWrite"}]}`)
	f.Add(`{"Tags": [{"Name": "a", "Address": "IR:1", "Type": "String:9", "ByteOrder": "LittleEndian"}]}`)
	f.Add(`{"ByteOrder": "ABCD", "WordOrder": "x", "MaxGap": -5}`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, raw string) {
		if strings.Contains(strings.ToLower(raw), "file") {
			return // no reading of whatever files the fuzzer makes up
		}
		d, list, err := driver.FromSettings(driverconfig.Settings{ID: "plc", IPAddress: "10.0.0.1", Settings: json.RawMessage(raw)}, nil)
		if err != nil {
			e, ok := fault.From(err)
			require.True(t, ok)
			require.NotEmpty(t, e.Fields)
			for _, field := range e.Fields {
				require.True(t, strings.HasPrefix(field.Field, "Settings"), field.Field)
			}
			return
		}
		for _, tag := range list {
			require.NoError(t, tag.Validate())
			require.NoError(t, d.(tags.PointValidator).ValidatePoint(tags.Point{Address: tag.Address, NativeType: tag.NativeType, Type: tag.DataType}))
		}
	})
}
