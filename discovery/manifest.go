package discovery

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/internal/runes"
	"github.com/otkit/otkit/tags"
)

// TakeManifest sets what belongs to the manifest: stores call it.
func (b *Binding) TakeManifest(m link.Manifest) {
	b.DriverType, b.ManifestHash, b.TagCount, b.ActiveSubmodels = m.DriverType, m.Hash(), len(m.Tags), Submodels(m)
}

// copyManifest sets what TakeManifest has set in from.
func (b *Binding) copyManifest(from *Binding) {
	b.DriverType, b.ManifestHash, b.TagCount, b.ActiveSubmodels = from.DriverType, from.ManifestHash, from.TagCount, from.ActiveSubmodels
}

// Submodels returns the active submodels of a manifest: all that are available if it does not say.
func Submodels(m link.Manifest) []string {
	active := m.ActiveSubmodels
	if active == nil {
		active = m.AvailableSubmodels
	}
	return slices.Clone(active)
}

// ActiveSubmodelsJSON returns the active submodels as a JSON array.
func (b *Binding) ActiveSubmodelsJSON() string {
	text, err := json.Marshal(append([]string{}, b.ActiveSubmodels...))
	if err != nil {
		return "[]" // strings can be encoded
	}
	return string(text)
}

// Limits of manifests, beyond link.MaxNames tags.
const (
	maxSubmodels = 100
	maxText      = 256
)

// nativeTypes are the types of devices that a manifest may name instead of the types of tags.
var nativeTypes = map[string]tags.DataType{
	"boolean": tags.Bool, "int8": tags.Int, "uint8": tags.Int, "int16": tags.Int, "uint16": tags.Int, "int32": tags.Int, "uint32": tags.Int,
	"int64": tags.Int, "uint64": tags.Int, "float32": tags.Float, "float64": tags.Float, "double": tags.Float, "real": tags.Float,
}

// dataType returns the type of the tag for a type of a manifest. The native type is empty if the two are the same.
func dataType(text string) (t tags.DataType, native string, ok bool) {
	if t = tags.DataType(text); t.Valid() {
		return t, "", true
	}
	if t, ok = nativeTypes[strings.ToLower(text)]; ok {
		return t, text, true
	}
	if name, _, sized := strings.Cut(text, ":"); sized && (name == string(tags.String) || name == string(tags.Bytes)) {
		return tags.DataType(name), text, len(text) <= maxText
	}
	return "", "", false
}

// Tags returns the tags of a bridge: <driver id>.<name>, with the name at the bridge as address. The error is an ErrBadManifest that names
// the first tag that breaks a rule.
func Tags(m link.Manifest) ([]tags.Tag, error) {
	if len(m.Tags) > link.MaxNames {
		return nil, ErrBadManifest.Because("it has %d tags, at most %d are allowed", len(m.Tags), link.MaxNames)
	}
	list := make([]tags.Tag, len(m.Tags))
	seen := make(map[string]bool, len(m.Tags))
	for i := range m.Tags {
		t := &m.Tags[i]
		if seen[t.Name] {
			return nil, ErrBadManifest.Because("tags[%d] has the name %q of another one", i, runes.Shorten(t.Name, 64))
		}
		seen[t.Name] = true
		typ, native, ok := dataType(t.DataType)
		if !ok {
			return nil, ErrBadManifest.Because("tags[%d] has the unknown data type %q", i, runes.Shorten(t.DataType, 64))
		}
		if t.Name == "" {
			return nil, ErrBadManifest.Because("tags[%d] has no name", i)
		}
		list[i] = tags.Tag{Name: m.DriverID + "." + t.Name, Driver: m.DriverID, Address: t.Name, NativeType: native, DataType: typ,
			Access: cmp.Or(tags.AccessMode(t.Access), tags.ReadOnly), Unit: t.Unit, Description: t.Description, Min: t.Min, Max: t.Max}
		if err := list[i].Validate(); err != nil {
			return nil, ErrBadManifest.Because("tags[%d]: %v", i, err)
		}
	}
	return list, nil
}

// checkManifest returns an ErrBadManifest if the manifest breaks a rule.
func checkManifest(m link.Manifest) error {
	driver := tags.Tag{Name: m.DriverID + ".x", Driver: m.DriverID, DataType: tags.Bool}
	if err := driver.Validate(); err != nil {
		return ErrBadManifest.Because("driverId: %v", err)
	}
	if m.DriverType == "" || len(m.DriverType) > maxText || clean(m.DriverType) != m.DriverType {
		return ErrBadManifest.Because("driverType must be 1 to %d printable characters", maxText)
	}
	for name, list := range map[string][]string{"availableSubmodels": m.AvailableSubmodels, "activeSubmodels": m.ActiveSubmodels} {
		if len(list) > maxSubmodels {
			return ErrBadManifest.Because("%s has more than %d items", name, maxSubmodels)
		}
		for i, text := range list {
			if text == "" || len(text) > maxText || clean(text) != text {
				return ErrBadManifest.Because("%s", fmt.Sprintf("%s[%d] must be 1 to %d printable characters", name, i, maxText))
			}
		}
	}
	if m.Shell != nil {
		if err := checkShell(*m.Shell); err != nil {
			return err
		}
	}
	_, err := Tags(m)
	return err
}

// maxShellText is how many bytes a text of a shell may have: an id of 2048 characters fits.
const maxShellText = 4 * 2048

// checkShell bounds the texts. Which rules of the standard they break is a matter of whoever makes the shell.
func checkShell(s link.Shell) error {
	n := s.Nameplate
	for name, text := range map[string]string{"id": s.ID, "idShort": s.IDShort, "assetKind": s.AssetKind, "globalAssetId": s.GlobalAssetID,
		"equipmentCategory": s.EquipmentCategory, "nameplate.manufacturerName": n.ManufacturerName,
		"nameplate.manufacturerProductDesignation": n.ManufacturerProductDesignation, "nameplate.serialNumber": n.SerialNumber,
		"nameplate.yearOfConstruction": n.YearOfConstruction, "nameplate.hardwareVersion": n.HardwareVersion,
		"nameplate.softwareVersion": n.SoftwareVersion} {
		if len(text) > maxShellText || clean(text) != text {
			return ErrBadManifest.Because("shell.%s must be up to %d printable characters", name, maxShellText)
		}
	}
	return nil
}
