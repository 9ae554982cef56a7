package passive_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/driverconfig"
	"github.com/otkit/otkit/tags/passive"
	"github.com/otkit/otkit/tags/tagstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newDriver(t testing.TB, list ...passive.Tag) *passive.Driver {
	t.Helper()
	d, err := passive.New(passive.Options{Tags: list})
	require.NoError(t, err)
	return d
}

func sensors() []passive.Tag {
	return []passive.Tag{{Name: "on", Type: "Bool"}, {Name: "count", Address: "c/1", Type: "uint16"}, {Name: "level", Type: "Float"},
		{Name: "batch", Type: "String:4"}, {Name: "image", Type: "Bytes"}}
}

// fill pushes a value for each of the sensors, as if an engine had been there.
func fill(t testing.TB, d *passive.Driver) {
	t.Helper()
	require.NoError(t, d.Connect(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = d.Subscribe(ctx, nil, func(int, tags.Reading) {}) })
	require.NoError(t, d.Push(t.Context(), []passive.Item{{Name: "on", Value: true}, {Address: "c/1", Value: 7}, {Name: "level", Value: 1.5},
		{Name: "batch", Value: "A7"}, {Name: "image", Value: "AQI="}}))
	cancel()
	wg.Wait()
	require.NoError(t, d.Close())
}

func TestConformance(t *testing.T) {
	point := func(address string, kind tags.DataType) tags.Point { return tags.Point{Address: address, Type: kind} }
	tagstest.TestDriver(t, tagstest.DriverHarness{
		New: func(t testing.TB) tags.Driver {
			d := newDriver(t, sensors()...)
			fill(t, d)
			return d
		},
		Readable: []tags.Point{point("on", tags.Bool), point("c/1", tags.Int), point("c/1", tags.Float), point("level", tags.Float),
			point("batch", tags.String), point("image", tags.Bytes)},
		Refused:   []tags.WriteItem{{Point: point("level", tags.Float), Value: tags.FloatValue(1)}},
		Missing:   point("none", tags.Float),
		Malformed: point("none", tags.Float),
	})
}

// running makes an engine with a driver plc of the sensors. It is for synctest bubbles.
func running(t *testing.T, list ...tags.Tag) (*tags.Engine, *passive.Driver, func() []string) {
	t.Helper()
	d, known, err := passive.FromSettings(driverconfig.Settings{ID: "plc", Type: "Passive", Settings: json.RawMessage(`{"Tags": [
		{"Name": "on", "Type": "Bool"}, {"Name": "count", "Address": "c/1", "Type": "UInt16"},
		{"Name": "level", "Type": "Float", "Unit": "mm", "MaxValue": 100, "ScalingFactor": 2, "StaleAfterMs": 10000},
		{"Name": "ever", "Type": "Int", "StaleAfterMs": -1}]}`)}, nil)
	require.NoError(t, err)
	e, err := tags.New(tags.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close(context.Background())) })
	var mu sync.Mutex
	var texts []string
	e.Observe(func(changes []tags.Change) {
		mu.Lock()
		defer mu.Unlock()
		for _, c := range changes {
			text := fmt.Sprint(c.Tag.Name, " ", c.Value, " ", c.Quality, " ", c.Reason)
			if c.Late {
				text += " late"
			}
			texts = append(texts, strings.Join(strings.Fields(text), " "))
		}
	})
	require.NoError(t, e.AddDriver("plc", d, tags.DriverOptions{Tags: append(known, list...)}))
	return e, d.(*passive.Driver), func() []string {
		mu.Lock()
		defer mu.Unlock()
		was := texts
		texts = nil
		return was
	}
}

func TestPushedValuesAreInTheEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, d, changes := running(t)
		require.True(t, d.LastData().IsZero())
		now := time.Now()
		uncertain, bad := tags.Uncertain, tags.Bad
		require.NoError(t, d.Push(t.Context(), []passive.Item{{Name: "level", Value: json.Number("21.5")}, {Name: "count", Value: 65535.0, Quality: &uncertain},
			{Address: "level", Value: 60}, {Name: "on", Value: false}, {Name: "on", Quality: &bad, Time: now.Add(1)}}))
		require.Equal(t, []string{"plc.level 43 Good", "plc.count 65535 Uncertain DriverReported", "plc.level 120 Uncertain OutOfRange",
			"plc.on false Good", "plc.on false Bad DriverReported"}, changes(), "when Push returns, the engine has them")
		require.Equal(t, now, d.LastData())
		require.Equal(t, "mm", mustRead(t, e, "plc.level").Tag.Unit)
	})
}

