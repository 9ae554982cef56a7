package aasx

import (
	"errors"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/aasxml"
)

// Package is the content of an AASX package.
type Package struct {
	Environment aas.Environment
	Files       []File
	// Thumbnail is the name of the file that stands for the package; empty for none.
	Thumbnail string
}

// File is a part of a package that is neither an environment nor about the package itself.
type File struct {
	// Name is the absolute path of the part, such as "/aasx/files/manual.pdf", without percent-encoding.
	// Names are compared without regard to case.
	Name        string
	ContentType string // media type; empty is written as application/octet-stream
	Data        []byte
}

// Limits of a package that is read. 0 means the default.
type Limits struct {
	MaxParts      int   // entries of the archive; default 10,000
	MaxPartBytes  int64 // of one part, expanded; default 128 MiB
	MaxFileBytes  int64 // of one part that is a [File], expanded; default and most MaxPartBytes
	MaxTotalBytes int64 // of all parts, expanded; default 256 MiB
	// MaxRatio is how many times its compressed size a part above 1 MiB may have; default 200. Deflate
	// reaches 1032, real XML about 50.
	MaxRatio int
	// XML limits each environment that is XML; its MaxBytes is at most MaxPartBytes.
	XML aasxml.Limits
}

// ratioFloor is the size below which a part may be compressed as well as it can be.
const ratioFloor = 1 << 20

// maxMetadataBytes limits the content types and relationships together: about 100 bytes a part.
const maxMetadataBytes = 16 << 20

func (l Limits) withDefaults() (Limits, error) {
	if l.MaxParts < 0 || l.MaxPartBytes < 0 || l.MaxFileBytes < 0 || l.MaxTotalBytes < 0 || l.MaxRatio < 0 {
		return l, errors.New("aasx: Limits: has to be 0 or above")
	}
	if l.MaxParts == 0 {
		l.MaxParts = 10_000
	}
	if l.MaxPartBytes == 0 {
		l.MaxPartBytes = 128 << 20
	}
	if l.MaxFileBytes == 0 || l.MaxFileBytes > l.MaxPartBytes {
		l.MaxFileBytes = l.MaxPartBytes
	}
	if l.MaxTotalBytes == 0 {
		l.MaxTotalBytes = 256 << 20
	}
	if l.MaxRatio == 0 {
		l.MaxRatio = 200
	}
	return l, nil
}

// Format is the form of the environment within a package.
type Format string

// The formats.
const (
	XML  Format = "xml" // the default, unless XML has no form for a part of the environment: every tool reads it
	JSON Format = "json"
)

// Options of [Write].
type Options struct {
	Format Format
	// V30 writes the environment for readers of metamodel 3.0: see [aasxml.EncodeV30].
	V30 bool
}
