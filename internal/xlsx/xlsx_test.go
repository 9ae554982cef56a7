package xlsx_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/xuri/excelize/v2"

	"github.com/otkit/otkit/internal/xlsx"
)

var limits = xlsx.Limits{Columns: 20, Bytes: 1 << 20, Strings: 1 << 16, Text: 1 << 20}

func read(t testing.TB, data []byte) (map[int][]string, error) {
	t.Helper()
	rows := map[int][]string{}
	err := xlsx.Read(bytes.NewReader(data), int64(len(data)), limits, func(number int, cells []string) error {
		rows[number] = append([]string(nil), cells...)
		return nil
	})
	return rows, err
}

var texts = []string{"plain", " blanks ", "two\nlines\tand a tab", "<b>&amp;\"'", "_x0041_ _x005F_ _x00e_", "°C µm 漢字 🙂", "00017", "=1+1", "TRUE", "'"}

// Excelize is the other side: a library that is not ours.
func TestWhatIsWrittenIsReadByOthers(t *testing.T) {
	var b bytes.Buffer
	w, err := xlsx.NewWriter(&b, "A & B", []xlsx.Column{{Name: "text", Text: true}, {Name: "number"}, {Name: "yes"}})
	require.NoError(t, err)
	for i, text := range texts {
		require.NoError(t, w.Write([]any{text, float64(i) / 10, i%2 == 0}))
	}
	require.NoError(t, w.Write([]any{nil, int64(7), nil}))
	require.NoError(t, w.Close())

	f, err := excelize.OpenReader(bytes.NewReader(b.Bytes()))
	require.NoError(t, err)
	require.Equal(t, []string{"A & B"}, f.GetSheetList())
	rows, err := f.GetRows("A & B", excelize.Options{RawCellValue: true})
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.Equal(t, []string{"text", "number", "yes"}, rows[0])
	ours, err := read(t, b.Bytes())
	require.NoError(t, err)
	for i, text := range texts {
		require.Equal(t, []string{text, fmt.Sprint(float64(i) / 10)}, rows[i+1][:2])
		require.Equal(t, []string{text, fmt.Sprint(float64(i) / 10), fmt.Sprint(i%2 == 0)}, ours[i+2])
	}
	require.Equal(t, []string{"", "7"}, rows[len(texts)+1])
	require.Equal(t, []string{"", "7"}, ours[len(texts)+2])
	require.Error(t, w.Write([]any{1}), "an int is not a cell")
}

func TestWhatOthersWriteIsRead(t *testing.T) {
	f := excelize.NewFile()
	for i, text := range texts {
		text = strings.ReplaceAll(text, "_x", "_x005F_x") // the library writes escapes only where it streams
		require.NoError(t, f.SetCellStr("Sheet1", fmt.Sprintf("B%d", i+3), text))
	}
	require.NoError(t, f.SetCellValue("Sheet1", "A1", 0.30000000000000004))
	require.NoError(t, f.SetCellValue("Sheet1", "C1", true))
	require.NoError(t, f.SetCellRichText("Sheet1", "D1", []excelize.RichTextRun{{Text: "rich "}, {Text: "text", Font: &excelize.Font{Bold: true}}}))
	var b bytes.Buffer
	require.NoError(t, f.Write(&b))
	rows, err := read(t, b.Bytes())
	require.NoError(t, err)
	require.Equal(t, []string{"0.30000000000000004", "", "true", "rich text"}, rows[1])
	require.NotContains(t, rows, 2)
	for i, text := range texts {
		require.Equal(t, []string{"", text}, rows[i+3])
	}
}

const relations = `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="a" Type="x/%s" Target="%s"/>%s</Relationships>`