func mustRead(t *testing.T, e *tags.Engine, name string) tags.Snapshot {
	t.Helper()
	s, err := e.Read(name)
	require.NoError(t, err)
	return s
}

func TestOlderItemsAreHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, d, changes := running(t)
		now := time.Now()
		push := func(v int, at time.Time) {
			require.NoError(t, d.Push(t.Context(), []passive.Item{{Name: "count", Value: v, Time: at}}))
		}
		push(3, now)
		push(1, now.Add(-time.Hour))
		push(2, now.Add(-time.Minute))
		push(4, now.Add(10*time.Minute)) // the sender's clock is ahead
		push(5, now.Add(1))              // and is set
		require.Equal(t, []string{"plc.count 3 Good", "plc.count 1 Good late", "plc.count 2 Good late", "plc.count 4 Good", "plc.count 5 Good"}, changes())
	})
}

func TestTagsWithoutNewValuesAreStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, d, changes := running(t)
		require.NoError(t, d.Push(t.Context(), []passive.Item{{Name: "level", Value: 1}, {Name: "count", Value: 1}, {Name: "ever", Value: 1}}))
		changes()
		time.Sleep(time.Hour)
		require.Equal(t, []string{"plc.level 2 Uncertain Stale", "plc.level 2 Bad Stale", "plc.count 1 Uncertain Stale", "plc.count 1 Bad Stale"}, changes())
		require.Zero(t, e.Drivers()[0].Reads)

		more := mustRead(t, e, "plc.ever").Tag
		again := *more
		again.Name = "plc.again"
		stale := *mustRead(t, e, "plc.level").Tag
		stale.Name = "plc.stale"
		require.NoError(t, e.DefineTags(again, stale))
		time.Sleep(time.Second)
		require.ElementsMatch(t, []string{"plc.again 1 Good", "plc.stale 2 Bad Stale"}, changes(), "a tag that is defined later has what came before")
	})
}

