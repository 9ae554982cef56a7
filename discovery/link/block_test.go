package link

import (
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 123_456_000, time.UTC)

func everything() (entries []Entry) {
	values := []tags.Value{
		{}, tags.BoolValue(false), tags.BoolValue(true), tags.IntValue(0), tags.IntValue(math.MinInt64), tags.IntValue(math.MaxInt64),
		tags.FloatValue(0), tags.FloatValue(math.Copysign(0, -1)), tags.FloatValue(23.5), tags.FloatValue(math.Pi), tags.FloatValue(math.MaxFloat64),
		tags.FloatValue(math.SmallestNonzeroFloat64), tags.StringValue(""), tags.StringValue("Kübel 7"), tags.BytesValue(nil), tags.BytesValue([]byte{0, 255, 128}),
		tags.StringValue(strings.Repeat("x", MaxText)),
	}
	for _, v := range values {
		entries = append(entries, Entry{Sample: Sample{Tag: uint32(len(entries) * 7 % 11), Time: noon.Add(time.Duration(len(entries)) * time.Second), Value: v, Quality: tags.Good}})
	}
	for q := tags.Bad; q <= tags.Good; q++ {
		for r := tags.ReasonNone; !strings.HasPrefix(r.String(), "Reason("); r++ {
			entries = append(entries, Entry{Sample: Sample{Tag: math.MaxUint32, Time: noon.Add(-time.Hour), Value: tags.IntValue(1), Quality: q, Reason: r}})
		}
	}
	return append(entries,
		Entry{Event: &Event{Kind: DriverOffline, Time: noon.Add(-time.Minute), Text: "connection refused"}},
		Entry{Sample: Sample{Time: time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), Quality: tags.Good}},
		Entry{Event: &Event{Time: time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)}})
}

func TestBlockReturnsWhatWasPutIn(t *testing.T) {
	in := everything()
	out, err := Decode(Encode(in), nil)
	require.NoError(t, err)
	require.Equal(t, in, out)

	again, err := Decode(Encode(in[:3]), out)
	require.NoError(t, err)
	require.Equal(t, append(in, in[:3]...), again, "appended")

	none, err := Decode(Encode(nil), nil)
	require.NoError(t, err)
	require.Empty(t, none)
}

func TestBlockPutsTheNearestInThePlaceOfWhatItCannotHold(t *testing.T) {
	far := time.Date(30_000, 1, 1, 0, 0, 0, 0, time.UTC)
	out, err := Decode(Encode([]Entry{
		{Sample: Sample{Time: far, Value: tags.StringValue(strings.Repeat("x", MaxText+1)), Quality: tags.Good}},
		{Sample: Sample{Time: noon.Add(999), Quality: tags.Good}},
		{Event: &Event{Kind: "k", Text: strings.Repeat("y", 10_000)}},
	}), nil)
	require.NoError(t, err)
	require.Equal(t, Sample{Time: time.UnixMicro(maxTime).UTC(), Quality: tags.Bad, Reason: tags.ReasonType}, out[0].Sample)
	require.Equal(t, noon, out[1].Time)
	require.Len(t, out[2].Event.Text, maxEventText)
}

func TestFitKeepsBlocksWithinTheirLimits(t *testing.T) {
	for name, one := range map[string]Entry{
		"small": {Sample: Sample{Tag: 5, Time: noon, Value: tags.BoolValue(true), Quality: tags.Good}},
		"large": {Sample: Sample{Tag: 5, Time: noon, Value: tags.StringValue(strings.Repeat("x", 100_000))}},
		"giant": {Sample: Sample{Tag: 5, Time: noon, Value: tags.StringValue(strings.Repeat("x", 2_000_000))}},
		"event": {Event: &Event{Kind: strings.Repeat("x", 2_000_000), Text: strings.Repeat("x", 2_000_000)}},
	} {
		t.Run(name, func(t *testing.T) {
			entries := make([]Entry, 200_000)
			for i := range entries {
				entries[i] = one
			}
			for range 3 {
				n := Fit(entries)
				require.Positive(t, n)
				require.LessOrEqual(t, n, MaxCount)
				data := Encode(entries[:n])
				require.LessOrEqual(t, len(data), MaxData)
				out, err := Decode(data, nil)
				require.NoError(t, err)
				require.Len(t, out, n)
				entries = entries[n:]
			}
			require.Equal(t, 1, Fit(entries[:1]))
			require.Zero(t, Fit(nil))
		})
	}
}

// sealed returns data with the checksum that fits.
func sealed(data []byte) []byte {
	return binary.LittleEndian.AppendUint32(data[:len(data):len(data)], crc32.Checksum(data, castagnoli))
}

