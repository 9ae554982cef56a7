package modbus_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
	driver "github.com/otkit/otkit/tags/modbus"
	"github.com/otkit/otkit/tags/tagstest"
)

func TestConformance(t *testing.T) {
	var devices sync.Map // *device by tags.Driver
	of := func(d tags.Driver) *device {
		dev, _ := devices.Load(d)
		return dev.(*device)
	}
	number := func(address, native string, v tags.Value) tags.WriteItem {
		return tags.WriteItem{Point: point(address, native, v.Type()), Value: v}
	}
	tagstest.TestDriver(t, tagstest.DriverHarness{
		New: func(t testing.TB) tags.Driver {
			dev := startDevice(t)
			dev.missing["1/HR:500"] = true
			d, err := driver.New(driver.Options{Address: dev.addr, Timeout: 3 * time.Second})
			require.NoError(t, err)
			devices.Store(d, dev)
			return d
		},
		Readable: []tags.Point{
			point("IR:0", "", tags.Int), point("HR:499", "", tags.Int), point("HR:501", "Float32", tags.Float),
			point("DI:3", "", tags.Bool), point("HR:501.3", "", tags.Bool), point("2/IR:3", "String:7", tags.String),
		},
		Writable: []tags.WriteItem{
			number("HR:1", "", tags.IntValue(-5)), number("HR:1", "", tags.IntValue(6)),
			number("HR:2", "Float32;CDAB", tags.FloatValue(1.5)), number("CO:1", "", tags.BoolValue(true)),
			number("CO:1", "", tags.BoolValue(false)), number("HR:4.7", "", tags.BoolValue(true)),
			number("3/HR:10", "String:9", tags.StringValue("otkit")), number("HR:20", "String:2", tags.BytesValue([]byte{1, 2})),
		},
		Refused: []tags.WriteItem{
			number("IR:0", "", tags.IntValue(1)), number("HR:1", "", tags.IntValue(70000)),
			number("HR:500", "", tags.IntValue(1)),
		},
		Missing:    point("HR:500", "", tags.Int),
		Malformed:  point("DB1.DBW0", "", tags.Int),
		Disconnect: func(t testing.TB, d tags.Driver) { of(d).stop(t) },
		Reconnect:  func(t testing.TB, d tags.Driver) { of(d).start(t) },
		Stall:      func(_ testing.TB, d tags.Driver) { of(d).freeze() },
		Resume:     func(_ testing.TB, d tags.Driver) { of(d).thaw() },
	})
}
