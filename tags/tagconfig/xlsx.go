package tagconfig

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"

	"github.com/xuri/excelize/v2"
)

const (
	sheetName   = "Tags"
	maxZipParts = 1000
	textFormat  = 49 // the built-in number format "@": a spreadsheet program leaves the cell as it is typed
)

func exportXLSX(w io.Writer, items []Config) (err error) {
	f := excelize.NewFile()
	defer func() {
		if closing := f.Close(); err == nil {
			err = closing
		}
	}()
	if err := f.SetSheetName("Sheet1", sheetName); err != nil {
		return err
	}
	out, err := f.NewStreamWriter(sheetName)
	if err != nil {
		return err
	}
	if err := layOut(f, out); err != nil {
		return err
	}
	row := make([]any, len(columns))
	for i := range columns {
		row[i] = columns[i].name
	}
	if err := out.SetRow("A1", row); err != nil {
		return err
	}
	for k := range items {
		for i := range columns {
			row[i] = columns[i].get(&items[k])
		}
		if err := out.SetRow(fmt.Sprintf("A%d", k+2), row); err != nil {
			return err
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return f.Write(w)
}

// layOut makes the text columns text, so that an address like 00017 stays one when it is edited, and
// keeps the headings in sight.
func layOut(f *excelize.File, out *excelize.StreamWriter) error {
	text, err := f.NewStyle(&excelize.Style{NumFmt: textFormat})
	if err != nil {
		return err
	}
	for i := range columns {
		if !columns[i].text {
			continue
		}
		if err := out.SetColStyle(i+1, i+1, text); err != nil {
			return err
		}
	}
	return out.SetPanes(&excelize.Panes{Freeze: true, YSplit: 1, TopLeftCell: "A2", ActivePane: "bottomLeft"})
}

func importXLSX(data []byte, l Limits) (items []Config, err error) {
	if err := checkZip(data, l.Unzipped); err != nil {
		return nil, err
	}
	// The library is given files of strangers, and has panicked on damaged ones before.
	defer func() {
		if cause := recover(); cause != nil {
			items, err = nil, ErrSpreadsheet.Because("the XLSX file is damaged").Wrap(fmt.Errorf("panic: %v", cause))
		}
	}()
	f, err := excelize.OpenReader(bytes.NewReader(data), excelize.Options{RawCellValue: true, UnzipSizeLimit: l.Unzipped})
	if err != nil {
		return nil, ErrSpreadsheet.Because("it is not an XLSX file").Wrap(err)
	}
	defer func() { _ = f.Close() }() // removes temporary files; nothing is written
	sheets := f.GetSheetList()
	if len(sheets) == 0 {
		return nil, ErrSpreadsheet.Because("it has no sheet")
	}
	rows, err := f.Rows(sheets[0])
	if err != nil {
		return nil, ErrSpreadsheet.Because("its first sheet cannot be read").Wrap(err)
	}
	defer func() { _ = rows.Close() }()
	return readRows(rows, l.Rows)
}

func readRows(rows *excelize.Rows, maxRows int) ([]Config, error) {
	t := table{maxRows: maxRows}
	for number := 1; rows.Next(); number++ {
		cells, err := rows.Columns()
		if err != nil {
			return nil, ErrSpreadsheet.Because("row %d cannot be read", number).Wrap(err)
		}
		if number == 1 {
			t.header(cells)
			if len(t.bad.list) > 0 {
				break
			}
			continue
		}
		more, err := t.row(number, cells)
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
	}
	if err := rows.Error(); err != nil {
		return nil, ErrSpreadsheet.Because("its first sheet cannot be read").Wrap(err)
	}
	return t.result()
}

// checkZip reads every part to its end: the library takes a part with a wrong checksum, or one that
// is cut off, for a shorter sheet, and part of a configuration is worse than none.
func checkZip(data []byte, limit int64) error {
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return ErrSpreadsheet.Because("it is not an XLSX file, or has a password").Wrap(err)
	}
	if len(archive.File) > maxZipParts {
		return ErrSpreadsheet.Because("more than %d parts in one XLSX file", maxZipParts)
	}
	for _, part := range archive.File {
		n, err := readPart(part, limit)
		if limit -= n; limit < 0 {
			return ErrSheetSize.Because("the XLSX file unpacks to too much")
		}
		if err != nil {
			return ErrSpreadsheet.Because("the XLSX file is damaged").Wrap(err)
		}
	}
	return nil
}

// readPart reads at most limit+1 bytes and returns how many there were.
func readPart(part *zip.File, limit int64) (int64, error) {
	r, err := part.Open()
	if err != nil {
		return 0, err
	}
	defer func() { _ = r.Close() }()
	return io.Copy(io.Discard, io.LimitReader(r, limit+1))
}
