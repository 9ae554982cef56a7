package modbus_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/simonvetter/modbus"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
	driver "github.com/otkit/otkit/tags/modbus"
)

func ints(addresses ...string) []tags.Point {
	points := make([]tags.Point, len(addresses))
	for i, a := range addresses {
		points[i] = point(a, "", tags.Int)
	}
	return points
}

func TestNeighboursAreReadTogether(t *testing.T) {
	dev := startDevice(t)
	for name, c := range map[string]struct {
		gap    int
		points []tags.Point
		asked  []string
	}{
		"neighbours in any order": {0, ints("HR:2", "HR:0", "HR:1", "HR:0"), []string{"read 1/HR:0+3"}},
		"over the default gap":    {0, ints("HR:0", "HR:9"), []string{"read 1/HR:0+10"}},
		"not over a wider one":    {0, ints("HR:0", "HR:10"), []string{"read 1/HR:0+1", "read 1/HR:10+1"}},
		"over a set gap":          {20, ints("HR:0", "HR:21"), []string{"read 1/HR:0+22"}},
		"without a gap":           {-1, ints("HR:0", "HR:1", "HR:3"), []string{"read 1/HR:0+2", "read 1/HR:3+1"}},
		"tables apart":            {0, ints("HR:0", "IR:1"), []string{"read 1/IR:1+1", "read 1/HR:0+1"}},
		"units apart":             {0, ints("2/HR:0", "1/HR:1", "HR:2"), []string{"read 1/HR:1+2", "read 2/HR:0+1"}},
		"overlapping": {0, []tags.Point{
			point("HR:1", "", tags.Int), point("HR:0", "Int64", tags.Int), point("HR:2", "Float32", tags.Float),
			point("HR:3.4", "", tags.Bool), point("HR:4", "String:3", tags.String),
		}, []string{"read 1/HR:0+6"}},
		"at most 125": {0, []tags.Point{
			point("HR:0", "String:200", tags.String), point("HR:100", "String:50", tags.String), point("HR:125", "", tags.Int),
		}, []string{"read 1/HR:0+125", "read 1/HR:125+1"}},
		"never past the end": {0, ints("HR:65535", "HR:65530"), []string{"read 1/HR:65530+6"}},
		"bits": {0, []tags.Point{
			point("CO:0", "", tags.Bool), point("CO:129", "", tags.Bool), point("CO:259", "", tags.Bool),
		}, []string{"read 1/CO:0+130", "read 1/CO:259+1"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := connected(t, driver.Options{Address: dev.addr, MaxGap: c.gap})
			dev.asked()
			for range 2 { // the second time from the kept plan
				for i, r := range read(t, d, c.points...) {
					require.NoError(t, r.Err, c.points[i].Address)
				}
				require.Equal(t, c.asked, dev.asked())
			}
		})
	}
}

func TestLongStretchesOfBits(t *testing.T) {
	dev := startDevice(t)
	d := connected(t, driver.Options{Address: dev.addr})
	points := make([]tags.Point, 2001)
	for i := range points {
		points[i] = point(fmt.Sprintf("DI:%d", i), "", tags.Bool)
		if i%7 == 3 {
			dev.set(1, "DI", i, 1)
		}
	}
	for i, r := range read(t, d, points...) {
		requireReading(t, tags.BoolValue(i%7 == 3), r)
	}
	require.Equal(t, []string{"read 1/DI:0+2000", "read 1/DI:2000+1"}, dev.asked())
}

// The readings stand in the place of their points, whatever the order and however the runs fall.
func TestRandomPointsAgreeWithTheDevice(t *testing.T) {
	dev := startDevice(t)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 1000 {
		dev.set(1, "HR", i, uint16(random.Uint32()))
		if random.IntN(20) == 0 {
			dev.missing[place(1, "HR", i)] = true
		}
	}
	d := connected(t, driver.Options{Address: dev.addr})
	for range 3 {
		points := make([]tags.Point, 300)
		for i := range points {
			points[i] = point(fmt.Sprintf("HR:%d", random.IntN(990)), []string{"UInt16", "UInt32", "Int64"}[random.IntN(3)], tags.Int)
		}
		for range 10 { // one Read does not find all that is missing
			read(t, d, points...)
		}
		for round := range 3 {
			for i, r := range read(t, d, points...) {
				var at int
				_, err := fmt.Sscanf(points[i].Address, "HR:%d", &at)
				require.NoError(t, err)
				width := map[string]int{"UInt16": 1, "UInt32": 2, "Int64": 4}[points[i].NativeType]
				want, absent := int64(0), false
				for k, register := range dev.get(1, "HR", at, width) {
					want = want<<16 | int64(register)
					absent = absent || dev.missing[place(1, "HR", at+k)]
				}
				if absent {
					require.ErrorIs(t, r.Err, tags.ErrNoSuchAddress, "%v in round %d", points[i], round)
				} else {
					requireReading(t, tags.IntValue(want), r)
				}
			}
		}
	}
}

