package aasx_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/aasx"
)

// What is read can be written as JSON and is read again as the same.
func FuzzRead(f *testing.F) {
	f.Add(archive(f, right...))
	f.Add(archive(f, toOrigin, toSpec, origin, entry{spec.name, `<environment xmlns="https://admin-shell.io/aas/3/0"/>`}))
	f.Add(archive(f, with(entry{"aasx/a%20b.txt", "x"}, relation("_rels/x.rels", aasxThumbnail, "/aasx/a%20b.txt"))...))
	f.Add(write(f, &aasx.Package{Environment: aas.Environment{Shells: []*aas.Shell{shell("urn:x")}}, Files: []aasx.File{{Name: "/a.png"}}, Thumbnail: "/a.png"}, aasx.XML))
	f.Fuzz(func(t *testing.T, data []byte) { readAndAgain(t, data) })
}

// A mutated archive is seldom one: here its parts are mutated.
func FuzzParts(f *testing.F) {
	f.Add("aasx/a%20b.txt", relation("", aasxThumbnail, "/aasx/a%20b.txt").text, "<Types/>", []byte("{}"))
	f.Add("../x", toOrigin.text, `<Types><Default Extension="txt" ContentType="text/plain"/></Types>`, []byte(`<environment xmlns="https://admin-shell.io/aas/3/0"/>`))
	f.Add("_rels/.rels", toSpec.text, "", []byte(`{"submodels":[{"modelType":"Submodel","id":"x"}]}`))
	f.Fuzz(func(t *testing.T, name, relations, types string, environment []byte) {
		if len(name) > 1000 {
			return
		}
		readAndAgain(t, archive(t, toOrigin, toSpec, origin, entry{spec.name, string(environment)},
			entry{strings.TrimRight(name, "/"), "x"}, entry{"x/_rels/x.rels", relations}, entry{"[Content_Types].xml", types}))
	})
}

func readAndAgain(t *testing.T, data []byte) {
	p, err := read(data, aasx.Limits{MaxParts: 100, MaxTotalBytes: 1 << 20})
	if err != nil {
		return
	}
	again, err := read(write(t, p, aasx.JSON), aasx.Limits{})
	require.NoError(t, err)
	require.True(t, bytes.Equal(aas.Append(nil, &p.Environment), aas.Append(nil, &again.Environment)))
	require.Equal(t, contents(p), contents(again))
	require.Equal(t, p.Thumbnail, again.Thumbnail)
}

const aasxThumbnail = "http://schemas.openxmlformats.org/package/2006/relationships/metadata/thumbnail"
