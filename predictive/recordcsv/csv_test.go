package recordcsv_test

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/predictive/recordcsv"
)

var at = time.Date(2026, 3, 29, 1, 59, 59, 123456000, time.UTC)

// texts are some that spreadsheets or CSV would change.
var texts = []string{"=1+1", "+49", "-5", "@sum", "'=quoted", "''-", "it's", "a;=cmd|' /C calc'!A0", "x,-y", `say "hi"`, "00017", "1e5", "°C µm 漢字 🙂", "'", "E-17; hot"}

func records() (failures []predictive.Failure, replacements []predictive.Replacement) {
	for i, text := range texts {
		failures = append(failures, predictive.Failure{ID: fmt.Sprint(i), EquipmentID: text, Component: text, Code: text, Source: predictive.SourceAlarm,
			Note: text + "\n " + text + "\n", Start: at, Noticed: at.Add(time.Microsecond), End: at.Add(time.Hour)})
		replacements = append(replacements, predictive.Replacement{ID: fmt.Sprint(i), EquipmentID: text, Component: text, At: at,
			Reason: predictive.ReasonPreventive, Source: predictive.SourceManual, Note: " " + text})
	}
	failures = append(failures, predictive.Failure{ID: "bare", EquipmentID: "a", Source: predictive.SourceCSV, Start: at.Truncate(time.Second)})
	return failures, replacements
}

func each[R any](list []R) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		for _, r := range list {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// collect returns the records and the fields of the errors, or the error that has none.
func collect[R any](t testing.TB, all iter.Seq2[R, error]) (list []R, bad []string, last error) {
	t.Helper()
	for r, err := range all {
		require.NoError(t, last, "nothing follows an error that ends the sequence")
		e, ok := fault.From(err)
		switch {
		case err == nil:
			list = append(list, r)
		case ok && len(e.Fields) > 0:
			require.ErrorIs(t, err, recordcsv.ErrFile)
			for _, f := range e.Fields {
				bad = append(bad, f.Field+" "+f.Message)
			}
		default:
			last = err
		}
	}
	return list, bad, last
}

func TestReadingReturnsWhatWasWritten(t *testing.T) {
	failures, replacements := records()
	var f, r bytes.Buffer
	require.NoError(t, recordcsv.WriteFailures(&f, each(failures)))
	require.NoError(t, recordcsv.WriteReplacements(&r, each(replacements)))
	require.True(t, strings.HasPrefix(f.String(), "\xef\xbb\xbfid,equipmentId,component,code,source,start,noticed,end,note\r\n"))
	require.True(t, strings.HasPrefix(r.String(), "\xef\xbb\xbfid,equipmentId,component,at,reason,source,note\r\n"))
	for _, slow := range []func(io.Reader) io.Reader{func(r io.Reader) io.Reader { return r }, iotest.OneByteReader, iotest.DataErrReader} {
		gotF, bad, err := collect(t, recordcsv.ReadFailures(slow(bytes.NewReader(f.Bytes())), recordcsv.Options{}))
		require.NoError(t, err)
		require.Empty(t, bad)
		require.Equal(t, failures, gotF)
		gotR, bad, err := collect(t, recordcsv.ReadReplacements(slow(bytes.NewReader(r.Bytes())), recordcsv.Options{}))
		require.NoError(t, err)
		require.Empty(t, bad)
		require.Equal(t, replacements, gotR)
	}
	rows, err := csv.NewReader(strings.NewReader(f.String()[3:])).ReadAll()
	require.NoError(t, err)
	for _, row := range rows {
		for _, cell := range row {
			require.False(t, strings.HasPrefix(cell, "=") || strings.HasPrefix(cell, "+") || strings.HasPrefix(cell, "-") || strings.HasPrefix(cell, "@"), cell)
		}
	}
}

func TestWhatSpreadsheetsWriteIsRead(t *testing.T) {
	id := 0
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	o := recordcsv.Options{Location: berlin, NewID: func() string { id++; return fmt.Sprint("new-", id) }}
	for name, file := range map[string]string{
		"LF":            "equipmentId,start,id,Source\npump,2026-01-31 12:00,,\npump,2026-01-31T11:00:00.000Z,x,Manual\n",
		"CRLF and BOM":  "\xef\xbb\xbfEQUIPMENTID , Start,id,source\r\n pump ,2026-01-31 12:00:00,,csv\r\npump,2026-01-31T12:00:00+0100,x,manual\r\n",
		"semicolons":    "start;id;equipmentid;source;note\n2026-01-31T12:00;;pump;;\n2026-01-31T12:00:00+01:00;x;pump;manual;",
		"quotes":        "\"equipmentId\",\"start\",\"id\",\"source\"\r\n\"pump\",\"2026-01-31 12:00:00\",\"\",\"\"\r\n\"pump\",\"2026-01-31 12:00\",\"x\",\"MANUAL\"",
		"empty rows":    "equipmentId,start,id,source,,\n,,,,,\npump,2026-01-31 12:00,,csv,,\n\n , ,\npump,2026-01-31 12:00,x,manual\n,,,\n",
		"short rows":    "equipmentId,start,id,source\npump,2026-01-31 12:00\npump,2026-01-31 12:00,x,manual,,,\n",
		"columns moved": "note,source,end,noticed,start,code,component,equipmentId,id\n,,,,2026-01-31 12:00,,,pump,\n,manual,,,2026-01-31 12:00,,,pump,x",
	} {
		t.Run(name, func(t *testing.T) {
			id = 0
			got, bad, err := collect(t, recordcsv.ReadFailures(strings.NewReader(file), o))
			require.NoError(t, err)
			require.Empty(t, bad)
			noon := time.Date(2026, 1, 31, 11, 0, 0, 0, time.UTC)
			require.Equal(t, []predictive.Failure{{ID: "new-1", EquipmentID: "pump", Source: predictive.SourceCSV, Start: noon},
				{ID: "x", EquipmentID: "pump", Source: predictive.SourceManual, Start: noon}}, got)
		})
	}
	days, bad, err := collect(t, recordcsv.ReadReplacements(strings.NewReader("equipmentId,component,at,reason\na,b,2026-01-31,Failure"), recordcsv.Options{}))
	require.NoError(t, err)
	require.Empty(t, bad)
	require.Equal(t, time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC), days[0].At)
	require.Len(t, days[0].ID, 36)
}

