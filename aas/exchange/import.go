package exchange

import (
	"context"
	"slices"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/aasx"
	"github.com/otkit/otkit/aas/repository"
)

// Import keeps a package in a service, as [repository.Service.Import] does. A shell has no place for the thumbnail
// of its package but that of its asset: the first shell gets it there, unless it has another one or a shell
// of the package names it already. [Export] makes it that of a package again.
func Import(ctx context.Context, s *repository.Service, p *aasx.Package, o repository.ImportOptions) (repository.ImportReport, error) {
	files := make([]repository.ImportFile, len(p.Files))
	for i, f := range p.Files {
		files[i] = repository.ImportFile(f)
	}
	env := p.Environment
	if thumbnail := thumbnailOf(p); thumbnail != nil {
		first := *env.Shells[0]
		first.AssetInformation.DefaultThumbnail = thumbnail
		env.Shells = slices.Clone(env.Shells)
		env.Shells[0] = &first
	}
	return s.Import(ctx, &env, files, o)
}

// thumbnailOf returns what the first shell of a package is to have as its thumbnail, nil for what it has.
func thumbnailOf(p *aasx.Package) *aas.Resource {
	shells := p.Environment.Shells
	at := slices.IndexFunc(p.Files, func(f aasx.File) bool { return p.Thumbnail != "" && f.Name == p.Thumbnail })
	if at < 0 || len(shells) == 0 || shells[0] == nil || shells[0].AssetInformation.DefaultThumbnail != nil {
		return nil
	}
	name := aas.NewFileNames([]string{p.Thumbnail})
	for _, s := range shells {
		if s == nil || s.AssetInformation.DefaultThumbnail == nil {
			continue
		}
		if _, named := name.Find(s.AssetInformation.DefaultThumbnail.Path); named {
			return nil
		}
	}
	return &aas.Resource{Path: aas.FileValue(p.Thumbnail), ContentType: p.Files[at].ContentType}
}
