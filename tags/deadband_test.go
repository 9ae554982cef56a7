package tags_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
)

// reported feeds raw values one after the other and gives what observers were told.
func reported(t *testing.T, tag tags.Tag, values ...tags.Value) (texts []string) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice()
		d.has("a", values[0])
		e := newEngine(t, tags.Options{})
		log := observe(e)
		require.NoError(t, e.AddDriver("plc", d, tags.DriverOptions{Tags: []tags.Tag{tag}}))
		for _, v := range values {
			d.has("a", v)
			after(time.Second)
			require.Equal(t, v.String(), sampleOf(t, e, "plc.a").Value.String(), "the cache has the newest value")
		}
		texts = log.take()
	})
	return texts
}

func floats(list ...float64) (values []tags.Value) {
	for _, f := range list {
		values = append(values, tags.FloatValue(f))
	}
	return values
}

func TestDeadband(t *testing.T) {
	band := func(d tags.Deadband) tags.Tag {
		return intTag("plc.a", ofType(tags.Float), between(0, 200), func(t *tags.Tag) { t.Deadband = d })
	}
	t.Run("none reports every change once", func(t *testing.T) {
		require.Equal(t, []string{"plc.a 1 Good", "plc.a 1.01 Good"}, reported(t, band(tags.Deadband{}), floats(1, 1, 1.01, 1.01)...))
	})
	t.Run("absolute is measured from the last report", func(t *testing.T) {
		require.Equal(t, []string{"plc.a 10 Good", "plc.a 12 Good", "plc.a 10 Good"},
			reported(t, band(tags.Deadband{Absolute: 2}), floats(10, 11, 11.9, 12, 13.5, 10.5, 10)...))
	})
	t.Run("percent of the span", func(t *testing.T) {
		require.Equal(t, []string{"plc.a 10 Good", "plc.a 12 Good"},
			reported(t, band(tags.Deadband{Percent: 1}), floats(10, 11.9, 12, 12.5)...))
	})
	t.Run("either is enough", func(t *testing.T) {
		require.Equal(t, []string{"plc.a 10 Good", "plc.a 11 Good"},
			reported(t, band(tags.Deadband{Percent: 50, Absolute: 1}), floats(10, 11, 11.5)...))
	})
	t.Run("a change of quality is reported", func(t *testing.T) {
		require.Equal(t, []string{"plc.a 200 Good", "plc.a 200.5 Uncertain OutOfRange", "plc.a 200 Good"},
			reported(t, band(tags.Deadband{Absolute: 5}), floats(200, 200.5, 200)...))
	})
	t.Run("heartbeat", func(t *testing.T) {
		require.Equal(t, []string{"plc.a 1 Good", "plc.a 1 Good", "plc.a 2 Good"},
			reported(t, band(tags.Deadband{Absolute: 5, Heartbeat: 3 * time.Second}), floats(1, 1, 1, 1, 2, 2, 2)...))
	})
	t.Run("a deadband of zero width around a flat span", func(t *testing.T) {
		flat := intTag("plc.a", ofType(tags.Float), between(5, 5), func(t *tags.Tag) { t.Deadband.Percent = 1 })
		require.Equal(t, []string{"plc.a 5 Good"}, reported(t, flat, floats(5, 5)...))
	})
	t.Run("texts and switches have no distance", func(t *testing.T) {
		text := intTag("plc.a", ofType(tags.String), func(t *tags.Tag) { t.Deadband.Absolute = 100 })
		require.Equal(t, []string{"plc.a a Good", "plc.a b Good"}, reported(t, text, tags.StringValue("a"), tags.StringValue("b"), tags.StringValue("b")))
		flag := intTag("plc.a", ofType(tags.Bool), func(t *tags.Tag) { t.Deadband.Absolute = 100 })
		require.Equal(t, []string{"plc.a false Good", "plc.a true Good"}, reported(t, flag, tags.BoolValue(false), tags.BoolValue(true)))
	})
}

func TestBadIsReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice()
		e := online(t, d, tags.DriverOptions{Tags: []tags.Tag{intTag("plc.a", func(t *tags.Tag) { t.Deadband.Heartbeat = time.Second })}})
		log := observe(e)
		d.set(func(d *device) { d.readings["a"] = tags.Reading{Err: errDevice} })
		after(5 * time.Second)
		require.Equal(t, []string{"plc.a 0 Bad DeviceError"}, log.take())
		d.set(func(d *device) { d.readings["a"] = tags.Reading{Err: tags.ErrTimeout} })
		after(5 * time.Second)
		require.Equal(t, []string{"plc.a 0 Bad Timeout"}, log.take())
	})
}