func TestErrorsNameLineAndColumn(t *testing.T) {
	const head = "id,equipmentId,component,start,end,note\n"
	for _, c := range []struct {
		name, file string
		read       int
		bad        []string
		err        string
	}{
		{"cells", head + "1,,b,2026-01-31,,\n2,a,b,31.01.2026,x,\n3,a,b,2026-01-31,,\"two\nlines\"\n4,a,b,2026-01-31,2026-01-30,\n5,a,b,,,", 1, []string{
			"line 2, column equipmentId is required",
			`line 3, column start must be a time such as 2026-01-31T12:00:00Z, not "31.01.2026"`,
			`line 3, column end must be a time such as 2026-01-31T12:00:00Z, not "x"`,
			"line 6, column end must not be before start",
			"line 7, column start is required",
		}, ""},
		{"texts", head + "1,a\tb,\xff,2026-01-31,,\n2,a,b,2026-01-31,,,x\n" + strings.Repeat("3", 300) + ",a,b,2026-01-31,,", 0, []string{
			"line 2, column component is not UTF-8; save the file as \"CSV UTF-8\"",
			"line 2, column equipmentId must be UTF-8 without control characters",
			"line 3, column 7 has no name in the first row",
			"line 4, column id must have at most 256 bytes",
		}, ""},
		{"columns", "equipmentId,begin,note,note\na,b,c,d\n", 0, []string{
			"line 1, column begin is not known; known are id, equipmentId, component, code, source, start, noticed, end, note",
			"line 1, column note is there twice",
			"line 1, column start is missing",
		}, ""},
		{"replacements", "id,equipmentId,component,at,reason\n", 0, []string{
			"line 1, column at is not known; known are id, equipmentId, component, code, source, start, noticed, end, note",
			"line 1, column reason is not known; known are id, equipmentId, component, code, source, start, noticed, end, note",
			"line 1, column start is missing",
		}, ""},
		{"a quotation mark", head + "1,a,b,2026-01-31,,\n2,\"a\"b,c,2026-01-31,,\n3,a,b,2026-01-31,,\n", 1,
			[]string{"line 3 extraneous or missing \" in quoted-field"}, ""},
		{"an open quotation mark", head + "1,\"a,b", 0, []string{"line 2 extraneous or missing \" in quoted-field"}, ""},
		{"nothing", "", 0, nil, "the CSV file is not valid: it is empty"},
		{"a mark only", "\xef\xbb\xbf\r\n", 0, nil, "the CSV file is not valid: it is empty"},
		{"UTF-16", "\xff\xfei\x00d\x00", 0, nil, `the CSV file is not valid: it is UTF-16; save it as "CSV UTF-8"`},
		{"a long row", head + "1,a,b,2026-01-31,," + strings.Repeat("x", 2*recordcsv.MaxRow), 0, nil,
			"the CSV file is not valid: a row has more than 65536 bytes, or a quotation mark is not closed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, bad, err := collect(t, recordcsv.ReadFailures(strings.NewReader(c.file), recordcsv.Options{}))
			require.Len(t, got, c.read)
			require.Equal(t, c.bad, bad)
			if c.err == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, c.err)
			}
		})
	}
}

