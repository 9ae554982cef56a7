package xlsx

import (
	"archive/zip"
	"compress/flate"
	"fmt"
	"io"
	"strconv"
)

// Column describes a column of a sheet that is written.
type Column struct {
	Name string
	// Text makes the cells texts for those who edit them too: what is typed stays as it is, such as 00017.
	Text bool
}

// Writer writes a workbook with one sheet, whose first row has the names of the columns and stays in sight.
type Writer struct {
	archive *zip.Writer
	sheet   io.Writer
	columns []Column
	refs    []string // letters of each column
	row     int
	buf     []byte
}

// NewWriter begins a workbook. It and the following calls write to w as they go.
func NewWriter(w io.Writer, sheet string, columns []Column) (*Writer, error) {
	x := &Writer{archive: zip.NewWriter(w), columns: columns}
	// The texts of sheets are uniform: higher levels take twice the time for a few percent.
	x.archive.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, 3) })
	for _, part := range fixedParts(sheet) {
		w, err := x.archive.Create(part[0])
		if err != nil {
			return nil, err
		}
		if _, err := io.WriteString(w, header+part[1]); err != nil {
			return nil, err
		}
	}
	var err error
	if x.sheet, err = x.archive.Create("xl/worksheets/sheet1.xml"); err != nil {
		return nil, err
	}
	x.buf = append(x.buf, header+`<worksheet xmlns="`+mainSpace+`"><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><cols>`...)
	names := make([]any, len(columns))
	for i, c := range columns {
		names[i] = c.Name
		x.refs = append(x.refs, Letters(i))
		style := 0
		if c.Text {
			style = 1
		}
		x.buf = fmt.Appendf(x.buf, `<col min="%d" max="%d" width="16" customWidth="1" style="%d"/>`, i+1, i+1, style)
	}
	x.buf = append(x.buf, "</cols><sheetData>"...)
	return x, x.Write(names)
}

// Write adds a row. A cell is a string, float64, int64 or bool, or nil for none.
func (x *Writer) Write(cells []any) error {
	x.row++
	x.buf = append(x.buf, `<row r="`...)
	x.buf = append(strconv.AppendInt(x.buf, int64(x.row), 10), `">`...)
	for i, v := range cells {
		if v == nil {
			continue
		}
		x.buf = append(append(x.buf, `<c r="`...), x.refs[i]...)
		x.buf = append(strconv.AppendInt(x.buf, int64(x.row), 10), '"')
		if x.columns[i].Text {
			x.buf = append(x.buf, ` s="1"`...)
		}
		switch v := v.(type) {
		case string:
			x.buf = append(x.buf, ` t="inlineStr"><is><t xml:space="preserve">`...)
			x.buf = append(appendEscaped(x.buf, v), "</t></is></c>"...)
		case float64:
			x.buf = append(x.buf, "><v>"...)
			x.buf = append(strconv.AppendFloat(x.buf, v, 'g', -1, 64), "</v></c>"...)
		case int64:
			x.buf = append(x.buf, "><v>"...)
			x.buf = append(strconv.AppendInt(x.buf, v, 10), "</v></c>"...)
		case bool:
			n := byte('0')
			if v {
				n = '1'
			}
			x.buf = append(append(append(x.buf, ` t="b"><v>`...), n), "</v></c>"...)
		default:
			return fmt.Errorf("xlsx: a cell cannot have a %T", v)
		}
	}
	x.buf = append(x.buf, "</row>"...)
	if len(x.buf) < 32<<10 {
		return nil
	}
	return x.flush()
}

func (x *Writer) flush() error {
	_, err := x.sheet.Write(x.buf)
	x.buf = x.buf[:0]
	return err
}

// Close ends the workbook. It does not close what is written to.
func (x *Writer) Close() error {
	x.buf = append(x.buf, "</sheetData></worksheet>"...)
	if err := x.flush(); err != nil {
		return err
	}
	return x.archive.Close()
}

// Letters returns the name of column i, from 0: A, B, ..., Z, AA.
func Letters(i int) string {
	name := ""
	for i++; i > 0; i = (i - 1) / 26 {
		name = string(rune('A'+(i-1)%26)) + name
	}
	return name
}

const (
	header     = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>` + "\n"
	mainSpace  = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
	relations  = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
	relSpace   = "http://schemas.openxmlformats.org/package/2006/relationships"
	mediaTypes = "application/vnd.openxmlformats-officedocument.spreadsheetml."
)

// fixedParts returns the parts beside the sheet, by name.
func fixedParts(sheet string) [][2]string {
	return [][2]string{
		{"[Content_Types].xml", `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
			`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
			`<Default Extension="xml" ContentType="application/xml"/>` +
			`<Override PartName="/xl/workbook.xml" ContentType="` + mediaTypes + `sheet.main+xml"/>` +
			`<Override PartName="/xl/worksheets/sheet1.xml" ContentType="` + mediaTypes + `worksheet+xml"/>` +
			`<Override PartName="/xl/styles.xml" ContentType="` + mediaTypes + `styles+xml"/></Types>`},
		{"_rels/.rels", `<Relationships xmlns="` + relSpace + `"><Relationship Id="rId1" Type="` + relations + `/officeDocument" Target="xl/workbook.xml"/></Relationships>`},
		{"xl/workbook.xml", `<workbook xmlns="` + mainSpace + `" xmlns:r="` + relations + `"><sheets><sheet name="` + string(appendEscaped(nil, sheet)) + `" sheetId="1" r:id="rId1"/></sheets></workbook>`},
		{"xl/_rels/workbook.xml.rels", `<Relationships xmlns="` + relSpace + `"><Relationship Id="rId1" Type="` + relations + `/worksheet" Target="worksheets/sheet1.xml"/>` +
			`<Relationship Id="rId2" Type="` + relations + `/styles" Target="styles.xml"/></Relationships>`},
		// Style 1 is a text: number format 49 is "@".
		{"xl/styles.xml", `<styleSheet xmlns="` + mainSpace + `"><fonts count="1"><font><sz val="11"/><name val="Calibri"/></font></fonts>` +
			`<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills>` +
			`<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>` +
			`<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>` +
			`<cellXfs count="2"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/><xf numFmtId="49" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/></cellXfs>` +
			`<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>`},
	}
}
