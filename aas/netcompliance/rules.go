package netcompliance

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Level returns how far a rule is followed.
type Level uint8

// The levels, from the best to the worst. Unknown stands apart: nothing is known.
const (
	Unknown Level = iota
	Compliant
	PartlyCompliant
	NonCompliant
)

// String returns the level's word.
func (l Level) String() string {
	switch l {
	case Compliant:
		return "Compliant"
	case PartlyCompliant:
		return "PartlyCompliant"
	case NonCompliant:
		return "NonCompliant"
	default:
		return "Unknown"
	}
}

// Facts are what an embedder knows of the network connection of an asset. A zero field is not known.
type Facts struct {
	Encryption          string    // none, or a version of TLS such as 1.2
	Authentication      string    // none, password or certificate
	Zone                string    // of the network, such as cell-3; flat for a network without zones
	OpenPorts           []int     // TCP ports that answer; nil when nobody has looked
	CertificateNotAfter time.Time // when the certificate of the asset ends
	Updated             time.Time // when the firmware was last brought up to date
}

// Rule judges one thing.
type Rule struct {
	IDShort  string // of the element in the submodel
	Evaluate func(f Facts, now time.Time) Level
}

// DefaultRules returns the rules that hold unless others are set.
func DefaultRules() []Rule {
	return []Rule{
		{"TransportEncryption", encryption},
		{"Authentication", authentication},
		{"NetworkSegmentation", segmentation},
		{"ExposedServices", services},
		{"CertificateValidity", certificate},
		{"FirmwareCurrency", firmware},
	}
}

func encryption(f Facts, _ time.Time) Level {
	switch f.Encryption {
	case "":
		return Unknown
	case "1.2", "1.3":
		return Compliant
	case "1.0", "1.1":
		return PartlyCompliant
	default:
		return NonCompliant
	}
}

func authentication(f Facts, _ time.Time) Level {
	switch f.Authentication {
	case "":
		return Unknown
	case "certificate":
		return Compliant
	case "password":
		return PartlyCompliant
	default:
		return NonCompliant
	}
}

func segmentation(f Facts, _ time.Time) Level {
	switch f.Zone {
	case "":
		return Unknown
	case "flat":
		return NonCompliant
	default:
		return Compliant
	}
}

// Ports of services that show passwords to anybody who listens, and of those of field protocols that
// let anybody write.
var (
	plainPorts = []int{21, 23, 69, 512, 513, 514}
	fieldPorts = []int{102, 502, 20000, 44818, 47808}
)

func services(f Facts, _ time.Time) Level {
	has := func(ports []int) bool {
		return slices.ContainsFunc(f.OpenPorts, func(p int) bool { return slices.Contains(ports, p) })
	}
	switch {
	case f.OpenPorts == nil:
		return Unknown
	case has(plainPorts), has(fieldPorts) && f.Zone == "flat":
		return NonCompliant
	case has(fieldPorts):
		return PartlyCompliant
	default:
		return Compliant
	}
}

func certificate(f Facts, now time.Time) Level {
	switch left := f.CertificateNotAfter.Sub(now); {
	case f.CertificateNotAfter.IsZero():
		return Unknown
	case left <= 0:
		return NonCompliant
	case left < 30*24*time.Hour:
		return PartlyCompliant
	default:
		return Compliant
	}
}

func firmware(f Facts, now time.Time) Level {
	switch age := now.Sub(f.Updated); {
	case f.Updated.IsZero():
		return Unknown
	case age > 3*365*24*time.Hour:
		return NonCompliant
	case age > 365*24*time.Hour:
		return PartlyCompliant
	default:
		return Compliant
	}
}

func checkRules(rules []Rule) error {
	seen := map[string]bool{strings.ToLower(overall): true}
	for i, r := range rules {
		if name := strings.ToLower(r.IDShort); name == "" || r.Evaluate == nil || seen[name] {
			return fmt.Errorf("netcompliance: Options.Rules[%d] needs an IDShort of its own and a Evaluate", i)
		}
		seen[strings.ToLower(r.IDShort)] = true
	}
	return nil
}
