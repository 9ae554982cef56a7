package tagconfig

import (
	"archive/zip"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"github.com/xuri/excelize/v2"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
)

func export(t testing.TB, format Format, items []Config) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, Export(&b, format, slices.Values(items)))
	return b.Bytes()
}

func imported(t testing.TB, format Format, data string) []Config {
	t.Helper()
	items, err := Import(strings.NewReader(data), format)
	require.NoError(t, err)
	return items
}

// awkward are texts that some format or program would change.
var awkward = []string{
	"=1+1", "+49", "-5", "@sum", "'=quoted", "''-", "'plain", "it's", "a;=cmd|' /C calc'!A0", "x,-y", "a;'-b", "\t=x", "-\n=2", `"=3"`, `say "hi"`,
	"＝１", "<b>&amp;", "_x0041_ _x005F_", " blanks ", "00017", "1e5", "TRUE", "#N/A", "°C µm 漢字 🙂", "ns=2;s=Motor.Speed", "40001.3", "'", "''", "-'", "=",
}

func awkwardItems() []Config {
	items := []Config{full()}
	for i, text := range awkward {
		c := described(fmt.Sprintf("t%d", i), text)
		if !strings.ContainsAny(text, "\t\n") {
			c.Address, c.Unit, c.NativeType = text, text, text
			if strings.TrimSpace(text) == text {
				c.TagID, c.DriverID = text, strings.ReplaceAll(text, "/", "")
			}
		}
		c.normalize()
		items = append(items, c)
	}
	return items
}

func TestEveryFormatGivesBackWhatItWasGiven(t *testing.T) {
	items := awkwardItems()
	for _, format := range []Format{CSV, XLSX, JSON} {
		t.Run(string(format), func(t *testing.T) {
			data := export(t, format, items)
			require.Equal(t, items, imported(t, format, string(data)))
			sorted := slices.SortedFunc(slices.Values(items), func(a, b Config) int { return strings.Compare(a.TagID, b.TagID) })
			d := Diff(slices.Values(sorted), imported(t, format, string(data)))
			require.Empty(t, d.Added)
			require.Empty(t, d.Changed)
			require.Len(t, d.Unchanged, len(items))
		})
	}
}

func TestCSVHasNoCellThatIsAFormula(t *testing.T) {
	data := string(export(t, CSV, awkwardItems()))
	require.True(t, strings.HasPrefix(data, "\xef\xbb\xbftagId,driverId,address,dataType,"))
	for _, comma := range []rune{',', ';', '\t'} { // as programs of several locales split it
		in := csv.NewReader(strings.NewReader(data[3:]))
		in.Comma, in.LazyQuotes, in.FieldsPerRecord = comma, true, -1
		rows, err := in.ReadAll()
		require.NoError(t, err)
		for _, row := range rows {
			for _, cell := range row {
				if strings.ContainsAny(cell[:min(1, len(cell))], "=+-@\t") {
					_, msg := parseNumber(cell)
					numbers, _, _ := strings.Cut(cell, ",") // the rest of a line that is not split at all
					_, rest := parseNumber(numbers)
					require.True(t, msg == "" || rest == "", "%q by %q", cell, comma)
				}
			}
		}
	}
}

func TestCSVAsPeopleWriteIt(t *testing.T) {
	want := item("plc.a")
	want.Unit, want.MinValue, want.Offset = "bar", tags.Ptr(-0.5), tags.Ptr(2)
	want.normalize()
	for name, text := range map[string]string{
		"commas":        "tagId,driverId,dataType,unit,minValue,offset\nplc.a,plc,Float,bar,-0.5,2\n",
		"semicolons":    "tagId;driverId;dataType;unit;minValue;offset\r\nplc.a;plc;Float;bar;-0.5;2\r\n",
		"mark":          "\xef\xbb\xbftagId,driverId,dataType,unit,minValue,offset\nplc.a,plc,Float,bar,-0.5,2",
		"other order":   "OFFSET,Unit, MinValue ,TAGID,dataType,driverID\n2,bar, -0.5 , plc.a ,Float,plc\n",
		"empty columns": "tagId,driverId,dataType,unit,minValue,offset,,\nplc.a,plc,Float,bar,-0.5,2,,\n,,,,,,,\n\n",
		"short row":     "offset,unit,minValue,tagId,dataType,driverId,description\n2,bar,-5e-1,plc.a,Float,plc\n",
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, []Config{want}, imported(t, CSV, text))
		})
	}
}

