package shellconfig

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/otkit/otkit/aas/tagmap"
	"github.com/otkit/otkit/fault"
)

// Errors of the package.
var (
	ErrInvalid = fault.New(fault.Invalid, "INVALID_AAS_CONFIG", "the configuration of the shell is not valid")
	// ErrChanged means that the configuration is not the one that the caller named.
	ErrChanged = fault.New(fault.Conflict, "VERSION_CHANGED", "the configuration of the shell has changed meanwhile")
	// ErrStore means that the configuration could not be stored. The one before stays.
	ErrStore = fault.New(fault.Unavailable, "AAS_CONFIG_NOT_STORED", "the configuration of the shell could not be stored")
)

// Config describes a shell.
type Config struct {
	ID                string `json:"id"`      // of the shell
	IDShort           string `json:"idShort"` // letters, digits, _ and -, from a letter on
	GlobalAssetID     string `json:"globalAssetId"`
	EquipmentCategory string `json:"equipmentCategory,omitempty"` // for the rules that map tags; empty for the neutral ones
	// ActiveSubmodels are the idShorts of the submodels that the shell has. Nil: all that tags fill.
	ActiveSubmodels []string  `json:"activeSubmodels,omitzero"`
	Nameplate       Nameplate `json:"nameplate,omitzero"`
}

// Nameplate has members of the submodel Nameplate. What is empty is omitted.
type Nameplate struct {
	ManufacturerName               string `json:"manufacturerName,omitempty"`
	ManufacturerProductDesignation string `json:"manufacturerProductDesignation,omitempty"`
	SerialNumber                   string `json:"serialNumber,omitempty"`
	YearOfConstruction             string `json:"yearOfConstruction,omitempty"` // four digits
	HardwareVersion                string `json:"hardwareVersion,omitempty"`
	SoftwareVersion                string `json:"softwareVersion,omitempty"`
}

const (
	maxID       = 2000 // characters, as the standard has it
	maxIDShort  = 128
	maxCategory = 128
	maxValue    = 256
	maxFaults   = 20 // that an error names
)

var (
	idShortForm = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_-]*[A-Za-z0-9_])?$`)
	yearForm    = regexp.MustCompile(`^[0-9]{4}$`)
)

// allTargets are the submodels that tags can be mapped to.
var allTargets = []string{string(tagmap.OperationalData), string(tagmap.TechnicalData), string(tagmap.Nameplate), string(tagmap.TimeSeries)}

// Validate returns an ErrInvalid that names each bad member.
func (c Config) Validate() error { return refuse(c.faults(allTargets)) }

func refuse(bad []fault.Field) error {
	if len(bad) == 0 {
		return nil
	}
	return ErrInvalid.Invalid(bad[:min(len(bad), maxFaults)]...)
}

// faults returns what is wrong. available are the submodels that there can be.
func (c Config) faults(available []string) (bad []fault.Field) {
	add := func(ok bool, field, message string) {
		if !ok {
			bad = append(bad, fault.Field{Field: field, Message: message})
		}
	}
	add(c.ID != "" && fits(c.ID, maxID), "id", fmt.Sprintf("must have 1 to %d characters", maxID))
	add(len(c.IDShort) <= maxIDShort && idShortForm.MatchString(c.IDShort), "idShort",
		fmt.Sprintf("must have up to %d letters, digits, _ and -, begin with a letter and not end with -", maxIDShort))
	add(c.GlobalAssetID != "" && fits(c.GlobalAssetID, maxID), "globalAssetId", fmt.Sprintf("must have 1 to %d characters", maxID))
	add(fits(c.EquipmentCategory, maxCategory), "equipmentCategory", fmt.Sprintf("must have up to %d characters", maxCategory))
	for _, p := range c.Nameplate.properties() {
		add(fits(p.value, maxValue), "nameplate."+p.member, fmt.Sprintf("must have up to %d characters", maxValue))
	}
	year := c.Nameplate.YearOfConstruction
	add(year == "" || yearForm.MatchString(year), "nameplate.yearOfConstruction", "must have four digits")
	for i, name := range c.ActiveSubmodels {
		field := fmt.Sprintf("activeSubmodels[%d]", i)
		add(slices.Contains(available, name), field, "must be one of "+strings.Join(available, ", "))
		add(!slices.Contains(c.ActiveSubmodels[:i], name), field, "is given twice")
		if len(bad) >= maxFaults {
			break
		}
	}
	return bad
}

func fits(s string, limit int) bool {
	return utf8.ValidString(s) && utf8.RuneCountInString(s) <= limit && !strings.ContainsFunc(s, unicode.IsControl)
}

// property is an element of the nameplate.
type property struct {
	member, idShort, semantic, value string
	multi                            bool // a MultiLanguageProperty
}

// properties are the elements of the nameplate with their places in IDTA 02006, empty ones too.
func (n Nameplate) properties() []property {
	return []property{
		{"manufacturerName", "ManufacturerName", "0112/2///61987#ABA565#009", n.ManufacturerName, true},
		{"manufacturerProductDesignation", "ManufacturerProductDesignation", "0112/2///61987#ABA567#009", n.ManufacturerProductDesignation, true},
		{"serialNumber", "SerialNumber", "0112/2///61987#ABA951#009", n.SerialNumber, false},
		{"yearOfConstruction", "YearOfConstruction", "0112/2///61987#ABP000#002", n.YearOfConstruction, false},
		{"hardwareVersion", "HardwareVersion", "0112/2///61987#ABA926#008", n.HardwareVersion, false},
		{"softwareVersion", "SoftwareVersion", "0112/2///61987#ABA601#008", n.SoftwareVersion, false},
	}
}