// workbook makes a file with the text of its sheet and of its shared texts.
func workbook(t testing.TB, sheet, shared string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, part := range [][2]string{
		{"_rels/.rels", fmt.Sprintf(relations, "officeDocument", "/XL/book.xml", "")},
		{"xl/book.xml", `<x:workbook xmlns:x="m" xmlns:r="r"><x:sheets><x:sheet name="1" sheetId="7" r:id="a"/><x:sheet name="2" r:id="b"/></x:sheets></x:workbook>`},
		{"xl/_rels/book.xml.rels", fmt.Sprintf(relations, "worksheet", "one.xml", `<Relationship Target='shared.xml' Type='x/sharedStrings' Id='s' />`)},
		{"xl/shared.xml", shared}, {"xl/one.xml", sheet},
	} {
		w, err := z.Create(part[0])
		require.NoError(t, err)
		_, err = io.WriteString(w, part[1])
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	return b.Bytes()
}

const someTexts = "\xef\xbb\xbf<?xml version=\"1.0\"?>\r\n<!-- <si> --><sst><si><t>zero</t></si><si><r><t xml:space=\"preserve\">o</t></r><r><rPr/><t>ne</t></r><rPh sb=\"0\"><t>hint</t></rPh></si><si/></sst>"

func sheetOf(rows string) string { return `<worksheet><sheetData>` + rows + `</sheetData></worksheet>` }

func TestFormsOfCells(t *testing.T) {
	rows, err := read(t, workbook(t, sheetOf(`<row><c t="s"><v>0</v></c><c t="s"><v> 1 </v></c><c t="s"><v>2</v></c><c/></row>`+
		`<row r="3" spans="1:3"><c r="B3" t="str"><f>A1&amp;"&gt;"</f><v>a&#32;&#x62;<![CDATA[<&]]></v></c><c t="e"><v>#N/A</v></c><c t="n"><v>1.1000000000000001</v></c><c><v>1E+2</v></c></row>`+
		`<row/><x:row><x:c t="inlineStr"><x:is><x:t>a`+"\r\n"+`b_x000D_</x:t></x:is></x:c></x:row><row r="9"><c r="XFD9"><v>1</v></c></row>`), someTexts))
	require.NoError(t, err)
	require.Len(t, rows[9], 21, "one more than the limit")
	delete(rows, 9)
	require.Equal(t, map[int][]string{1: {"zero", "one"}, 3: {"", `a b<&`, "#N/A", "1.1", "1E+2"}, 5: {"a\nb\r"}}, rows)
}

func TestWhatIsNoWorkbookIsRefused(t *testing.T) {
	good := workbook(t, sheetOf(`<row><c><v>1</v></c></row>`), someTexts)
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"nothing":         {nil, xlsx.ErrFormat},
		"cut off":         {good[:len(good)-30], xlsx.ErrFormat},
		"no row end":      {workbook(t, `<worksheet><sheetData><row><c><v>1</v></c>`, someTexts), xlsx.ErrDamaged},
		"wrong end":       {workbook(t, sheetOf(`<row><c></row></c>`), someTexts), xlsx.ErrDamaged},
		"end only":        {workbook(t, `</a>`, someTexts), xlsx.ErrDamaged},
		"rows backwards":  {workbook(t, sheetOf(`<row r="2"/><row r="1"/>`), someTexts), xlsx.ErrDamaged},
		"no cell":         {workbook(t, sheetOf(`<row><c r="1A"/></row>`), someTexts), xlsx.ErrDamaged},
		"no shared text":  {workbook(t, sheetOf(`<row><c t="s"><v>3</v></c></row>`), someTexts), xlsx.ErrDamaged},
		"entity":          {workbook(t, `<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>`, someTexts), xlsx.ErrDamaged},
		"reference":       {workbook(t, sheetOf(`<row><c><v>&b;</v></c></row>`), someTexts), xlsx.ErrDamaged},
		"deep":            {workbook(t, strings.Repeat("<a>", 1000)+strings.Repeat("</a>", 1000), someTexts), xlsx.ErrDamaged},
		"long tag":        {workbook(t, "<a "+strings.Repeat(" ", 1000_000)+"/>", someTexts), nil},
		"endless":         {workbook(t, "<a "+strings.Repeat(" ", 1<<20)+"/>", someTexts), xlsx.ErrTooLarge},
		"many texts":      {workbook(t, sheetOf(""), "<sst>"+strings.Repeat("<si><t>0123456789</t></si>", 7000)+"</sst>"), xlsx.ErrTooLarge},
		"not a zip file":  {[]byte("tagId,driverId"), xlsx.ErrFormat},
		"no shared texts": {bytes.ReplaceAll(good, []byte("xl/shared.xml"), []byte("xl/shared.xmx")), xlsx.ErrFormat},
	} {
		_, err := read(t, c.data)
		if c.want == nil {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorIs(t, err, c.want, name)
	}
	own := errors.New("own")
	require.Equal(t, own, xlsx.Read(bytes.NewReader(good), int64(len(good)), limits, func(int, []string) error { return own }))
}

func FuzzSheet(f *testing.F) {
	f.Add(sheetOf(`<row r="3"><c r="B3" t="str"><f>A1</f><v>a&#32;<![CDATA[<&]]></v></c><c t="e"/></row><!-- a -->`), someTexts)
	f.Fuzz(func(t *testing.T, sheet, shared string) {
		_, err := read(t, workbook(t, sheet, shared))
		if err != nil && !errors.Is(err, xlsx.ErrDamaged) && !errors.Is(err, xlsx.ErrTooLarge) {
			t.Fatal(err)
		}
	})
}

func TestLetters(t *testing.T) {
	for i, want := range map[int]string{0: "A", 25: "Z", 26: "AA", 701: "ZZ", 702: "AAA", 16383: "XFD"} {
		require.Equal(t, want, xlsx.Letters(i))
	}
}
