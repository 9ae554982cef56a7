package aasx

import (
	"archive/zip"
	"errors"
	"io"
	"math"
	"strings"
)

// The directory of an archive is read before its entries can be counted. So many bytes are enough for the
// longest usual names and the search for its end.
const (
	directoryPerPart = 512
	directoryBeside  = 1 << 20
)

// reader keeps the first error of a reader, and ends after a budget of bytes that can be set again.
type reader struct {
	r      io.ReaderAt
	budget int64
	err    error
}

// ReadAt reads.
func (b *reader) ReadAt(p []byte, off int64) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.r.ReadAt(p, off)
	b.budget -= int64(n)
	if b.budget < 0 {
		err = ErrTooLarge.Because("the directory of its archive is too long")
	}
	if err != nil && !errors.Is(err, io.EOF) {
		b.err = err
	}
	return n, err
}

// openArchive returns the archive's entries other than folders, with all names, sizes and counts checked.
func openArchive(r *reader, size int64, l Limits) ([]*zip.File, error) {
	r.budget = int64(l.MaxParts)*directoryPerPart + directoryBeside
	archive, err := zip.NewReader(r, size)
	if r.err != nil {
		return nil, r.err
	}
	r.budget = math.MaxInt64 // of the entries themselves, the limits say how much is read
	// Names are judged below, by rules of our own.
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return nil, bad("is no ZIP archive, or is cut off")
	}
	if len(archive.File) > l.MaxParts {
		return nil, ErrTooLarge.Because("it has more than %d parts", l.MaxParts)
	}
	names := make(map[string]bool, len(archive.File))
	files := make([]*zip.File, 0, len(archive.File))
	total := uint64(0)
	for _, f := range archive.File {
		folder := strings.HasSuffix(f.Name, "/")
		if err := checkEntry(f, folder, size, l); err != nil {
			return nil, err
		}
		if folder {
			continue
		}
		name := strings.ToLower(decoded(f.Name))
		if names[name] {
			return nil, bad("has two parts with the name %q", name)
		}
		names[name] = true
		if total += f.UncompressedSize64; total > uint64(l.MaxTotalBytes) {
			return nil, ErrTooLarge.Because("its parts expand to more than %d bytes", l.MaxTotalBytes)
		}
		files = append(files, f)
	}
	return files, nil
}

func checkEntry(f *zip.File, folder bool, size int64, l Limits) error {
	path := f.Name
	if folder {
		path = strings.TrimSuffix(path, "/")
	}
	for _, p := range []string{path, decoded(path)[1:]} {
		if why := badName(p); why != "" {
			return bad("has a part whose name %s: %q", why, f.Name)
		}
	}
	switch {
	case f.Flags&1 != 0:
		return bad("is encrypted: part %q", f.Name)
	case f.Method != zip.Store && f.Method != zip.Deflate:
		return bad("has a part compressed with method %d, only deflate is read: %q", f.Method, f.Name)
	case f.CompressedSize64 > uint64(size):
		return bad("has a part that is larger than the archive: %q", f.Name)
	case f.UncompressedSize64 > uint64(l.MaxPartBytes):
		return ErrTooLarge.Because("part %q expands to more than %d bytes", f.Name, l.MaxPartBytes)
	case f.UncompressedSize64 > ratioFloor && f.UncompressedSize64/uint64(l.MaxRatio) > f.CompressedSize64:
		return ErrTooLarge.Because("part %q expands to more than %d times its size", f.Name, l.MaxRatio)
	}
	return nil
}

// readPart returns the content of an entry. It takes the memory that the entry declares, which openArchive
// has limited, and no more: archive/zip finds out one that has more or less, and checks the sum.
func readPart(f *zip.File) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, bad("has a damaged part: %q", f.Name)
	}
	data := make([]byte, f.UncompressedSize64)
	_, err = io.ReadFull(r, data)
	if err == nil {
		if _, err = io.ReadFull(r, make([]byte, 1)); err == nil {
			err = zip.ErrFormat
		} else if errors.Is(err, io.EOF) {
			err = nil
		}
	}
	if err = errors.Join(err, r.Close()); err != nil {
		return nil, bad("has a damaged part: %q", f.Name)
	}
	return data, nil
}