func TestImportNamesEachBadCell(t *testing.T) {
	head := "tagId,driverId,dataType,minValue,maxValue,scalingFactor,intervalMs,confirmWrites,description\n"
	text := head +
		"a,plc,Float,\"0,5\",,,,,\n" + // 2
		"b,plc,Real,,,,,,\"two\nlines\"\n" + // 3
		"\n" + // 4
		"c,plc,Float,2,1,0,1.5,maybe,\n" + // 5
		",,,,,,,,only\n" + // 6
		"d,plc,Float,nan,0x10,1_0,,,,beyond\n" // 7
	want := []string{
		"row 2, column minValue", "row 3, column dataType",
		"row 5, column intervalMs", "row 5, column confirmWrites",
		"row 6, column tagId", "row 6, column driverId", "row 6, column dataType",
		"row 7, column minValue", "row 7, column maxValue", "row 7, column scalingFactor", "row 7, column J",
	}
	_, err := Import(strings.NewReader(text), CSV)
	require.ErrorIs(t, err, ErrSpreadsheet)
	require.Equal(t, want, fields(t, err))
	require.ErrorContains(t, err, "row 2, column minValue must be a finite number with a decimal point")

	_, err = Import(bytes.NewReader(sheetOf(t, text)), XLSX)
	require.Equal(t, want, fields(t, err), "XLSX names the same cells")

	_, err = Import(strings.NewReader(head+"c,plc,Float,2,1,0,,,\n"), CSV)
	require.Equal(t, []string{"row 2, column scalingFactor", "row 2, column minValue"}, fields(t, err))

	_, err = Import(strings.NewReader(head+strings.Repeat("c,plc,Float,x,,,,,\n", 500)), CSV)
	require.Len(t, fields(t, err), maxFaults)

	_, err = Import(strings.NewReader(`[{"tagId":"a","driverId":"d","dataType":"Int"},{"tagId":7},{"tagId":"c"}]`), JSON)
	require.Equal(t, []string{"[1].tagId", "[2].driverId", "[2].dataType"}, fields(t, err))
}

// sheetOf makes an XLSX of a CSV, every cell a string, empty rows left out.
func sheetOf(t testing.TB, text string) []byte {
	t.Helper()
	f := excelize.NewFile()
	in := csv.NewReader(strings.NewReader(text))
	in.FieldsPerRecord = -1
	rows, err := in.ReadAll()
	require.NoError(t, err)
	for i, row := range rows {
		if i >= 3 {
			i++ // the CSV has an empty line there
		}
		require.NoError(t, f.SetSheetRow("Sheet1", fmt.Sprintf("A%d", i+1), &row))
	}
	var b bytes.Buffer
	require.NoError(t, f.Write(&b))
	return b.Bytes()
}

func TestImportRefusesWhatIsNoTable(t *testing.T) {
	for name, c := range map[string]struct{ format, text, place string }{
		"unknown column": {"csv", "tagId,driverId,dataType,colour\n", `row 1, column D the heading "colour" is not known`},
		"a long one":     {"csv", "tagId,driverId,dataType," + strings.Repeat("温", 40) + "\n", strings.Repeat("温", 21) + `" is not known`},
		"twice":          {"csv", "tagId,driverId,dataType,TagId\n", "row 1, column D the heading tagId is there twice"},
		"missing":        {"csv", "tagId,unit\n", "row 1 the column driverId is missing"},
		"open quote":     {"csv", "tagId,driverId,dataType\na,\"b,Int\n", "line 2"},
		"not UTF-8":      {"csv", "tagId,driverId,dataType,unit\na,b,Int,\xb0C\n", `row 2, column D is not UTF-8`},
		"nothing":        {"csv", "", "the list of tags is empty"},
		"header only":    {"csv", "tagId,driverId,dataType\n", "the list of tags is empty"},
		"no XLSX":        {"xlsx", "tagId,driverId,dataType\n", "not an XLSX file"},
		"empty XLSX":     {"xlsx", "", "not an XLSX file"},
		"with password":  {"xlsx", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + strings.Repeat("x", 600), "has a password"},
		"no JSON":        {"json", "{", "line 1"},
		"no JSON later":  {"json", "[\n{\"tagId\":\"a\",\n\"driverId\": x}]", "line 3, character 13: invalid character 'x'"},
		"no comma":       {"json", "[{} \n {}]", "line 2, character 1: expected comma"},
		"cut off":        {"json", "[{},\n{", "line 2, character 2: unexpected end"},
		"more":           {"json", "[] []", "more behind the end"},
		"no list":        {"json", `{"tags":[]}`, "must be an array of tags or a model file"},
		"empty list":     {"json", `[]`, "the list of tags is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Import(strings.NewReader(c.text), Format(c.format))
			require.Equal(t, fault.Invalid, fault.KindOf(err))
			require.ErrorContains(t, err, c.place)
		})
	}
	_, err := Import(iotest.ErrReader(errors.New("cut off")), CSV)
	require.ErrorIs(t, err, ErrSpreadsheet)
	_, err = Import(strings.NewReader(""), "pdf")
	require.ErrorIs(t, err, ErrFormat)
	require.ErrorIs(t, Export(io.Discard, "pdf", slices.Values([]Config(nil))), ErrFormat)
}