func TestRowsAreBounded(t *testing.T) {
	file := "equipmentId,start\n" + strings.Repeat("a,2026-01-31\n", 11)
	got, bad, err := collect(t, recordcsv.ReadFailures(strings.NewReader(file), recordcsv.Options{MaxRows: 10}))
	require.ErrorIs(t, err, recordcsv.ErrTooManyRows)
	require.Len(t, got, 10)
	require.Empty(t, bad)
	got, _, err = collect(t, recordcsv.ReadFailures(strings.NewReader(file), recordcsv.Options{MaxRows: 11}))
	require.NoError(t, err)
	require.Len(t, got, 11)
}

func TestAnErrorOfTheReaderIsReturned(t *testing.T) {
	broken := errors.New("broken")
	for _, file := range []string{"", "equipmentId,start\n", "equipmentId,start\na,2026-01-31\n", "equipmentId,start\na,\"2026"} {
		_, bad, err := collect(t, recordcsv.ReadFailures(io.MultiReader(strings.NewReader(file), iotest.ErrReader(broken)), recordcsv.Options{}))
		require.ErrorIs(t, err, broken)
		require.Empty(t, bad)
	}
}

func TestACallerMayStop(t *testing.T) {
	for _, start := range []string{"2026-01-31", "soon"} {
		for f, err := range recordcsv.ReadFailures(strings.NewReader("equipmentId,start\na,"+start+"\na,2026-01-31\n"), recordcsv.Options{}) {
			require.Equal(t, start == "soon", err != nil)
			require.Equal(t, start == "soon", f == predictive.Failure{})
			break
		}
	}
}

// endless is a file without an end.
type endless struct {
	head, row string
	at        int
	read      int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.head)
	e.head = e.head[n:]
	for n < len(p) {
		c := copy(p[n:], e.row[e.at:])
		n, e.at = n+c, (e.at+c)%len(e.row)
	}
	e.read += n
	return n, nil
}

