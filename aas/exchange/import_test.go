package exchange_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/aasx"
	"github.com/otkit/otkit/aas/exchange"
	"github.com/otkit/otkit/aas/repository"
)

func picture(name string) aasx.File {
	return aasx.File{Name: name, ContentType: "image/png", Data: []byte(name)}
}

func TestTheThumbnailOfAPackageStays(t *testing.T) {
	thumbnail := func(p *aasx.Package, shell int) *aas.Resource {
		return p.Environment.Shells[shell].AssetInformation.DefaultThumbnail
	}
	p := &aasx.Package{
		Environment: aas.Environment{Shells: []*aas.Shell{shell("urn:s:1"), shell("urn:s:2")}},
		Files:       []aasx.File{picture("/cover page.png"), picture("/other.png")}, Thumbnail: "/cover page.png",
	}
	s := newService(t)
	bring(t, s, again(t, p, exchange.AASX), repository.ImportOptions{})
	require.Nil(t, thumbnail(p, 0), "what the caller has is not changed")
	f, err := s.Thumbnail(t.Context(), "urn:s:1")
	require.NoError(t, err)
	require.Equal(t, "/cover page.png", string(f.Data))
	require.Equal(t, "image/png", f.ContentType)
	out := again(t, gather(t, s, everything), exchange.AASX)
	require.Equal(t, p.Thumbnail, out.Thumbnail)
	require.ElementsMatch(t, p.Files, out.Files)
	require.Nil(t, thumbnail(out, 1))
	out.Thumbnail = "" // the shell has it still
	bring(t, s, out, repository.ImportOptions{Replace: true})
	require.Equal(t, p.Thumbnail, gather(t, s, everything).Thumbnail)

	own := &aas.Resource{Path: "/other.png"}
	for name, c := range map[string]struct{ first, second *aas.Resource }{
		"the first shell has another":  {own, nil},
		"it is that of a later shell":  {nil, &aas.Resource{Path: "file:/Cover%20page.png"}},
		"the package has no thumbnail": {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := again(t, p, exchange.AASX)
			p.Environment.Shells[0].AssetInformation.DefaultThumbnail = c.first
			p.Environment.Shells[1].AssetInformation.DefaultThumbnail = c.second
			if c.first == nil && c.second == nil {
				p.Thumbnail = ""
			}
			s := newService(t)
			bring(t, s, p, repository.ImportOptions{})
			out := gather(t, s, everything)
			require.Equal(t, c.first, thumbnail(out, 0))
			require.Equal(t, c.second, thumbnail(out, 1))
			require.ElementsMatch(t, p.Files, out.Files)
		})
	}
}

func TestAThumbnailThatNoShellCanHaveIsAFile(t *testing.T) {
	p := &aasx.Package{
		Environment: aas.Environment{Submodels: []*aas.Submodel{submodel("urn:m")}},
		Files:       []aasx.File{picture("/cover.png")}, Thumbnail: "/cover.png",
	}
	s := newService(t)
	bring(t, s, p, repository.ImportOptions{})
	require.Equal(t, p.Files, gather(t, s, everything).Files)
}
