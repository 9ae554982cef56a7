package historystore

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/otkit/otkit/storage/historystore/internal/chunk"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/history"
)

// A chunk's summary has a part for each slot of time that the chunk touches. Slots begin at multiples of their length since 1970, UTC, so
// that intervals of that length fit in every zone: all have offsets of quarters of an hour.
var slots = []time.Duration{15 * time.Minute, time.Hour, 4 * time.Hour, 24 * time.Hour}

// maxParts is how many slots a chunk touches, about, before the next longer one is taken.
const maxParts = 4

// slotFor returns the length of the slots of a chunk that lasts so long; 0 is one slot for all.
func slotFor(micros int64) int64 {
	for _, s := range slots {
		if micros <= maxParts*s.Microseconds() {
			return s.Microseconds()
		}
	}
	return 0
}

// summarize returns the summaries of a chunk's points, by slot.
func summarize(points []chunk.Point) (parts []history.Summary) {
	slot := slotFor(points[len(points)-1].Micros - points[0].Micros)
	end := int64(math.MinInt64)
	for i := range points {
		p := &points[i]
		if p.Micros >= end {
			parts = append(parts, history.Summary{})
			if end = math.MaxInt64; slot > 0 {
				end = (floorDiv(p.Micros, slot) + 1) * slot
			}
		}
		parts[len(parts)-1].Add(sampleOf("", p))
	}
	return parts
}

func floorDiv(a, b int64) int64 {
	if a < 0 {
		return -((-a-1)/b + 1)
	}
	return a / b
}

func sampleOf(tag string, p *chunk.Point) history.Sample {
	return history.Sample{Tag: tag, Time: time.UnixMicro(p.Micros).UTC(), Value: p.Value, Quality: p.Quality, Reason: p.Reason}
}

// summaryVersion is of the form of the data. One that is not known is as none.
const summaryVersion = 1

// What differs is written; the rest follows from these marks.
const (
	markFirst       byte = 1 << iota // the first sample that counts is the first
	markLast                         // the last one is the last
	markNumbers                      // all that count are numbers
	markHeldNumbers                  // all time is that of numbers
	markStates
	markManyStates
)

// sealSummary packs the summaries of a chunk that starts at a time, for a row of history_summary.
func sealSummary(start int64, parts []history.Summary) []byte {
	w := summaryWriter{data: make([]byte, 4, 16+100*len(parts)), at: start}
	w.data = append(w.data, summaryVersion)
	w.uint(int64(len(parts)))
	for i := range parts {
		w.part(&parts[i])
	}
	return seal(w.data)
}

type summaryWriter struct {
	data []byte
	at   int64 // the time before, to which the next is relative
}

func (w *summaryWriter) uint(n int64) { w.data = binary.AppendUvarint(w.data, uint64(n)) }

func (w *summaryWriter) float(f float64) {
	w.data = binary.LittleEndian.AppendUint64(w.data, math.Float64bits(f))
}

func (w *summaryWriter) time(t time.Time) {
	w.data = binary.AppendVarint(w.data, t.UnixMicro()-w.at)
	w.at = t.UnixMicro()
}

// The codes of the types of values as they are stored. They must not change.
const (
	codeNone = iota
	codeFalse
	codeTrue
	codeInt
	codeFloat
	codeString
	codeBytes
)

func (w *summaryWriter) value(v tags.Value) {
	switch v.Type() {
	case tags.Bool:
		code := byte(codeFalse)
		if v.Bool() {
			code = codeTrue
		}
		w.data = append(w.data, code)
	case tags.Int:
		w.data = binary.AppendVarint(append(w.data, codeInt), v.Int())
	case tags.Float:
		f, _ := v.Float()
		w.data = append(w.data, codeFloat)
		w.float(f)
	case tags.String:
		w.text(codeString, v.Text())
	case tags.Bytes:
		w.text(codeBytes, v.Text())
	default:
		w.data = append(w.data, codeNone)
	}
}

func (w *summaryWriter) text(code byte, s string) {
	w.data = append(w.data, code)
	w.uint(int64(len(s)))
	w.data = append(w.data, s...)
}

func (w *summaryWriter) sample(s *history.Sample) {
	w.time(s.Time)
	w.uint(int64(s.Reason)<<2 | int64(s.Quality))
	w.value(s.Value)
}

func (w *summaryWriter) part(s *history.Summary) {
	w.uint(s.Samples)
	w.sample(&s.First)
	w.sample(&s.Last)
	divided := s.Usable != nil
	w.data = append(w.data, 0)
	if divided {
		w.data[len(w.data)-1] = 1
	}
	w.stats(s, &s.Good)
	if divided {
		w.stats(s, s.Usable)
	}
}

func mark(m byte, is bool) byte {
	if is {
		return m
	}
	return 0
}

func (w *summaryWriter) stats(of *history.Summary, s *history.Stats) {
	w.uint(s.Count)
	if s.Count == 0 {
		return
	}
	marks := mark(markFirst, s.FirstTime.Equal(of.First.Time)) | mark(markLast, s.LastTime.Equal(of.Last.Time)) |
		mark(markNumbers, s.Numbers == s.Count) | mark(markHeldNumbers, s.HeldNumbers == s.Held) |
		mark(markStates, len(s.States) > 0) | mark(markManyStates, s.ManyStates)
	w.data = append(w.data, marks)
	if marks&markFirst == 0 {
		w.time(s.FirstTime)
		w.value(s.First)
	}
	if marks&markLast == 0 {
		w.time(s.LastTime)
		w.value(s.Last)
	}
	w.uint(s.Held.Microseconds())
	if marks&markNumbers == 0 {
		w.uint(s.Numbers)
	}
	if marks&markHeldNumbers == 0 {
		w.uint(s.HeldNumbers.Microseconds())
	}
	if s.Numbers > 0 {
		w.value(s.Min)
		w.value(s.Max)
		for _, f := range []float64{s.Sum, s.Squares, s.Stepped, s.Sloped} {
			w.float(f)
		}
	}
	if marks&markStates != 0 {
		w.uint(int64(len(s.States)))
		for _, state := range s.States {
			w.value(state.Value)
			w.uint(state.Held.Microseconds())
		}
	}
}
