package aasx_test

import (
	"archive/zip"
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/aasx"
)

// What is read can be written as JSON and is read again as the same.
// The archives are small, so that the fuzzer does not spend its time on making them smaller, and not compressed.
func FuzzRead(f *testing.F) {
	f.Add(archiveBy(f, zip.Store))
	f.Add(archiveBy(f, zip.Store, entry{"a", "x"}))
	f.Add(archiveBy(f, zip.Store, entry{"_rels/.rels", "<a/>"}))
	f.Fuzz(func(t *testing.T, data []byte) { readAndAgain(t, data) })
}

// A mutated archive is seldom one: here its parts are mutated.
func FuzzParts(f *testing.F) {
	f.Add("aasx/a%20b.txt", relation("", aasxThumbnail, "/aasx/a%20b.txt").text, "<Types/>", []byte("{}"))
	f.Add("../x", toOrigin.text, `<Types><Default Extension="txt" ContentType="text/plain"/></Types>`, []byte(`<environment xmlns="https://admin-shell.io/aas/3/0"/>`))
	f.Add("_rels/.rels", toSpec.text, "", []byte(`{"submodels":[{"modelType":"Submodel","id":"x"}]}`))
	f.Fuzz(func(t *testing.T, name, relations, types string, environment []byte) {
		if len(name)+len(relations)+len(types)+len(environment) > 2000 {
			return
		}
		readAndAgain(t, archiveBy(t, zip.Store, toOrigin, toSpec, origin, entry{spec.name, string(environment)},
			entry{strings.TrimRight(name, "/"), "x"}, entry{"x/_rels/x.rels", relations}, entry{"[Content_Types].xml", types}))
	})
}

func readAndAgain(t *testing.T, data []byte) {
	p, err := read(data, aasx.Limits{MaxParts: 20, MaxTotalBytes: 64 << 10})
	if err != nil {
		return
	}
	if len(data) > 16<<10 {
		return
	}
	again, err := read(write(t, p, aasx.JSON), aasx.Limits{})
	require.NoError(t, err)
	require.True(t, bytes.Equal(aas.Append(nil, &p.Environment), aas.Append(nil, &again.Environment)))
	require.Equal(t, contents(p), contents(again))
	require.Equal(t, p.Thumbnail, again.Thumbnail)
}

const aasxThumbnail = "http://schemas.openxmlformats.org/package/2006/relationships/metadata/thumbnail"