func TestDecodeRefusesDamage(t *testing.T) {
	good := Encode(everything())
	for i := range 200 { // a flipped bit anywhere
		bad := append([]byte(nil), good...)
		bad[(i*7919)%len(bad)] ^= 1 << (i % 8)
		_, err := Decode(bad, nil)
		require.ErrorIs(t, err, ErrData)
	}
	body := good[:len(good)-checkSize]
	for _, n := range []int{0, 1, 2, 3, 10, len(body) - 1} { // torn, by a sender that computes the checksum
		_, err := Decode(sealed(body[:n]), nil)
		require.ErrorIs(t, err, ErrData, n)
	}
	for name, data := range map[string][]byte{
		"version":        {2, 0},
		"lying count":    binary.AppendUvarint([]byte{1}, math.MaxUint64),
		"trailing":       {1, 0, 0},
		"lying length":   append(binary.AppendUvarint([]byte{1, 1, kindBytes, 0, 0}, MaxText), 1),
		"quality":        {1, 1, kindTrue | withQuality, 0, 0, 3},
		"index below 0":  {1, 1, kindTrue, 0, 1},
		"index overflow": append([]byte{1, 1, kindTrue, 0}, binary.AppendVarint(nil, 1<<32)...),
		"time":           append(binary.AppendVarint([]byte{1, 1, kindTrue}, math.MaxInt64), 0),
		"float":          append([]byte{1, 1, kindFloat | 9<<floatShift, 0, 0}, make([]byte, 9)...),
		"NaN":            {1, 1, kindFloat | 2<<floatShift, 0, 0, 0x7f, 0xf8},
		"odd control":    {1, 1, kindTrue | 1<<floatShift, 0, 0},
	} {
		kept := []Entry{{Sample: Sample{Tag: 9}}}
		out, err := Decode(sealed(data), kept)
		require.ErrorIs(t, err, ErrData, name)
		require.Equal(t, kept, out, name)
	}
	out, err := Decode(sealed([]byte{1, 1, kindTrue | withQuality, 0, 0, byte(tags.Bad) | 63<<2}), nil)
	require.NoError(t, err)
	require.Equal(t, tags.ReasonDriver, out[0].Reason, "a reason of a later version")
}

func FuzzDecode(f *testing.F) {
	f.Add(Encode(nil)[1:])
	for _, n := range []int{1, 5, 12, 14} {
		f.Add(Encode(everything()[:n])[1:])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) >= checkSize {
			data = sealed(append([]byte{blockVersion}, data[:len(data)-checkSize]...))
		}
		entries, err := Decode(data, nil)
		if err != nil {
			require.ErrorIs(t, err, ErrData)
			return
		}
		require.LessOrEqual(t, len(entries)*minEntry, len(data))
		again, err := Decode(Encode(entries), nil)
		require.NoError(t, err)
		require.Equal(t, entries, again)
	})
}

// samples are what a poll of 1000 tags returns, again and again: noisy measurements with three digits.
func samples(n int) []Entry {
	r := rand.New(rand.NewPCG(1, 2))
	entries := make([]Entry, n)
	for i := range entries {
		at := noon.Add(time.Duration(i/1000)*time.Second + time.Duration(i%1000/100)*1234*time.Microsecond)
		entries[i].Sample = Sample{Tag: uint32(i % 1000), Time: at, Value: tags.FloatValue(math.Round(r.Float64()*1e6) / 1e3), Quality: tags.Good}
	}
	return entries
}

func BenchmarkEncode(b *testing.B) {
	in := samples(10_000)
	size := 0
	for b.Loop() {
		size = len(Encode(in))
	}
	report(b, len(in), size)
}

func BenchmarkDecode(b *testing.B) {
	data := Encode(samples(10_000))
	var out []Entry
	for b.Loop() {
		var err error
		if out, err = Decode(data, out[:0]); err != nil {
			b.Fatal(err)
		}
	}
	report(b, len(out), len(data))
}

// plain is a sample as a program would write it as JSON.
type plain struct {
	Tag     uint32    `json:"tag"`
	Time    time.Time `json:"time"`
	Value   float64   `json:"value"`
	Quality string    `json:"quality"`
}

// The baseline: encoding/json.
func BenchmarkPlainJSON(b *testing.B) {
	in := make([]plain, 10_000)
	for i, e := range samples(len(in)) {
		f, _ := e.Value.Float()
		in[i] = plain{e.Tag, e.Time, f, e.Quality.String()}
	}
	data, err := json.Marshal(in)
	require.NoError(b, err)
	b.Run("encode", func(b *testing.B) {
		for b.Loop() {
			if _, err := json.Marshal(in); err != nil {
				b.Fatal(err)
			}
		}
		report(b, len(in), len(data))
	})
	b.Run("decode", func(b *testing.B) {
		var out []plain
		for b.Loop() {
			if err := json.Unmarshal(data, &out); err != nil {
				b.Fatal(err)
			}
		}
		report(b, len(in), len(data))
	})
}

func report(b *testing.B, count, size int) {
	b.ReportMetric(float64(count)*float64(b.N)/b.Elapsed().Seconds(), "samples/s")
	b.ReportMetric(float64(size)/float64(count), "B/sample")
}
