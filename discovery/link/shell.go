package link

import "strings"

// Shell is the identity of the asset administration shell of a bridge.
type Shell struct {
	ID            string `json:"id"`
	IDShort       string `json:"idShort"`
	AssetKind     string `json:"assetKind"` // Instance
	GlobalAssetID string `json:"globalAssetId"`

	EquipmentCategory string    `json:"equipmentCategory,omitempty"` // for the rules that map tags to submodels
	Nameplate         Nameplate `json:"nameplate,omitzero"`
}

// Nameplate has what the bridge knows of its machine for the submodel Nameplate. What is empty is not known.
type Nameplate struct {
	ManufacturerName               string `json:"manufacturerName,omitempty"`
	ManufacturerProductDesignation string `json:"manufacturerProductDesignation,omitempty"`
	SerialNumber                   string `json:"serialNumber,omitempty"`
	YearOfConstruction             string `json:"yearOfConstruction,omitempty"` // four digits
	HardwareVersion                string `json:"hardwareVersion,omitempty"`
	SoftwareVersion                string `json:"softwareVersion,omitempty"`
}

// DefaultShell returns the shell of a bridge whose configuration does not say otherwise. The id of the bridge must not be empty.
func DefaultShell(bridgeID string) Shell {
	return Shell{ID: "urn:otkit:bridge:" + bridgeID, IDShort: idShort(bridgeID), AssetKind: "Instance", GlobalAssetID: "urn:otkit:asset:bridge:" + bridgeID}
}

// ShellOrDefault returns the shell of a manifest, or the default one if it has none.
func (m *Manifest) ShellOrDefault() Shell {
	if m.Shell == nil {
		return DefaultShell(m.BridgeID)
	}
	return *m.Shell
}

// idShort returns a text by the rules of the standard: 2 to 128 letters, digits, - and _, with a letter at the beginning and no - at the end.
func idShort(text string) string {
	text = strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, text)
	if c := text[0] | 0x20; c < 'a' || c > 'z' || len(text) < 2 {
		text = "Bridge_" + text
	}
	return strings.TrimRight(text[:min(len(text), 128)], "-")
}
