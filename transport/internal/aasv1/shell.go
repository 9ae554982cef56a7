package aasv1

import (
	"encoding/json"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/fault"
)

// Complete says whether a shell has what these surfaces ask of every shell, which is more than the
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

// SameID checks the id of a body, which may be left out, against that of the path, and sets it.
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
}

// NewUpdate makes an update from what is to be changed and the names of the members that it has.
func NewUpdate(s *aas.Shell, members ...string) Update {
	u := Update{s, make(map[string]bool, len(members))}
	for _, name := range members {
		u.has[name] = true
	}
	return u
}

// ParseUpdate reads a shell, whose id may be left out, and what of another shell it would update.
func ParseUpdate(body []byte) (*aas.Shell, Update, error) {
	shell, err := aas.Decode[aas.Shell](body)
	if err != nil {
		return nil, Update{}, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		return nil, Update{}, aas.ErrInvalidRequest.Wrap(err)
	}
	u := NewUpdate(shell)
	for name := range members {
		u.has[name] = true
	}
	return shell, u, nil
}

// Apply changes a shell. Its id stays.
func (u Update) Apply(s *aas.Shell) error {
	s.IDShort, s.AssetInformation = u.shell.IDShort, u.shell.AssetInformation
	for name, set := range map[string]func(){
		"extensions":                 func() { s.Extensions = u.shell.Extensions },
		"category":                   func() { s.Category = u.shell.Category },
		"displayName":                func() { s.DisplayName = u.shell.DisplayName },
		"description":                func() { s.Description = u.shell.Description },
		"administration":             func() { s.Administration = u.shell.Administration },
		"embeddedDataSpecifications": func() { s.EmbeddedDataSpecifications = u.shell.EmbeddedDataSpecifications },
		"derivedFrom":                func() { s.DerivedFrom = u.shell.DerivedFrom },
		"submodels":                  func() { s.Submodels = u.shell.Submodels },
	} {
		if u.has[name] {
			set()
		}
	}
	return nil
}
