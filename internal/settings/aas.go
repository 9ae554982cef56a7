package settings

import (
	"fmt"
	"net/url"
	"strings"
)

// AAS is about asset administration shells.
type AAS struct {
	Verification string        `koanf:"verification" doc:"What becomes of a document that breaks a rule of the metamodel: strict (refused), permissive (kept, and logged) or off."`
	MaxFileBytes int64         `koanf:"maxFileBytes" doc:"Largest file of a submodel, thumbnail or AASX package in bytes, 1 to 1073741824."`
	Mappings     []AASMapping  `koanf:"mappings" doc:"Tags that become submodels of shells, a list."`
	Rules        []AASRule     `koanf:"rules" doc:"Rules of the mappings that go before the neutral ones, a list; the first that fits decides."`
	Delegation   AASDelegation `koanf:"delegation"`
	Events       AASEvents     `koanf:"events"`
}

// AASMapping maps the tags of one piece of equipment.
type AASMapping struct {
	Shell             string   `koanf:"shell" doc:"Id of the shell; one that does not exist yet is waited for."`
	Tags              []string `koanf:"tags" doc:"LIKE patterns over the names of the tags that belong to it, such as pump1.%."`
	EquipmentCategory string   `koanf:"equipmentCategory" doc:"Category whose rules hold, such as Pump; empty leaves the neutral ones."`
}

// AASRule says where tags go. Every condition that is set must hold.
type AASRule struct {
	EquipmentCategory string   `koanf:"equipmentCategory" doc:"Only equipment of this category; empty for any."`
	Name              string   `koanf:"name" doc:"LIKE pattern over the tag's name without its driver."`
	Units             []string `koanf:"units" doc:"One of them is the tag's unit."`
	DataTypes         []string `koanf:"dataTypes" doc:"One of them is the tag's type: Bool, Int, Float or String."`
	AccessModes       []string `koanf:"accessModes" doc:"One of them is the tag's access: ReadOnly or ReadWrite."`
	Submodel          string   `koanf:"submodel" doc:"OperationalData, TechnicalData, Nameplate or TimeSeries."`
	Collection        string   `koanf:"collection" doc:"idShort of the collection for the element; empty for the submodel itself."`
	IDShort           string   `koanf:"idShort" doc:"idShort of the element; empty makes it from the tag's name."`
	SemanticID        string   `koanf:"semanticId" doc:"Semantic id of the element."`
}

// AASDelegation says what operations may call.
type AASDelegation struct {
	Allow []string `koanf:"allow" doc:"URLs that operations with the qualifier invocationDelegation may call, with all below their paths; empty for none."`
}

// AASEvents publishes changes.
type AASEvents struct {
	URL      string `koanf:"url" doc:"MQTT 5 broker that changes are published to as CloudEvents, mqtt://host:1883 or mqtts://host:8883; empty for none."`
	Topic    string `koanf:"topic" doc:"What the topics begin with."`
	Username string `koanf:"username" doc:"Account at the broker; empty for none."`
	Password string `koanf:"password" secret:"true" doc:"Its password."`
	ClientID string `koanf:"clientId" doc:"Client id at the broker, one of its own for each engine; empty for otkit-aas."`
	QoS      int    `koanf:"qos" doc:"Quality of service, 0 to 2."`
	CAFile   string `koanf:"caFile" doc:"PEM file with the authorities of the broker's certificate; empty for those of the system."`
}

func (a AAS) check(p *problems) {
	p.oneOf(a.Verification, "aas.verification", "strict", "permissive", "off")
	p.must(a.MaxFileBytes >= 1 && a.MaxFileBytes <= 1<<30, "aas.maxFileBytes", "must be 1 to 1073741824")
	for i, m := range a.Mappings {
		at := fmt.Sprintf("aas.mappings[%d].", i)
		p.must(m.Shell != "", at+"shell", "is required")
		p.must(len(m.Tags) > 0, at+"tags", "is required")
		for j, pattern := range m.Tags {
			p.must(!strings.Contains(pattern, "*"), fmt.Sprintf("%stags[%d]", at, j), "must have % for any text and _ for one character, not *")
		}
	}
	for i, r := range a.Rules {
		at := fmt.Sprintf("aas.rules[%d].", i)
		p.oneOf(r.Submodel, at+"submodel", "OperationalData", "TechnicalData", "Nameplate", "TimeSeries")
		for j, t := range r.DataTypes {
			p.oneOf(t, fmt.Sprintf("%sdataTypes[%d]", at, j), "Bool", "Int", "Float", "String")
		}
		for j, m := range r.AccessModes {
			p.oneOf(m, fmt.Sprintf("%saccessModes[%d]", at, j), "ReadOnly", "ReadWrite")
		}
	}
	p.must(within(a.Events.QoS, 0, 2), "aas.events.qos", "must be 0 to 2")
	if a.Events.URL != "" {
		u, err := url.Parse(a.Events.URL)
		p.must(err == nil && (u.Scheme == "mqtt" || u.Scheme == "mqtts") && u.Host != "" && u.User == nil,
			"aas.events.url", "must be mqtt://host:port or mqtts://host:port, without a user")
		p.must(a.Events.CAFile == "" || err == nil && u.Scheme == "mqtts", "aas.events.caFile", "is for an mqtts URL")
	}
}