func TestImportReadsAModelFile(t *testing.T) {
	require.Equal(t, []string{"a", "b"}, ids(imported(t, JSON, text("a", "b"))))
}

func TestImportHasLimits(t *testing.T) {
	items := []Config{item("a"), item("b"), item("c")}
	for _, format := range []Format{CSV, XLSX, JSON} {
		data := export(t, format, items)
		_, err := Limits{Rows: 3}.Import(bytes.NewReader(data), format)
		require.NoError(t, err)
		_, err = Limits{Rows: 2}.Import(bytes.NewReader(data), format)
		require.ErrorIs(t, err, ErrSheetSize, format)
		_, err = Limits{Bytes: int64(len(data)) - 1}.Import(bytes.NewReader(data), format)
		require.ErrorIs(t, err, ErrSheetSize, format)
	}
	_, err := Limits{Rows: -1}.Import(strings.NewReader(""), CSV)
	require.Error(t, err)

	_, err = Limits{Unzipped: 1 << 18}.Import(bytes.NewReader(bomb(t, 1<<20)), XLSX)
	require.ErrorIs(t, err, ErrSheetSize)

	f := excelize.NewFile()
	require.NoError(t, f.SetCellValue("Sheet1", "XFD1", "far"))
	var wide bytes.Buffer
	require.NoError(t, f.Write(&wide))
	_, err = Import(&wide, XLSX)
	require.ErrorContains(t, err, "row 1 has more than 256 columns")
}

// bomb is a small workbook whose sheet unpacks to size blanks.
func bomb(t testing.TB, size int) []byte {
	t.Helper()
	return withSheet(t, sheetOf(t, "tagId\n"), bytes.Repeat([]byte(" "), size))
}

// A damaged part is not a shorter sheet.
func TestImportRefusesADamagedXLSX(t *testing.T) {
	var items []Config
	for i := range 200 {
		items = append(items, item(fmt.Sprintf("t%d", i)))
	}
	data := export(t, XLSX, items)
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	for _, part := range z.File {
		if part.Name != "xl/worksheets/sheet1.xml" {
			continue
		}
		at, err := part.DataOffset()
		require.NoError(t, err)
		data[at+int64(part.CompressedSize64)/2] ^= 0x55
	}
	_, err = Import(bytes.NewReader(data), XLSX)
	require.ErrorContains(t, err, "the XLSX file is damaged")
}

func TestXLSXAsPeopleMakeIt(t *testing.T) {
	f := excelize.NewFile()
	for cell, value := range map[string]any{
		"A1": "tagId", "B1": "driverId", "C1": "dataType", "D1": "address", "E1": "minValue", "F1": "confirmWrites", "G1": "intervalMs",
		"A3": "a", "B3": "plc", "C3": "Float", "D3": 40001, "E3": 0.1, "F3": true, "G3": 500,
	} {
		require.NoError(t, f.SetCellValue("Sheet1", cell, value))
	}
	percent, err := f.NewStyle(&excelize.Style{NumFmt: 9})
	require.NoError(t, err)
	require.NoError(t, f.SetCellStyle("Sheet1", "E3", "E3", percent))
	var b bytes.Buffer
	require.NoError(t, f.Write(&b))
	got, err := Import(&b, XLSX)
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.Equal(t, "40001", got[0].Address)
	require.InDelta(t, 0.1, *got[0].MinValue, 0, "the value, not how it is shown")
	require.True(t, *got[0].ConfirmWrites)
	require.EqualValues(t, 500, got[0].IntervalMs)
}

func TestFormats(t *testing.T) {
	for _, f := range []Format{CSV, XLSX, JSON} {
		got, err := ParseContentType(f.ContentType())
		require.NoError(t, err)
		require.Equal(t, f, got)
		got, err = ParseFormat(strings.ToUpper(string(f)))
		require.NoError(t, err)
		require.Equal(t, f, got)
	}
	for _, s := range []string{"", "text/plain", ";;"} {
		_, err := ParseContentType(s)
		require.ErrorIs(t, err, ErrFormat)
		_, err = ParseFormat(s)
		require.ErrorIs(t, err, ErrFormat)
	}
	require.Equal(t, "[]\n", string(export(t, JSON, nil)))
}

func TestDiff(t *testing.T) {
	changed := described("b", "new")
	changed.MinValue = tags.Ptr(1)
	old := described("b", "old")
	d := Diff(slices.Values([]Config{old, item("c"), item("z")}), []Config{item("c"), item("a"), item("b"), changed})
	require.Len(t, d.Added, 1)
	require.Equal(t, "a", d.Added[0].TagID)
	require.Equal(t, []Change{{"b", []FieldChange{{"description", "old", "new"}, {"minValue", nil, 1.0}}}}, d.Changed)
	require.Equal(t, []string{"c"}, d.Unchanged)
}
