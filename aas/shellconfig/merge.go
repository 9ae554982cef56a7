package shellconfig

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/otkit/otkit/fault"
)

// merge sets the members that a JSON object has and leaves the others as they are. It returns what is wrong with those that are there.
func (c *Config) merge(object json.RawMessage) (bad []fault.Field) {
	n := &c.Nameplate
	return set("", object, map[string]any{
		"id": &c.ID, "idShort": &c.IDShort, "globalAssetId": &c.GlobalAssetID, "equipmentCategory": &c.EquipmentCategory,
		"activeSubmodels": &c.ActiveSubmodels, "availableSubmodels": nil, // what was read can be put
		"nameplate": map[string]any{
			"manufacturerName": &n.ManufacturerName, "manufacturerProductDesignation": &n.ManufacturerProductDesignation,
			"serialNumber": &n.SerialNumber, "yearOfConstruction": &n.YearOfConstruction,
			"hardwareVersion": &n.HardwareVersion, "softwareVersion": &n.SoftwareVersion,
		},
	})
}

// set decodes the members of an object into places: strings, lists of strings, objects, and nil for what is ignored.
func set(path string, object json.RawMessage, places map[string]any) (bad []fault.Field) {
	wrong := func(field, message string) { bad = append(bad, fault.Field{Field: field, Message: message}) }
	var given map[string]json.RawMessage
	if json.Unmarshal(object, &given) != nil || given == nil {
		wrong(path, "must be an object")
		return bad
	}
	prefix := path
	if prefix != "" {
		prefix += "."
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		field := prefix + name
		place, known := places[name]
		switch place := place.(type) {
		case map[string]any:
			bad = append(bad, set(field, given[name], place)...)
		case *string:
			var text *string
			if json.Unmarshal(given[name], &text) != nil || text == nil {
				wrong(field, "must be a string")
			} else {
				*place = *text
			}
		case *[]string:
			var list []string
			if json.Unmarshal(given[name], &list) != nil || list == nil {
				wrong(field, "must be an array of strings")
			} else {
				*place = list
			}
		default:
			if !known {
				wrong(field, "is not a member of the configuration")
			}
		}
	}
	return bad
}
