package link

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/bits"
	"strings"
	"time"

	"github.com/otkit/otkit/tags"
)

// A block is the byte blockVersion, the count as a uvarint, the entries, and the CRC-32C of all before it, little endian. An entry is
//
//	control byte   kind (3 bits), 1 if a quality byte follows (1 bit), bytes of a Float (4 bits)
//	time           zigzag varint, microseconds since the entry before; the first since 1970
//	index          zigzag varint, less the index of the sample before and 1; the first less 0; not of an event
//	quality        quality (2 bits), reason (6 bits); left out for a sample that is Good without a reason
//	value          Int: zigzag varint; Float: its most significant bytes, as far as the rest is 0; String and Bytes: uvarint length, bytes
//	event          kind and text, each with its length as a uvarint
//
// Values of neighboring samples are of different tags, so that differences of values would save nothing; gzip does where it pays.
const blockVersion = 1

const (
	kindNone = iota
	kindFalse
	kindTrue
	kindInt
	kindFloat
	kindString
	kindBytes
	kindEvent

	kindMask    = 7
	withQuality = 1 << 3
	floatShift  = 4
)

// Limits of an entry.
const (
	// MaxText is the length limit of a String or Bytes in bytes. Encode puts no value with quality Bad in the place of a longer one.
	MaxText = 512 << 10
	// maxEventText is the length limit of the texts of an event; Encode cuts longer ones.
	maxEventText = 4096

	minEntry  = 3  // bytes
	maxFixed  = 26 // bytes of an entry without its texts, at most
	maxHeader = 1 + binary.MaxVarintLen32
	checkSize = 4
)

// The times that a block can have, in microseconds: the years 1 to 9999. Encode puts the nearest in the place of others.
var (
	minTime = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
	maxTime = time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC).UnixMicro()
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrData means that the data of a block is damaged, or of a version that is not known.
var ErrData = errors.New("block data is not valid")

// Fit returns how many of the leading entries fit into one block: at most MaxCount entries and about MaxData bytes. It is at least 1
// if there are any.
func Fit(entries []Entry) int {
	size := maxHeader + checkSize
	for i := range entries {
		if size += maxSize(&entries[i]); size > MaxData || i == MaxCount {
			return max(i, 1)
		}
	}
	return len(entries)
}

// maxSize returns the most bytes that an entry takes.
func maxSize(e *Entry) int {
	if e.Event != nil {
		return maxFixed + min(len(e.Event.Kind), maxEventText) + min(len(e.Event.Text), maxEventText)
	}
	return maxFixed + min(len(e.Value.Text()), MaxText)
}

