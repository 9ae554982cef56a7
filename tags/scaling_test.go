package tags_test

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
)

func TestScaling(t *testing.T) {
	i, f := tags.IntValue, tags.FloatValue
	for _, c := range []struct {
		name string
		tag  tags.Tag
		raw  tags.Value
		want tags.Value // zero: Bad, TypeMismatch
	}{
		{"as it is", intTag("plc.a"), i(7), i(7)},
		{"scaled int is rounded", intTag("plc.a", scaled(0.1, 0)), i(15), i(2)},
		{"rounded away from zero", intTag("plc.a", scaled(0.1, 0)), i(-15), i(-2)},
		{"scale and offset", intTag("plc.a", ofType(tags.Float), scaled(0.5, -10)), i(7), f(-6.5)},
		{"offset alone", intTag("plc.a", ofType(tags.Float), scaled(0, 2)), f(1), f(3)},
		{"int to float", intTag("plc.a", ofType(tags.Float)), i(7), f(7)},
		{"float to int is rounded", intTag("plc.a"), f(6.5), i(7)},
		{"int beyond 2^53 unscaled", intTag("plc.a"), i(math.MaxInt64), i(math.MaxInt64)},
		{"result beyond int64", intTag("plc.a", scaled(10, 0)), i(math.MaxInt64), tags.Value{}},
		{"result infinite", intTag("plc.a", ofType(tags.Float), scaled(1e300, 0)), f(1e300), tags.Value{}},
		{"not a number", intTag("plc.a", ofType(tags.Float)), f(math.NaN()), tags.Value{}},
		{"bool", intTag("plc.a", ofType(tags.Bool)), tags.BoolValue(true), tags.BoolValue(true)},
		{"bool is not scaled", intTag("plc.a", ofType(tags.Bool), scaled(2, 1)), tags.BoolValue(true), tags.BoolValue(true)},
		{"bool is no int", intTag("plc.a"), tags.BoolValue(true), tags.Value{}},
		{"int is no bool", intTag("plc.a", ofType(tags.Bool)), i(1), tags.Value{}},
		{"text is no int", intTag("plc.a"), tags.StringValue("7"), tags.Value{}},
		{"text", intTag("plc.a", ofType(tags.String), scaled(2, 0)), tags.StringValue("7"), tags.StringValue("7")},
		{"text is not bytes", intTag("plc.a", ofType(tags.Bytes)), tags.StringValue("7"), tags.Value{}},
		{"nothing", intTag("plc.a"), tags.Value{}, tags.Value{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDevice()
				d.has("a", c.raw)
				e := online(t, d, tags.DriverOptions{Tags: []tags.Tag{c.tag}})
				if c.want.IsZero() {
					requireSample(t, e, "plc.a", tags.Value{}, tags.Bad, tags.ReasonType)
				} else {
					requireSample(t, e, "plc.a", c.want, tags.Good, tags.ReasonNone)
				}
			})
		})
	}
}

func TestWritesAreScaledBack(t *testing.T) {
	i, f := tags.IntValue, tags.FloatValue
	for _, c := range []struct {
		name      string
		tag       tags.Tag
		value     tags.Value
		wantOnPLC tags.Value // zero: refused
	}{
		{"inverse", intTag("plc.a", ofType(tags.Float), scaled(0.5, -10)), f(-6.5), f(7)},
		{"int is rounded", intTag("plc.a", scaled(10, 0)), i(55), i(6)},
		{"beyond int64", intTag("plc.a", scaled(1e-3, 0)), i(math.MaxInt64), tags.Value{}},
		{"infinite", intTag("plc.a", ofType(tags.Float), scaled(1e-300, 0)), f(1e300), tags.Value{}},
		{"bool as it is", intTag("plc.a", ofType(tags.Bool), scaled(2, 0)), tags.BoolValue(true), tags.BoolValue(true)},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDevice()
				e := online(t, d, tags.DriverOptions{Tags: []tags.Tag{c.tag}})
				_, err := e.Write(t.Context(), tags.WriteRequest{Tag: "plc.a", Value: c.value})
				synctest.Wait()
				if c.wantOnPLC.IsZero() {
					require.ErrorIs(t, err, tags.ErrInvalidValue)
					require.Empty(t, d.writtenValues())
					return
				}
				require.NoError(t, err)
				require.Equal(t, []tags.Value{c.wantOnPLC}, d.writtenValues())
			})
		})
	}
}

func TestOutOfRangeKeepsTheValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice()
		e := online(t, d, tags.DriverOptions{Tags: []tags.Tag{intTag("plc.a", between(0, 100))}})
		for raw, q := range map[int64]tags.Quality{-1: tags.Uncertain, 0: tags.Good, 100: tags.Good, 101: tags.Uncertain} {
			d.has("a", tags.IntValue(raw))
			after(time.Second)
			reason := tags.ReasonNone
			if q == tags.Uncertain {
				reason = tags.ReasonOutOfRange
			}
			requireSample(t, e, "plc.a", tags.IntValue(raw), q, reason)
		}
	})
}

func TestBadKeepsTheLastValue(t *testing.T) {
	for name, c := range map[string]struct {
		reading tags.Reading
		reason  tags.Reason
	}{
		"device":        {tags.Reading{Err: errDevice}, tags.ReasonDevice},
		"timeout":       {tags.Reading{Err: tags.ErrTimeout}, tags.ReasonTimeout},
		"no address":    {tags.Reading{Err: tags.ErrNoSuchAddress}, tags.ReasonConfig},
		"bad address":   {tags.Reading{Err: tags.ErrAddress}, tags.ReasonConfig},
		"type":          {tags.Reading{Err: tags.ErrType}, tags.ReasonType},
		"connection":    {tags.Reading{Err: tags.ErrNotConnected}, tags.ReasonNotConnected},
		"wrong type":    {tags.Reading{Value: tags.StringValue("x"), Quality: tags.Good}, tags.ReasonType},
		"not filled":    {tags.Reading{}, tags.ReasonDriver},
		"driver says":   {tags.Reading{Value: tags.IntValue(7), Quality: tags.Bad}, tags.ReasonDriver},
		"value ignored": {tags.Reading{Value: tags.IntValue(9), Quality: tags.Good, Err: errDevice}, tags.ReasonDevice},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDevice()
				d.has("a", tags.IntValue(7))
				d.has("b", tags.IntValue(1))
				e := online(t, d, tags.DriverOptions{Tags: []tags.Tag{intTag("plc.a"), intTag("plc.b")}})
				d.set(func(d *device) { d.readings["a"] = c.reading })
				after(time.Second)
				requireSample(t, e, "plc.a", tags.IntValue(7), tags.Bad, c.reason)
				requireSample(t, e, "plc.b", tags.IntValue(1), tags.Good, tags.ReasonNone)
				d.has("a", tags.IntValue(8))
				after(time.Second)
				requireSample(t, e, "plc.a", tags.IntValue(8), tags.Good, tags.ReasonNone)
			})
		})
	}
}

func TestUncertainFromTheDriver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice()
		at := time.Now().Add(-time.Minute)
		d.set(func(d *device) {
			d.readings["a"] = tags.Reading{Value: tags.IntValue(7), Quality: tags.Uncertain, Time: at}
		})
		e := online(t, d, tags.DriverOptions{Tags: []tags.Tag{intTag("plc.a", between(0, 1))}})
		requireSample(t, e, "plc.a", tags.IntValue(7), tags.Uncertain, tags.ReasonDriver)
		s := sampleOf(t, e, "plc.a")
		require.True(t, s.SourceTime.Equal(at))
		require.Less(t, time.Since(s.ServerTime), time.Second)
	})
}
