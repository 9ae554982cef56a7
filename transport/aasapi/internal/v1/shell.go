package v1

import (
	"encoding/json"
	"slices"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/fault"
)

// Complete checks that a shell has what these APIs require of every shell, which is more than the
// metamodel does. Fields of the error name what is missing.
func Complete(s *aas.Shell) error {
	var missing []fault.Field
	if s.IDShort == "" {
		missing = append(missing, fault.Field{Field: "idShort", Message: "is required"})
	}
	switch asset := &s.AssetInformation; {
	case asset.AssetKind == "":
		missing = append(missing, fault.Field{Field: "assetInformation.assetKind", Message: "is required"})
	case asset.GlobalAssetID == "" && len(asset.SpecificAssetIDs) == 0:
		missing = append(missing, fault.Field{Field: "assetInformation", Message: "needs globalAssetId or specificAssetIds (AASd-131)"})
	}
	if missing != nil {
		return aas.ErrInvalidRequest.Invalid(missing...)
	}
	return nil
}

// SameID checks the id of a body, which may be omitted, against that of the path, and sets it.
func SameID(body *string, path string) error {
	if *body != "" && *body != path {
		return aas.ErrInvalidRequest.Invalid(fault.Field{Field: "id", Message: "must be that of the path"})
	}
	*body = path
	return nil
}

// Update is a change to a shell: idShort and assetInformation are replaced, every other member is when
// the change has it.
type Update struct {
	shell *aas.Shell
	has   map[string]bool
	short bool // the shell has only what ShortUpdate says
}

// ShortUpdate makes an update from a shell that was given in short: of its asset the kind, the global id
// and the names and values of the specific ids, of references the type and the keys. What has no place in
// that is kept: the rest of the asset, and of ids and references that were there already. Submodels are
// replaced when there are any.
func ShortUpdate(s *aas.Shell) Update {
	return Update{shell: s, has: map[string]bool{"submodels": len(s.Submodels) > 0}, short: true}
}

// ParseUpdate reads a shell, whose id may be omitted, and what of another shell it would update.
func ParseUpdate(body []byte) (*aas.Shell, Update, error) {
	shell, err := aas.Decode[aas.Shell](body)
	if err != nil {
		return nil, Update{}, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		return nil, Update{}, aas.ErrInvalidRequest.Wrap(err)
	}
	u := Update{shell: shell, has: make(map[string]bool, len(members))}
	for name := range members {
		u.has[name] = true
	}
	return shell, u, nil
}

// Apply changes a shell. Its id stays.
func (u Update) Apply(s *aas.Shell) error {
	asset, submodels := u.shell.AssetInformation, u.shell.Submodels
	if u.short {
		asset.AssetType, asset.DefaultThumbnail = s.AssetInformation.AssetType, s.AssetInformation.DefaultThumbnail
		asset.SpecificAssetIDs = completed(asset.SpecificAssetIDs, s.AssetInformation.SpecificAssetIDs,
			func(a, b *aas.SpecificAssetID) bool { return a.Name == b.Name && a.Value == b.Value })
		submodels = completed(submodels, s.Submodels,
			func(a, b *aas.Reference) bool { return a.Type == b.Type && slices.Equal(a.Keys, b.Keys) })
	}
	s.IDShort, s.AssetInformation = u.shell.IDShort, asset
	for name, set := range map[string]func(){
		"extensions":                 func() { s.Extensions = u.shell.Extensions },
		"category":                   func() { s.Category = u.shell.Category },
		"displayName":                func() { s.DisplayName = u.shell.DisplayName },
		"description":                func() { s.Description = u.shell.Description },
		"administration":             func() { s.Administration = u.shell.Administration },
		"embeddedDataSpecifications": func() { s.EmbeddedDataSpecifications = u.shell.EmbeddedDataSpecifications },
		"derivedFrom":                func() { s.DerivedFrom = u.shell.DerivedFrom },
		"submodels":                  func() { s.Submodels = submodels },
	} {
		if u.has[name] {
			set()
		}
	}
	return nil
}

// completed expands a short list: items that were there before stay as they were.
func completed[T any](given, before []T, same func(a, b *T) bool) []T {
	given, before = slices.Clone(given), slices.Clone(before)
	for i := range given {
		if at := slices.IndexFunc(before, func(b T) bool { return same(&b, &given[i]) }); at >= 0 {
			given[i] = before[at]
			before = slices.Delete(before, at, at+1)
		}
	}
	return given
}