// Encode returns entries in the compact form that Decode reads. Times lose what is below a microsecond. The caller divides long lists with Fit.
func Encode(entries []Entry) []byte {
	size := maxHeader + checkSize
	for i := range entries {
		size += maxSize(&entries[i])
	}
	b := make([]byte, 0, size)
	b = append(b, blockVersion)
	b = binary.AppendUvarint(b, uint64(len(entries)))
	var at int64
	next := int64(0)
	for i := range entries {
		e := &entries[i]
		if e.Event != nil {
			us := micros(e.Event.Time)
			b = append(b, kindEvent)
			b = binary.AppendVarint(b, us-at)
			b, at = appendText(appendText(b, e.Event.Kind), e.Event.Text), us
			continue
		}
		us := micros(e.Time)
		b = appendSample(b, &e.Sample, us-at, int64(e.Tag)-next)
		at, next = us, int64(e.Tag)+1
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func micros(t time.Time) int64 { return min(max(t.UnixMicro(), minTime), maxTime) }

func appendSample(b []byte, s *Sample, passed, index int64) []byte {
	value, quality, reason := s.Value, s.Quality, s.Reason
	if len(value.Text()) > MaxText {
		value, quality, reason = tags.Value{}, tags.Bad, tags.ReasonType
	}
	kind, float := kindOf(value)
	control := kind
	significant := 0
	if kind == kindFloat {
		significant = 8 - bits.TrailingZeros64(float)/8
		control |= byte(significant) << floatShift
	}
	plain := quality == tags.Good && reason == tags.ReasonNone
	if !plain {
		control |= withQuality
	}
	b = append(b, control)
	b = binary.AppendVarint(b, passed)
	b = binary.AppendVarint(b, index)
	if !plain {
		b = append(b, byte(quality)|byte(reason)<<2)
	}
	switch kind {
	case kindInt:
		b = binary.AppendVarint(b, value.Int())
	case kindFloat:
		b = binary.BigEndian.AppendUint64(b, float)
		b = b[:len(b)-8+significant]
	case kindString, kindBytes:
		b = binary.AppendUvarint(b, uint64(len(value.Text())))
		b = append(b, value.Text()...)
	}
	return b
}

// kindOf returns the kind of a value, and the bits of a Float.
func kindOf(v tags.Value) (kind byte, float uint64) {
	switch v.Type() {
	case tags.Float:
		f, _ := v.Float()
		return kindFloat, math.Float64bits(f)
	case tags.Int:
		return kindInt, 0
	case tags.Bool:
		if v.Bool() {
			return kindTrue, 0
		}
		return kindFalse, 0
	case tags.String:
		return kindString, 0
	case tags.Bytes:
		return kindBytes, 0
	}
	return kindNone, 0
}

func appendText(b []byte, s string) []byte {
	s = s[:min(len(s), maxEventText)]
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// Decode appends the entries of data to into. It allocates in proportion to data, whatever it has in it. The error is an ErrData; into is then
// returned as it was. Strings that are not UTF-8 get U+FFFD, and reasons that this version does not know become ReasonDriver.
func Decode(data []byte, into []Entry) ([]Entry, error) {
	entries, err := decode(data, into)
	if err != nil {
		return into, fmt.Errorf("%w: %w", ErrData, err)
	}
	return entries, nil
}

var (
	errShort   = errors.New("it ends too early")
	errVersion = errors.New("unknown version")
	errCheck   = errors.New("wrong checksum")
	errCount   = errors.New("wrong count")
	errTime    = errors.New("a time is out of range")
	errIndex   = errors.New("an index is out of range")
	errValue   = errors.New("a value is not valid")
	errQuality = errors.New("unknown quality")
)

func decode(data []byte, into []Entry) ([]Entry, error) {
	if len(data) < 2+checkSize {
		return nil, errShort
	}
	if data[0] != blockVersion {
		return nil, errVersion
	}
	end := len(data) - checkSize
	if crc32.Checksum(data[:end], castagnoli) != binary.LittleEndian.Uint32(data[end:]) {
		return nil, errCheck
	}
	r := reader{data: data[1:end]}
	count := r.uvarint()
	if r.failed || count > MaxCount || count*minEntry > uint64(len(r.data)) {
		return nil, errCount
	}
	at, next := int64(0), int64(0)
	for range count {
		control := r.byte()
		at += r.varint()
		if at < minTime || at > maxTime {
			return nil, errTime
		}
		if control == kindEvent {
			into = append(into, Entry{Event: &Event{Kind: r.eventText(), Time: time.UnixMicro(at).UTC(), Text: r.eventText()}})
			continue
		}
		next += r.varint()
		if next < 0 || next > math.MaxUint32 {
			return nil, errIndex
		}
		into = append(into, Entry{Sample: Sample{Tag: uint32(next), Time: time.UnixMicro(at).UTC(), Quality: tags.Good}})
		if err := r.value(control, &into[len(into)-1].Sample); err != nil {
			return nil, err
		}
		next++
	}
	if r.failed {
		return nil, errShort
	}
	if len(r.data) > 0 {
		return nil, errCount
	}
	return into, nil
}

// reader reads the entries of a block. After a failure it returns zeros.
type reader struct {
	data   []byte
	failed bool
}

func (r *reader) fail() {
	r.data, r.failed = nil, true
}

func (r *reader) byte() byte {
	if len(r.data) == 0 {
		r.failed = true
		return 0
	}
	c := r.data[0]
	r.data = r.data[1:]
	return c
}

func (r *reader) uvarint() uint64 {
	if len(r.data) > 0 && r.data[0] < 0x80 {
		v := uint64(r.data[0])
		r.data = r.data[1:]
		return v
	}
	v, n := binary.Uvarint(r.data)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.data = r.data[n:]
	return v
}

func (r *reader) varint() int64 {
	v := r.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.data)) {
		r.fail()
		return nil
	}
	b := r.data[:n]
	r.data = r.data[n:]
	return b
}

func (r *reader) text(limit uint64) string {
	n := r.uvarint()
	if n > limit {
		r.fail()
		return ""
	}
	return string(r.take(n))
}

// eventText reads a text of an event.
func (r *reader) eventText() string { return strings.ToValidUTF8(r.text(maxEventText), "?") }

// value reads the quality and the value of a sample.
func (r *reader) value(control byte, s *Sample) error {
	kind, significant := control&kindMask, control>>floatShift
	if kind == kindEvent || significant > 8 || significant > 0 && kind != kindFloat {
		return errValue
	}
	if control&withQuality != 0 {
		q := r.byte()
		s.Quality, s.Reason = tags.Quality(q&3), tags.Reason(q>>2)
		if !s.Reason.Known() {
			s.Reason = tags.ReasonDriver
		}
		if s.Quality > tags.Good {
			return errQuality
		}
	}
	switch kind {
	case kindFalse, kindTrue:
		s.Value = tags.BoolValue(kind == kindTrue)
	case kindInt:
		s.Value = tags.IntValue(r.varint())
	case kindFloat:
		s.Value = tags.FloatValue(math.Float64frombits(r.float(int(significant))))
		if s.Value.IsZero() {
			return errValue
		}
	case kindString:
		s.Value = tags.StringValue(r.text(MaxText))
	case kindBytes:
		n := r.uvarint()
		if n > MaxText {
			return errValue
		}
		s.Value = tags.BytesValue(r.take(n))
	}
	return nil
}

func (r *reader) float(significant int) uint64 {
	if len(r.data) >= 8 {
		v := binary.BigEndian.Uint64(r.data)
		r.data = r.data[significant:]
		return v &^ (1<<(64-8*significant) - 1)
	}
	var padded [8]byte
	copy(padded[:], r.take(uint64(significant)))
	return binary.BigEndian.Uint64(padded[:])
}