func TestPushRefuses(t *testing.T) {
	d := newDriver(t, sensors()...)
	fill(t, d)
	require.NoError(t, d.Connect(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	emitted := 0
	wg.Go(func() {
		_ = d.Subscribe(ctx, []tags.Point{{Address: "on", Type: tags.Bool}}, func(int, tags.Reading) { emitted++ })
	})
	now := time.Now()
	quality := tags.Quality(9)
	good := passive.Item{Name: "on", Value: true}
	for want, item := range map[string]passive.Item{
		`[1].name: is required unless there is an address`:                                                    {Value: 1},
		`[1].address: must not be given beside name`:                                                          {Name: "on", Address: "on", Value: true},
		`[1].name: "none" is not a tag of the driver`:                                                         {Name: "none", Value: 1},
		`[1].address: "count" is not a tag of the driver`:                                                     {Address: "count", Value: 1},
		`[1].value: is required`:                                                                              {Name: "on"},
		`[1].value: must be true or false, not a number`:                                                      {Name: "on", Value: 1},
		`[1].value: must be true or false, not a string`:                                                      {Name: "on", Value: "true"},
		`[1].value: must be a number, not a boolean`:                                                          {Name: "level", Value: true},
		`[1].value: must be a number, not a list`:                                                             {Name: "level", Value: []any{1}},
		`[1].value: must be a number, not an object`:                                                          {Name: "level", Value: map[string]any{}},
		`[1].value: must be a number, not a String`:                                                           {Name: "level", Value: tags.StringValue("1")},
		`[1].value: NaN is not a finite number`:                                                               {Name: "level", Value: math.NaN()},
		`[1].value: +Inf is not a finite number`:                                                              {Name: "level", Value: math.Inf(1)},
		`[1].value: "1e999" is not a number of 64 bits`:                                                       {Name: "level", Value: json.Number("1e999")},
		`[1].value: 65536 is not 0 to 65535`:                                                                  {Name: "count", Value: 65536},
		`[1].value: -1 is not 0 to 65535`:                                                                     {Name: "count", Value: json.Number("-1")},
		`[1].value: 1.5 is not an integer of 64 bits`:                                                         {Name: "count", Value: 1.5},
		`[1].value: 1e+300 is not an integer of 64 bits`:                                                      {Name: "count", Value: 1e300},
		`[1].value: has 5 bytes; at most 4`:                                                                   {Name: "batch", Value: "A7-04"},
		`[1].value: is not valid UTF-8`:                                                                       {Name: "batch", Value: "\xff"},
		`[1].value: must be a string in base64`:                                                               {Name: "image", Value: "?"},
		`[1].value: has 65537 bytes; at most 65536`:                                                           {Name: "image", Value: make([]byte, 65537)},
		`[1].quality: Quality(9) is not Good, Uncertain or Bad`:                                               {Name: "on", Value: true, Quality: &quality},
		`[1].time: 0001-01-01T00:00:00Z is before 1970`:                                                       {Name: "on", Value: true, Time: time.Time{}.Add(1)},
		`[1].time: ` + now.Add(25*time.Hour).UTC().Format(time.RFC3339) + ` is more than a day in the future`: {Name: "on", Value: true, Time: now.Add(25 * time.Hour).UTC()},
	} {
		err := d.Push(t.Context(), []passive.Item{good, item})
		require.ErrorIs(t, err, passive.ErrInvalidItems, want)
		e, _ := fault.From(err)
		require.Len(t, e.Fields, 1, want)
		require.Equal(t, want, e.Fields[0].Field+": "+e.Fields[0].Message)
	}
	for _, n := range []int{0, passive.MaxItems + 1} {
		require.ErrorIs(t, d.Push(t.Context(), make([]passive.Item, n)), passive.ErrInvalidItems)
	}
	many := make([]passive.Item, passive.MaxItems)
	e, _ := fault.From(d.Push(t.Context(), many))
	require.Len(t, e.Fields, 20)
	cancel()
	wg.Wait()
	require.Equal(t, 1, emitted, "nothing of a batch that is refused, and the newest when the subscription began")
}

func TestPushWaitsForAnEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, sensors()...)
		item := []passive.Item{{Name: "level", Value: 1}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, d.Push(ctx, item), tags.ErrDriverOffline)
		require.True(t, d.LastData().IsZero())

		done := make(chan error, 1)
		go func() { done <- d.Push(t.Context(), item) }()
		synctest.Wait()
		require.Empty(t, done)
		require.NoError(t, d.Connect(t.Context()))
		got := make(chan tags.Reading, 1)
		go func() {
			_ = d.Subscribe(t.Context(), []tags.Point{{Address: "level", Type: tags.Float}}, func(_ int, r tags.Reading) { got <- r })
		}()
		require.NoError(t, <-done)
		require.Equal(t, tags.FloatValue(1), (<-got).Value)
		require.NoError(t, d.Close())
	})
}

