package engineconfig

import (
	"fmt"
	"log/slog"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/otkit/otkit/aas/delegate"
	"github.com/otkit/otkit/aas/mqttevents"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/aas/tagmap"
	"github.com/otkit/otkit/engine"
	"github.com/otkit/otkit/internal/settings"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/aasapi"
	"github.com/otkit/otkit/transport/aasapi/aaspart"
)

// AAS is about asset administration shells.
type AAS struct {
	Verification   string        `key:"verification" default:"strict" rule:"strict|permissive|off" doc:"Handling of a document that breaks a rule of the metamodel: strict refuses it, permissive stores it and logs."`
	MaxDocument    int64         `key:"maxDocumentBytes" default:"67108864" rule:"1024..1073741824" doc:"Largest JSON body of a whole shell, submodel, concept description or descriptor in the standard's API, in bytes."`
	MaxFileBytes   int64         `key:"maxFileBytes" default:"33554432" rule:"1..1073741824" doc:"Largest file of a submodel, thumbnail or AASX package in bytes."`
	OwnDescriptors bool          `key:"ownDescriptors" default:"true" doc:"List shells and submodels of this engine in its registries, beside those that clients have registered."`
	BaseURL        string        `key:"baseUrl" doc:"Address in the descriptors of this engine's own shells and submodels, such as https://plant.example.com; empty for the host of the request."`
	RootAPI        bool          `key:"rootApi" default:"false" doc:"Serve the standard's API, version 3.1, also without a prefix: /shells, /submodels, /description and so on."`
	Mappings       []AASMapping  `key:"mappings" doc:"Tags that become submodels of shells, a list."`
	Rules          []AASRule     `key:"rules" doc:"Rules of the mappings that precede the neutral ones, a list; the first that matches decides."`
	Delegation     AASDelegation `key:"delegation"`
	Events         AASEvents     `key:"events"`
}

// AASMapping maps the tags of one piece of equipment.
type AASMapping struct {
	Shell             string   `key:"shell" rule:"required" doc:"Id of the shell. The mapping takes effect when the shell exists."`
	Tags              []string `key:"tags" rule:"required" doc:"LIKE patterns over the names of its tags, such as pump1.%."`
	EquipmentCategory string   `key:"equipmentCategory" doc:"Category whose rules hold, such as Pump; empty leaves the neutral ones."`
}

// AASRule maps tags to elements. Every condition that is set must hold.
type AASRule struct {
	EquipmentCategory string   `key:"equipmentCategory" doc:"Only equipment of this category; empty for any."`
	Name              string   `key:"name" doc:"LIKE pattern over the tag's name without its driver."`
	Units             []string `key:"units" doc:"One of them is the tag's unit."`
	DataTypes         []string `key:"dataTypes" rule:"Bool|Int|Float|String" doc:"One of them is the tag's type."`
	AccessModes       []string `key:"accessModes" rule:"ReadOnly|ReadWrite" doc:"One of them is the tag's access."`
	Submodel          string   `key:"submodel" rule:"OperationalData|TechnicalData|Nameplate|TimeSeries" doc:"Submodel of the element."`
	Collection        string   `key:"collection" doc:"idShort of the collection for the element; empty for the submodel itself."`
	IDShort           string   `key:"idShort" doc:"idShort of the element; empty makes it from the tag's name."`
	SemanticID        string   `key:"semanticId" doc:"Semantic id of the element."`
}

// AASDelegation lists what operations may call.
type AASDelegation struct {
	Allow []string `key:"allow" doc:"URLs that operations with the qualifier invocationDelegation may call, with all below their paths; empty for none."`
}

