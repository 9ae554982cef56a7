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
		{"tenths stay tenths", intTag("plc.a", ofType(tags.Float), scaled(0.1, 0)), i(569), f(56.9)},
		{"offset alone", intTag("plc.a", ofType(tags.Float), scaled(0, 2)), f(1), f(3)},
		{"int to float", intTag("plc.a", ofType(tags.Float)), i(7), f(7)},
		{"float to int is rounded", intTag("plc.a"), f(6.5), i(7)},
		{"int beyond 2^53 unscaled", intTag("plc.a"), i(math.MaxInt64), i(math.MaxInt64)},
		{"int beyond 2^53 by a whole scale and offset", intTag("plc.a", scaled(2, 1)), i(1<<60 + 1), i(1<<61 + 3)},
		{"int beyond 2^53 by an offset alone", intTag("plc.a", scaled(0, -1)), i(math.MaxInt64), i(math.MaxInt64 - 1)},
		{"int beyond 2^53 by a fraction", intTag("plc.a", scaled(0.5, 0)), i(1<<60 + 2), i(1 << 59)},
		{"result beyond int64", intTag("plc.a", scaled(10, 0)), i(math.MaxInt64), tags.Value{}},
		{"result beyond int64 by the sign", intTag("plc.a", scaled(-1, 0)), i(math.MinInt64), tags.Value{}},
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
		{"int that is a multiple", intTag("plc.a", scaled(10, 0)), i(50), i(5)},
		{"int between two multiples", intTag("plc.a", scaled(10, 0)), i(55), tags.Value{}},
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
		"driver lies":   {tags.Reading{Value: tags.IntValue(7), Quality: tags.Bad, Reason: tags.ReasonRemoved}, tags.ReasonDriver},
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

// coarse is a driver whose device keeps whole numbers, in 16 bits.
type coarse struct{ *device }

func (coarse) Round(p tags.Point, v tags.Value) (tags.Value, error) {
	switch f, _ := v.Float(); {
	case p.Address == "panic":
		panic("a defect in the driver")
	case p.Address == "odd":
		return tags.Value{}, errDevice
	case math.Abs(f) > math.MaxInt16:
		return tags.Value{}, tags.ErrInvalidValue.Because("%s does not fit", v)
	case p.Type == tags.Float:
		return tags.FloatValue(math.Round(f)), nil
	}
	return v, nil
}

func TestAWriteIsCheckedByWhatTheDeviceWillHold(t *testing.T) {
	i, f := tags.IntValue, tags.FloatValue
	float := func(name string, scale, limit float64) tags.Tag {
		return intTag(name, ofType(tags.Float), scaled(scale, 0), between(-limit, limit))
	}
	for _, c := range []struct {
		name      string
		tag       tags.Tag
		value     tags.Value
		wantOnPLC tags.Value // zero: refused
		text      string
	}{
		{"rounded into the limits", float("plc.a", 0.1, 25.05), f(25.04), f(250), ""},
		{"rounded out of the limits", float("plc.a", 0.1, 25.05), f(25.05), tags.Value{}, "would hold 25.1, which is outside -25.05..25.05"},
		{"int scaled out of the limits", intTag("plc.a", scaled(10, 0), between(0, 95)), i(95), tags.Value{}, "would hold 100"},
		{"int between what it can hold", intTag("plc.a", scaled(10, 0), between(0, 100)), i(94), tags.Value{}, "cannot hold 94 exactly; the nearest is 90"},
		{"int that it can hold", intTag("plc.a", scaled(10, 3), between(0, 100)), i(93), i(9), ""},
		{"too large for the device", intTag("plc.a"), i(40_000), tags.Value{}, "does not fit"},
		{"error of another kind", intTag("plc.odd"), i(1), tags.Value{}, "the device cannot hold it"},
		{"panic", intTag("plc.panic"), i(1), tags.Value{}, "the device cannot hold it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := coarse{newDevice()}
				e := online(t, d, tags.DriverOptions{Tags: []tags.Tag{c.tag}})
				w, err := e.Write(t.Context(), tags.WriteRequest{Tag: c.tag.Name, Value: c.value, Confirm: true})
				synctest.Wait()
				if c.wantOnPLC.IsZero() {
					require.ErrorIs(t, err, tags.ErrInvalidValue)
					require.ErrorContains(t, err, c.text)
					require.Empty(t, d.writtenValues())
					return
				}
				require.NoError(t, err)
				require.Equal(t, []tags.Value{c.wantOnPLC}, d.writtenValues())
				require.Equal(t, c.value, requireOutcome(t, e, w, tags.WriteConfirmed).Value, "the log has what was asked for")
			})
		})
	}
}

// A 32-bit register holds 0.1 as a little more than 0.1.
func TestALimitIsInsideAsFarAsTheDeviceCanTell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice()
		e := online(t, d, tags.DriverOptions{Tags: []tags.Tag{
			intTag("plc.a", ofType(tags.Float), between(-0.1, 0.1)), intTag("plc.i", between(0, 1<<24)),
		}})
		for v, q := range map[float64]tags.Quality{
			float64(float32(0.1)): tags.Good, -float64(float32(0.1)): tags.Good, 0.1: tags.Good, 0.05: tags.Good,
			0.1001: tags.Uncertain, float64(math.Nextafter32(0.1, 1)): tags.Uncertain, -0.1001: tags.Uncertain,
		} {
			d.has("a", tags.FloatValue(v))
			after(time.Second)
			require.Equal(t, q, sampleOf(t, e, "plc.a").Quality, "%g", v)
			_, err := e.Write(t.Context(), tags.WriteRequest{Tag: "plc.a", Value: tags.FloatValue(v)})
			require.Equal(t, q == tags.Good, err == nil, "%g %v", v, err)
			synctest.Wait()
		}
		d.has("i", tags.IntValue(1<<24+1))
		after(time.Second)
		require.Equal(t, tags.Uncertain, sampleOf(t, e, "plc.i").Quality, "a whole number is compared exactly")
	})
}