func TestSettingsAreRefused(t *testing.T) {
	for raw, want := range map[string]string{
		`{"Tags": [{"Name": "a", "Type": "Word"}]}`:                                              `Settings.Tags[0].Type: "Word" is not Bool`,
		`{"Tags": [{"Name": "a"}]}`:                                                              "Settings.Tags[0].Type: is required",
		`{"Tags": [{"Type": "Int"}]}`:                                                            "Settings.Tags[0].Name: is required",
		`{"Tags": [{"Name": "a", "Type": "Int:4"}]}`:                                             "Settings.Tags[0].Type: a length is for String and Bytes",
		`{"Tags": [{"Name": "a", "Type": "String:0"}]}`:                                          `Settings.Tags[0].Type: length "0" is not 1 to 65536 bytes`,
		`{"Tags": [{"Name": "a", "Type": "Int"}, {"Name": "a", "Address": "b", "Type": "Int"}]}`: "Settings.Tags[1].Name: is given twice",
		`{"Tags": [{"Name": "a", "Type": "Int"}, {"Name": "b", "Address": "a", "Type": "Int"}]}`: `Settings.Tags[1].Address: "a" is given twice`,
		`{"Tags": [{"Name": "a", "Type": "Int", "StaleAfterMs": 0}]}`:                            "Settings.Tags[0].StaleAfterMs: must be 1 to",
		`{"StaleAfterMs": -2}`:                                                                   "Settings.StaleAfterMs: must be 1 to",
		`{"Tags": [{"Name": "a", "Type": "Int", "MinValue": 2, "MaxValue": 1}]}`:                 "Settings.Tags[0].MinValue: must not be above maxValue",
		`{"Tags": [{"Name": "a", "Type": "Int", "Deadband": {"Percent": 101}}]}`:                 "Settings.Tags[0].Deadband.Percent: must be 0 to 100",
		`{"Port": 7}`: "Settings.Port: is not a known member",
	} {
		_, _, err := passive.FromSettings(driverconfig.Settings{ID: "plc", Type: "Passive", Settings: json.RawMessage(raw)}, nil)
		require.ErrorIs(t, err, driverconfig.ErrInvalid, raw)
		e, _ := fault.From(err)
		require.NotEmpty(t, e.Fields)
		require.Contains(t, e.Fields[0].Field+": "+e.Fields[0].Message, want)
	}
}

func FuzzPush(f *testing.F) {
	for _, seed := range []string{`1`, `-1.5e3`, `"x"`, `true`, `null`, `[1]`, `{"a":1}`, `1e400`, `9223372036854775808`, `"AQI="`} {
		f.Add(seed, int64(0))
	}
	f.Fuzz(func(t *testing.T, raw string, seconds int64) {
		d := newDriver(t, sensors()...)
		require.NoError(t, d.Connect(t.Context()))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var points []tags.Point
		for _, s := range []tags.DataType{tags.Bool, tags.Float, tags.String, tags.Bytes} {
			points = append(points, tags.Point{Address: map[tags.DataType]string{tags.Bool: "on", tags.Float: "level", tags.String: "batch", tags.Bytes: "image"}[s], Type: s})
		}
		points = append(points, tags.Point{Address: "c/1", Type: tags.Int})
		var emitted []tags.Reading
		var wg sync.WaitGroup
		wg.Go(func() {
			_ = d.Subscribe(ctx, points, func(i int, r tags.Reading) {
				if r.Err != nil || r.Value.Type() != points[i].Type || r.Time.IsZero() {
					t.Errorf("%+v was emitted for %s", r, points[i].Address)
				}
				emitted = append(emitted, r)
			})
		})
		in := json.NewDecoder(strings.NewReader(raw))
		in.UseNumber()
		var value any
		_ = in.Decode(&value)
		taken := 0
		for _, name := range []string{"on", "count", "level", "batch", "image"} {
			if d.Push(ctx, []passive.Item{{Name: name, Value: value, Time: time.Unix(seconds, 0)}}) == nil {
				taken++
			}
		}
		cancel()
		wg.Wait()
		require.Len(t, emitted, taken)
	})
}

// BenchmarkPush pushes batches of 1,000 of 10,000 tags to an engine; bare converts the values only.
func BenchmarkPush(b *testing.B) {
	var list []passive.Tag
	for i := range 10_000 {
		list = append(list, passive.Tag{Name: fmt.Sprint("t", i), Type: "Float"})
	}
	d := newDriver(b, list...)
	known, err := d.Browse(b.Context())
	require.NoError(b, err)
	e, err := tags.New(tags.Options{})
	require.NoError(b, err)
	defer func() { require.NoError(b, e.Close(context.Background())) }()
	require.NoError(b, e.AddDriver("plc", d, tags.DriverOptions{Tags: known}))
	items := make([]passive.Item, 1000)
	turn := 0
	for b.Loop() {
		turn++
		for i := range items {
			items[i] = passive.Item{Name: list[(turn*1000+i)%len(list)].Name, Value: float64(turn)}
		}
		if err := d.Push(b.Context(), items); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/item")
}
