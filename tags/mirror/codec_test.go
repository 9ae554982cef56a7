package mirror

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/cluster/bus"
	"github.com/otkit/otkit/tags"
)

// engineOf returns a mirror of an engine with tags of a driver "plc".
func engineOf(t testing.TB, list []tags.Tag) *Mirror {
	e, err := tags.New(tags.Options{Shared: &tags.Shared{Write: func(context.Context, string, []tags.WriteRequest) ([]tags.Write, []error, error) {
		return nil, nil, nil
	}}})
	require.NoError(t, err)
	b := bus.NewMemory().Join()
	m, err := New(e, b, Options{Engine: "b", Owner: func(string) (string, bool) { return "", false }, Heartbeat: time.Hour})
	require.NoError(t, err)
	t.Cleanup(func() {
		m.Close()
		require.NoError(t, b.Close(context.Background()))
		require.NoError(t, e.Close(context.Background()))
	})
	require.NoError(t, e.AddDriver("plc", none{}, tags.DriverOptions{Tags: list}))
	return m
}

// none is a driver that is never run.
type none struct{}

func (none) Connect(context.Context) error                            { return tags.ErrNotConnected }
func (none) Read(context.Context, []tags.Point, []tags.Reading) error { return tags.ErrNotConnected }
func (none) Write(context.Context, []tags.WriteItem, []error) error   { return tags.ErrNotConnected }
func (none) Close() error                                             { return nil }

func samples() (list []tags.RemoteSample) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678901234, time.UTC)
	for i, v := range []tags.Value{{}, tags.BoolValue(true), tags.BoolValue(false), tags.IntValue(math.MinInt64), tags.IntValue(math.MaxInt64), tags.FloatValue(math.Copysign(0, -1)),
		tags.FloatValue(math.MaxFloat64), tags.StringValue("ä\x00"), tags.StringValue(""), tags.BytesValue(nil), tags.BytesValue([]byte{0, 255})} {
		list = append(list,
			tags.RemoteSample{Tag: fmt.Sprint("t", i), Sample: tags.Sample{Value: v, Quality: tags.Good, SourceTime: at, ServerTime: at.Add(time.Nanosecond)}},
			tags.RemoteSample{Tag: fmt.Sprint("u", i), Degraded: true, Sample: tags.Sample{Value: v, Quality: tags.Uncertain, Reason: tags.ReasonStale, ServerTime: at.AddDate(-90, 0, 0)}},
			tags.RemoteSample{Tag: "", Sample: tags.Sample{Value: v}})
	}
	return list
}

func TestSamplesSurviveTheBus(t *testing.T) {
	var b []byte
	base := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixNano()
	for i := range samples() {
		s := &samples()[i]
		before := len(b)
		b = appendSample(b, s, base)
		require.LessOrEqual(t, len(b)-before, sampleSize(s))
	}
	r := &reader{b: b}
	for _, want := range samples() {
		require.EqualValues(t, nextSample, r.byte())
		want := want
		name := string(r.bytes())
		got := r.sample(base)
		got.Tag = name
		require.Equal(t, want, got)
	}
	require.Empty(t, r.b)
	require.False(t, r.bad)
}

// What comes from a bus cannot harm, whatever it is.
func FuzzReceive(f *testing.F) {
	b := appendHeader(nil, "a")
	for n, flags := range []blockFlags{0, flagFirst, flagPart, flagLast} {
		k := block{driver: "plc", epoch: 3, seq: uint64(n + 1), flags: flags, base: 1}
		b = k.appendTo(b)
		for i := range samples() {
			b = appendSample(b, &samples()[i], 1)
		}
		b = append(b, endOfBlock)
	}
	status := block{driver: "plc", epoch: 4, seq: 1, flags: flagStatus}
	b = append(appendBytes(status.appendTo(b), `{"State":"Online","Engine":"a"}`), endOfBlock)
	f.Add(b)
	f.Add(b[:len(b)/2])
	m := engineOf(f, []tags.Tag{{Name: "plc.a", Address: "a", DataType: tags.Int}, {Name: "t1", Address: "t1", DataType: tags.Bool}})
	f.Fuzz(func(_ *testing.T, data []byte) {
		m.receive(data)
		m.resend(data)
		m.serveWrites(context.Background(), data)
	})
}

// BenchmarkMirror measures what a change costs on its way: written by the engine that runs the driver, and taken over by another.
func BenchmarkMirror(b *testing.B) {
	const count = 100_000
	list := make([]tags.Tag, count)
	now := time.Now()
	all := make([]tags.RemoteSample, count)
	for i := range list {
		name := fmt.Sprintf("plc.line%d.machine%d.value", i/100, i%100)
		list[i] = tags.Tag{Name: name, Address: name, DataType: tags.Float}
		all[i] = tags.RemoteSample{Tag: name, Sample: tags.Sample{Value: tags.FloatValue(float64(i) + 0.25), Quality: tags.Good, SourceTime: now, ServerTime: now}}
	}
	m := engineOf(b, list)
	from := &collect{Bus: bus.NewMemory().Join()}
	w := &writer{m: &Mirror{bus: from, opts: m.opts}}
	p := &publisher{driver: "plc", epoch: 1}
	encode := func(round int) {
		from.messages = from.messages[:0]
		for i := range all {
			all[i].Value, all[i].ServerTime = tags.FloatValue(float64(i+round)+0.25), time.Now()
			w.part(p, &all[i], 0)
		}
		w.flush()
	}
	b.Run("write", func(b *testing.B) {
		round := 0
		for b.Loop() {
			encode(round)
			round++
		}
		bytes := 0
		for _, data := range from.messages {
			bytes += len(data)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*count), "ns/change")
		b.ReportMetric(float64(bytes)/count, "bytes/change")
	})
	b.Run("take over", func(b *testing.B) {
		for round := 0; b.Loop(); round++ {
			b.StopTimer()
			encode(round)
			b.StartTimer()
			for _, data := range from.messages {
				m.receive(data)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*count), "ns/change")
	})
}

// collect keeps what is published.
type collect struct {
	bus.Bus
	messages [][]byte
}

func (c *collect) Publish(_ string, data []byte) error {
	c.messages = append(c.messages, append([]byte(nil), data...))
	return nil
}
