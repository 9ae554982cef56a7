package tagconfig

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/fault"
)

// viewOf returns the configuration that a model file is.
func viewOf(m *model) *view {
	d := emptyView(header{}).draft()
	d.adopt(m, 0, nil)
	return &d.view
}

func encoded(t testing.TB, m *model) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, viewOf(m).encode(&b))
	return b.Bytes()
}

// A model file that is taken is written and read back as the same, with all its members.
func FuzzModelFile(f *testing.F) {
	f.Add([]byte(text("a", "b")))
	f.Add([]byte(`{"variables":[{"tagId":"a","driverId":"d","dataType":"Int","x":{"y":[1,{}]},"TAGID":"b"}],"q":null,"q":1}`))
	f.Add([]byte("\xef\xbb\xbf{\"modelName\":\"\\u2028<>\",\n\"variables\":[null]}"))
	f.Add([]byte(`{"variables":[],"variables":[{"tagId":"a","driverId":"d","dataType":"Bytes","offset":-1e-7}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parseModel(data, 1000)
		if err != nil {
			require.ErrorIs(t, err, ErrModelFile)
			return
		}
		once := encoded(t, m)
		back, err := parseModel(once, 1000)
		require.NoError(t, err, "%s", once)
		require.Equal(t, viewOf(m).configured(), viewOf(back).configured())
		require.Equal(t, string(once), string(encoded(t, back)))
	})
}

// What is imported passes Bulk's checks and survives export and import.
func fuzzImport(t *testing.T, data []byte, format Format) {
	items, err := Limits{Rows: 1000, Bytes: 1 << 20, Unzipped: 4 << 20}.Import(bytes.NewReader(data), format)
	if err != nil {
		require.NotEqual(t, fault.Internal, fault.KindOf(err), "%v", err)
		return
	}
	for i := range items {
		require.NoError(t, items[i].Validate())
	}
	require.Equal(t, items, imported(t, format, string(export(t, format, items))))
}

func FuzzImportCSV(f *testing.F) {
	f.Add([]byte("tagId,driverId,dataType\na,b,Int\n"))
	f.Add([]byte("\xef\xbb\xbftagId;driverId;dataType;minValue\r\n'=a;b;Int;-1e9\r\n"))
	f.Add([]byte("description,tagId,driverId,dataType,confirmWrites,intervalMs\n\"a\n\n'=\"\"x\",b,c,Float,1,5e2\n"))
	var awkward bytes.Buffer
	_ = Export(&awkward, CSV, slices.Values(awkwardItems()))
	f.Add(awkward.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) { fuzzImport(t, data, CSV) })
}

// Most mutations of a zip file only break its checksums, so that what does not begin as a zip file is
// taken for the text of the sheet.
func FuzzImportXLSX(f *testing.F) {
	good := sheetOf(f, "tagId,driverId,dataType\na,b,Int\n")
	f.Add(good)
	f.Add(good[:len(good)/2])
	f.Add([]byte(`<worksheet><sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>tagId</t></is></c><c t="str"><v>driverId</v></c>` +
		`<c r="C1" t="str"><v>dataType</v></c><c r="D1" t="str"><v>minValue</v></c></row>` +
		`<row r="3"><c t="str"><v>a</v></c><c t="s"><v>0</v></c><c t="str"><f>1+1</f><v>Int</v></c><c s="1"><v>1E-3</v></c></row></sheetData></worksheet>`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if !bytes.HasPrefix(data, []byte("PK")) {
			data = withSheet(t, good, data)
		}
		fuzzImport(t, data, XLSX)
	})
}

// withSheet returns the workbook with another text in its sheet.
func withSheet(t testing.TB, workbook, sheet []byte) []byte {
	t.Helper()
	from, err := zip.NewReader(bytes.NewReader(workbook), int64(len(workbook)))
	require.NoError(t, err)
	var b bytes.Buffer
	to := zip.NewWriter(&b)
	for _, part := range from.File {
		if part.Name != "xl/worksheets/sheet1.xml" {
			require.NoError(t, to.Copy(part))
			continue
		}
		w, err := to.Create(part.Name)
		require.NoError(t, err)
		_, err = w.Write(sheet)
		require.NoError(t, err)
	}
	require.NoError(t, to.Close())
	return b.Bytes()
}

// The fast reader reads what it takes as encoding/json does.
func FuzzItem(f *testing.F) {
	for _, text := range []string{
		`{"tagId":"a","driverId":"d\u00e9\\\"","dataType":"Int","minValue":null,"maxValue":-1.5e3,"intervalMs":7,"confirmWrites":false}`,
		" {\n\"tagId\" : \"a\" , \"minValue\":1 ,\"minValue\":null}", `{"intervalMs":1.0,"offset":01}`, `{"confirmWrites":truefalse,}`, `{"tagId":"\xff"}`, `{"unit":null}`, `{}`, `null`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var fast, slow Config
		if !fast.decodeFast(data, words{}) {
			return
		}
		require.NoError(t, json.Unmarshal(data, (*plain)(&slow)), "%s", data)
		require.NoError(t, slow.findNulls(data))
		require.Equal(t, slow, fast)
		text, err := fast.AppendJSON(nil)
		require.NoError(t, err)
		var again Config
		require.True(t, again.decodeFast(text, nil), "%s", text)
		again.NoMin, again.NoMax, again.MinValue, again.MaxValue = fast.NoMin, fast.NoMax, fast.MinValue, fast.MaxValue
		require.Equal(t, fast, again)
	})
}
