package tagconfig

import (
	"bytes"
	"errors"
	"io"
	"iter"

	"github.com/otkit/otkit/internal/xlsx"
)

const (
	sheetName = "Tags"
	// maxPacked and maxShared bound what of an XLSX file is in memory, in bytes: the file itself, and the texts that its
	// cells share. Of 100,000 tags each has less than 20 MB.
	maxPacked = 64 << 20
	maxShared = 64 << 20
	maxText   = 128 << 20 // bytes of all cells: those of a text that cells share count for each
)

func exportXLSX(w io.Writer, items iter.Seq[Config]) error {
	head := make([]xlsx.Column, len(columns))
	for i := range columns {
		// Text, so that an address like 00017 stays one when it is edited.
		head[i] = xlsx.Column{Name: columns[i].name, Text: columns[i].text}
	}
	out, err := xlsx.NewWriter(w, sheetName, head)
	if err != nil {
		return err
	}
	row := make([]any, len(columns))
	for c := range items {
		for i := range columns {
			row[i] = columns[i].get(&c)
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	return out.Close()
}

func (t *table) importXLSX(r io.Reader) error {
	file, size, err := t.randomAccess(r)
	if err != nil {
		return err
	}
	limits := xlsx.Limits{Columns: maxColumns, Bytes: t.limits.Unzipped, Strings: maxShared, Text: int(min(t.limits.Bytes, maxText))}
	first := true
	err = xlsx.Read(file, size, limits, func(number int, cells []string) error {
		if first {
			first = false
			return t.header(number, cells)
		}
		return t.row(number, cells)
	})
	switch {
	case errors.Is(err, xlsx.ErrFormat):
		return ErrSpreadsheet.Because("it is not an XLSX file, or has a password").Wrap(err)
	case errors.Is(err, xlsx.ErrDamaged): // also where rows were fine: part of a configuration is worse than none
		return ErrSpreadsheet.Because("the XLSX file is damaged").Wrap(err)
	case errors.Is(err, xlsx.ErrTooLarge):
		return ErrSheetSize.Because("the XLSX file unpacks to too much")
	}
	return err
}

// randomAccess returns the file and its size.
func (t *table) randomAccess(r io.Reader) (io.ReaderAt, int64, error) {
	file, ok := r.(interface {
		io.ReaderAt
		io.Seeker
	})
	if ok {
		size, err := file.Seek(0, io.SeekEnd)
		if err != nil {
			return nil, 0, notRead(err)
		}
		if size > t.limits.Bytes {
			return nil, 0, ErrSheetSize.Because("at most %d bytes", t.limits.Bytes)
		}
		return file, size, nil
	}
	data, err := io.ReadAll(&bounded{r: r, left: min(t.limits.Bytes, maxPacked)})
	if err != nil {
		return nil, 0, notRead(err)
	}
	return bytes.NewReader(data), int64(len(data)), nil
}
