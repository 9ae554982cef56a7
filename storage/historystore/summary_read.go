package historystore

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/history"
)

// openSummary unpacks a row of history_summary. It is false for one that is damaged or of a form that is not known.
func openSummary(dst []history.Summary, tag string, start int64, data []byte) ([]history.Summary, bool) {
	rest, ok := unseal(data)
	if !ok || len(rest) == 0 || rest[0] != summaryVersion {
		return dst, false
	}
	r := summaryReader{rest: rest[1:], at: start, tag: tag}
	n := r.uint()
	if n == 0 || n > int64(len(r.rest)) {
		return dst, false
	}
	before := len(dst)
	for range n {
		dst = append(dst, history.Summary{})
		r.part(&dst[len(dst)-1])
	}
	if r.bad || len(r.rest) > 0 {
		return dst[:before], false
	}
	return dst, true
}

type summaryReader struct {
	rest []byte
	at   int64
	tag  string
	bad  bool
}

func (r *summaryReader) uint() int64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || v > math.MaxInt64 {
		r.rest, r.bad = nil, true
		return 0
	}
	r.rest = r.rest[n:]
	return int64(v)
}

func (r *summaryReader) int() int64 {
	v, n := binary.Varint(r.rest)
	if n <= 0 {
		r.rest, r.bad = nil, true
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *summaryReader) take(n int64) []byte {
	if n > int64(len(r.rest)) {
		r.rest, r.bad = nil, true
		return nil
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *summaryReader) octet() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *summaryReader) float() float64 {
	if b := r.take(8); b != nil {
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
	return 0
}

func (r *summaryReader) time() time.Time {
	r.at += r.int()
	return time.UnixMicro(r.at).UTC()
}

func (r *summaryReader) duration() time.Duration { return time.Duration(r.uint()) * time.Microsecond }

func (r *summaryReader) value() tags.Value {
	switch r.octet() {
	case codeNone:
	case codeFalse:
		return tags.BoolValue(false)
	case codeTrue:
		return tags.BoolValue(true)
	case codeInt:
		return tags.IntValue(r.int())
	case codeFloat:
		return tags.FloatValue(r.float())
	case codeString:
		return tags.StringValue(string(r.take(r.uint())))
	case codeBytes:
		return tags.BytesValue(r.take(r.uint()))
	default:
		r.bad = true
	}
	return tags.Value{}
}

func (r *summaryReader) sample() history.Sample {
	s := history.Sample{Tag: r.tag, Time: r.time()}
	q := r.uint()
	s.Quality, s.Reason = tags.Quality(q&3), tags.Reason(q>>2)
	s.Value = r.value()
	return s
}

func (r *summaryReader) part(s *history.Summary) {
	s.Samples = r.uint()
	s.First = r.sample()
	s.Last = r.sample()
	divided := r.octet() != 0
	r.stats(s, &s.Good)
	if divided {
		s.Usable = &history.Stats{}
		r.stats(s, s.Usable)
	}
}

func (r *summaryReader) stats(of *history.Summary, s *history.Stats) {
	if s.Count = r.uint(); s.Count == 0 {
		return
	}
	marks := r.octet()
	s.FirstTime, s.First = of.First.Time, of.First.Value
	if marks&markFirst == 0 {
		s.FirstTime = r.time()
		s.First = r.value()
	}
	s.LastTime, s.Last = of.Last.Time, of.Last.Value
	if marks&markLast == 0 {
		s.LastTime = r.time()
		s.Last = r.value()
	}
	s.Held = r.duration()
	if s.Numbers = s.Count; marks&markNumbers == 0 {
		s.Numbers = r.uint()
	}
	if s.HeldNumbers = s.Held; marks&markHeldNumbers == 0 {
		s.HeldNumbers = r.duration()
	}
	if s.Numbers > 0 {
		s.Min, s.Max = r.value(), r.value()
		s.Sum, s.Squares, s.Stepped, s.Sloped = r.float(), r.float(), r.float(), r.float()
	}
	if marks&markStates != 0 {
		n := r.uint()
		for range min(n, history.MaxStates) {
			v := r.value()
			s.States = append(s.States, history.State{Value: v, Held: r.duration()})
		}
	}
	s.ManyStates = marks&markManyStates != 0
}