func TestMemoryDoesNotGrowWithTheFile(t *testing.T) {
	for _, row := range []string{"x", "\n", "\"", ",", "a,2026-01-31\n", "a,b\n", "\"a\n\"\"", ",,,\n"} {
		file := &endless{head: "equipmentId,start\n", row: row}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		n := 0
		for _, err := range recordcsv.ReadFailures(file, recordcsv.Options{MaxRows: 20_000}) {
			if n++; err == nil {
				require.Equal(t, "a,2026-01-31\n", row)
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		require.Less(t, file.read, 4<<20, "%q", row)
		require.LessOrEqual(t, n, 20_001)
		require.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(1<<20))
	}
}

func TestWritingEndsWithTheFirstError(t *testing.T) {
	failed := errors.New("failed")
	require.ErrorIs(t, recordcsv.WriteFailures(io.Discard, func(yield func(predictive.Failure, error) bool) {
		require.False(t, yield(predictive.Failure{}, failed))
	}), failed)
	failures, _ := records()
	require.ErrorIs(t, recordcsv.WriteFailures(full{failed}, each(failures)), failed)
}

type full struct{ err error }

func (f full) Write([]byte) (int, error) { return 0, f.err }

func TestEveryRecordIsExported(t *testing.T) {
	s := new(predictive.MemoryRecords)
	var want []predictive.Failure
	for i := range 3500 { // half of them at one time
		f := predictive.Failure{ID: fmt.Sprintf("%06d", i), EquipmentID: "a", Source: predictive.SourceManual, Start: at.Add(time.Duration(max(i-1750, 0)) * time.Second)}
		want = append(want, f)
	}
	require.NoError(t, s.AddFailures(t.Context(), want))
	require.NoError(t, s.AddReplacements(t.Context(), []predictive.Replacement{{ID: "1", EquipmentID: "a", Component: "b", At: at}}))
	got, _, err := collect(t, recordcsv.Failures(t.Context(), s, predictive.RecordQuery{Offset: 5, Limit: 5, Count: true}))
	require.NoError(t, err)
	require.Equal(t, want, got)
	got, _, err = collect(t, recordcsv.Failures(t.Context(), s, predictive.RecordQuery{From: at.Add(time.Second), To: at.Add(3 * time.Second)}))
	require.NoError(t, err)
	require.Equal(t, want[1751:1753], got)
	replacements, _, err := collect(t, recordcsv.Replacements(t.Context(), s, predictive.RecordQuery{EquipmentID: "a"}))
	require.NoError(t, err)
	require.Len(t, replacements, 1)

	var seen []string // a record that is deleted meanwhile hides no other
	for f, err := range recordcsv.Failures(t.Context(), s, predictive.RecordQuery{}) {
		require.NoError(t, err)
		if seen = append(seen, f.ID); len(seen) == 2500 {
			require.NoError(t, s.DeleteFailure(t.Context(), want[2000].ID))
		}
	}
	require.Len(t, slices.Compact(seen), 3500)
}

func FuzzRead(f *testing.F) {
	failures, replacements := records()
	var a, b bytes.Buffer
	require.NoError(f, recordcsv.WriteFailures(&a, each(failures)))
	require.NoError(f, recordcsv.WriteReplacements(&b, each(replacements)))
	f.Add(a.String())
	f.Add(b.String())
	f.Add("equipmentId;start\r\na;2026-01-31 12:00\r\n")
	f.Add("equipmentId,start\n\"a\n")
	o := recordcsv.Options{MaxRows: 50, NewID: func() string { return "new" }}
	f.Fuzz(func(t *testing.T, file string) {
		var read []predictive.Failure
		for r, err := range recordcsv.ReadFailures(strings.NewReader(file), o) {
			if err != nil {
				require.NotEmpty(t, err.Error())
				continue
			}
			require.NoError(t, r.Validate())
			r.Note = strings.ReplaceAll(r.Note, "\r", "")
			read = append(read, r)
		}
		var out bytes.Buffer
		require.NoError(t, recordcsv.WriteFailures(&out, each(read)))
		again, bad, err := collect(t, recordcsv.ReadFailures(&out, o))
		require.NoError(t, err)
		require.Empty(t, bad)
		require.Equal(t, read, again)
		for r, err := range recordcsv.ReadReplacements(strings.NewReader(file), o) {
			require.True(t, err != nil || r.Validate() == nil)
		}
	})
}