// AASEvents publishes changes.
type AASEvents struct {
	URL      string `key:"url" doc:"MQTT 5 broker that changes are published to as CloudEvents, mqtt://host:1883 or mqtts://host:8883; empty for none."`
	Topic    string `key:"topic" default:"otkit/aas" doc:"Prefix of the topics."`
	Username string `key:"username" doc:"Account at the broker; empty for none."`
	Password string `key:"password" secret:"true" doc:"Its password."`
	ClientID string `key:"clientId" doc:"Client id at the broker, one of its own for each engine; empty for otkit-aas."`
	QoS      int    `key:"qos" default:"1" rule:"0..2" doc:"Quality of service."`
	CAFile   string `key:"caFile" doc:"PEM file with the authorities of the broker's certificate; empty for those of the system."`
}

// Validate implements settings.Validator.
func (a AAS) Validate(p *settings.Problems) {
	if a.BaseURL != "" {
		u, err := url.Parse(a.BaseURL)
		p.Must(err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == "",
			"baseUrl", "must be http://host or https://host, and may have a path")
	}
}

// Validate implements settings.Validator.
func (m AASMapping) Validate(p *settings.Problems) {
	for i, pattern := range m.Tags {
		path := fmt.Sprintf("tags[%d]", i)
		if strings.Contains(pattern, "*") {
			p.Must(false, path, "must have % for any text and _ for one character, not *")
		} else if _, err := tags.CompilePattern(pattern); err != nil {
			p.Add(path, "is not usable: "+err.Error())
		}
	}
}

// Validate implements settings.Validator.
func (e AASEvents) Validate(p *settings.Problems) {
	if e.URL != "" {
		u, err := url.Parse(e.URL)
		p.Must(err == nil && (u.Scheme == "mqtt" || u.Scheme == "mqtts") && u.Host != "" && u.User == nil,
			"url", "must be mqtt://host:port or mqtts://host:port, without a user")
		if e.CAFile != "" && (err != nil || u.Scheme != "mqtts") {
			p.Add("caFile", "is for an mqtts URL")
		}
	}
}

// options sets the options of the server about shells.
func (a AAS) options(o *engine.Options, p *settings.Problems) {
	o.AAS.Service = repository.Options{Verification: repository.Verification(a.Verification), MaxFileBytes: a.MaxFileBytes}
	o.AAS.API = aasapi.Options{MaxDocumentBytes: a.MaxDocument, NoOwnDescriptors: !a.OwnDescriptors, BaseURL: a.BaseURL, AtRoot: a.RootAPI}
	h, err := delegate.New(delegate.Options{Allow: a.Delegation.Allow})
	p.Take(err, "aas.delegation", nil)
	o.AAS.Service.Delegate = h
	rules := make([]tagmap.Rule, len(a.Rules))
	for i, r := range a.Rules {
		rules[i] = tagmap.Rule{Category: r.EquipmentCategory, Name: r.Name, Units: r.Units, Types: words[tags.DataType](r.DataTypes),
			Access: words[tags.AccessMode](r.AccessModes), Target: tagmap.Target(r.Submodel), Collection: r.Collection,
			IDShort: r.IDShort, SemanticID: r.SemanticID}
	}
	if !p.Has("aas.rules") {
		o.AAS.TagMapping.Mapper, err = tagmap.NewMapper(tagmap.Options{Rules: rules})
		p.Take(err, "aas.rules", nil)
	}
	for _, m := range a.Mappings {
		o.AAS.TagMapping.Equipment = append(o.AAS.TagMapping.Equipment,
			aaspart.MappedEquipment{ShellID: m.Shell, Category: m.EquipmentCategory, Patterns: m.Tags})
	}
}

func words[T ~string](list []string) []T {
	all := make([]T, len(list))
	for i, w := range list {
		all[i] = T(w)
	}
	return all
}

// options returns those of the publisher, nil for none.
func (e AASEvents) options(log *slog.Logger, p *settings.Problems) *mqttevents.Options {
	if e.URL == "" {
		return nil
	}
	return &mqttevents.Options{URL: e.URL, Topic: e.Topic, Username: e.Username, Password: e.Password, ClientID: e.ClientID,
		QoS: byte(e.QoS), NewID: func() string { return uuid.Must(uuid.NewV7()).String() }, TLS: trust(p, "aas.events.caFile", e.CAFile), Logger: log}
}