func TestAMissingAddressIsReadAloneFromThenOn(t *testing.T) {
	dev := startDevice(t)
	dev.missing["1/HR:3"] = true
	d := connected(t, driver.Options{Address: dev.addr})
	points := ints("HR:0", "HR:1", "HR:2", "HR:3", "HR:4", "HR:5", "HR:6", "HR:7")
	for round := range 3 {
		for i, r := range read(t, d, points...) {
			if i == 3 {
				require.ErrorIs(t, r.Err, tags.ErrNoSuchAddress)
				require.ErrorContains(t, r.Err, "illegal data address")
			} else {
				requireReading(t, tags.IntValue(0), r)
			}
		}
		if asked := dev.asked(); round > 0 {
			require.Equal(t, []string{"read 1/HR:0+3", "read 1/HR:3+1", "read 1/HR:4+4"}, asked)
		}
	}

	dev.change(func(d *device) { delete(d.missing, "1/HR:3") })
	requireReading(t, tags.IntValue(0), read(t, d, points...)[3])
	dev.asked()
	read(t, d, points...)
	require.Equal(t, []string{"read 1/HR:0+8"}, dev.asked(), "joined again once the device has the address")
}

func TestAHoleInAGapIsRemembered(t *testing.T) {
	dev := startDevice(t)
	dev.missing["1/HR:2"] = true
	d := connected(t, driver.Options{Address: dev.addr})
	points := ints("HR:0", "HR:1", "HR:4", "HR:5")
	for _, asked := range [][]string{
		{"read 1/HR:0+6", "read 1/HR:0+2", "read 1/HR:4+2"},
		{"read 1/HR:0+2", "read 1/HR:4+2"},
		{"read 1/HR:0+2", "read 1/HR:4+2"},
	} {
		for _, r := range read(t, d, points...) {
			requireReading(t, tags.IntValue(0), r)
		}
		require.Equal(t, asked, dev.asked())
	}
	require.NoError(t, d.Connect(t.Context()))
	read(t, d, points...)
	require.Len(t, dev.asked(), 3, "a new connection begins anew, as the device may have changed")
}

func TestADeviceThatRefusesLongRuns(t *testing.T) {
	dev := startDevice(t)
	dev.longest = 32
	d := connected(t, driver.Options{Address: dev.addr})
	points := make([]tags.Point, 120)
	for i := range points {
		points[i] = point(fmt.Sprintf("IR:%d", i), "", tags.Int)
	}
	for round := range 3 {
		for _, r := range read(t, d, points...) {
			require.NoError(t, r.Err)
		}
		if asked := dev.asked(); round > 0 {
			require.Len(t, asked, 4)
		}
	}
}

func TestExceptionsAreErrorsOfTheDevice(t *testing.T) {
	dev := startDevice(t)
	d := connected(t, driver.Options{Address: dev.addr})
	for _, exception := range []modbus.Error{
		modbus.ErrIllegalFunction, modbus.ErrIllegalDataValue, modbus.ErrServerDeviceFailure,
		modbus.ErrAcknowledge, modbus.ErrServerDeviceBusy, modbus.ErrMemoryParityError, modbus.ErrGWPathUnavailable,
	} {
		dev.change(func(d *device) { d.refuse = exception })
		for _, r := range read(t, d, ints("HR:0", "HR:1")...) {
			require.ErrorIs(t, r.Err, tags.ErrDevice)
			require.ErrorContains(t, r.Err, string(exception))
		}
		err := write(t, d, tags.WriteItem{Point: point("HR:0", "", tags.Int), Value: tags.IntValue(1)})[0]
		require.ErrorIs(t, err, tags.ErrDevice)
		require.ErrorContains(t, err, string(exception))
	}
	dev.change(func(d *device) { d.refuse = nil })
	requireReading(t, tags.IntValue(0), read(t, d, ints("HR:0")...)[0])
	dev.asked()
	read(t, d, ints("HR:0", "HR:1")...)
	read(t, d, ints("HR:0", "HR:1")...)
	require.Equal(t, []string{"read 1/HR:0+2", "read 1/HR:0+2"}, dev.asked(), "a device that refused everything for a while is read in runs again")
}
