package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/google/uuid"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/delegate"
	"github.com/otkit/otkit/aas/mqttevents"
	"github.com/otkit/otkit/aas/tagmap"
	"github.com/otkit/otkit/aas/verify"
	"github.com/otkit/otkit/internal/settings"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/server"
)

// addShells turns the settings about shells into options of the server.
func addShells(s settings.AAS, o *server.Options) error {
	o.AAS = aas.Options{Verification: aas.Verification(s.Verification), Verifier: verify.New(verify.Options{MaxFindings: 10_000}), MaxFileBytes: s.MaxFileBytes}
	h, err := delegate.New(delegate.Options{Allow: s.Delegation.Allow})
	if err != nil {
		return fmt.Errorf("aas.delegation.allow: %w", err)
	}
	o.AAS.Delegate = h
	rules := make([]tagmap.Rule, len(s.Rules))
	for i, r := range s.Rules {
		rules[i] = tagmap.Rule{Category: r.EquipmentCategory, Name: r.Name, Units: r.Units, Types: words[tags.DataType](r.DataTypes),
			Access: words[tags.AccessMode](r.AccessModes), Target: tagmap.Target(r.Submodel), Collection: r.Collection,
			IDShort: r.IDShort, SemanticID: r.SemanticID}
	}
	if o.TagMapping.Mapper, err = tagmap.NewMapper(tagmap.Options{Rules: rules}); err != nil {
		return fmt.Errorf("aas.rules: %w", err)
	}
	for i, m := range s.Mappings {
		for j, pattern := range m.Tags {
			if _, err := tags.CompilePattern(pattern); err != nil {
				return fmt.Errorf("aas.mappings[%d].tags[%d]: %w", i, j, err)
			}
		}
		o.TagMapping.Equipment = append(o.TagMapping.Equipment,
			server.MappedEquipment{ShellID: m.Shell, Category: m.EquipmentCategory, Patterns: m.Tags})
	}
	return nil
}

func words[T ~string](list []string) []T {
	all := make([]T, len(list))
	for i, w := range list {
		all[i] = T(w)
	}
	return all
}

// publishShells publishes the changes of shells while the engine runs. The function that is returned
// ends it.
func publishShells(s settings.AASEvents, e *environment, service *aas.Service) (end func(context.Context) error, err error) {
	if s.URL == "" {
		return func(context.Context) error { return nil }, nil
	}
	o, err := eventOptions(s, e.log)
	if err != nil {
		return nil, err
	}
	p, err := mqttevents.Start(service, o)
	if err != nil {
		return nil, fmt.Errorf("aas.events: %w", err)
	}
	return p.Close, nil
}

func eventOptions(s settings.AASEvents, log *slog.Logger) (mqttevents.Options, error) {
	o := mqttevents.Options{URL: s.URL, Topic: s.Topic, Username: s.Username, Password: s.Password, ClientID: s.ClientID,
		QoS: byte(s.QoS), NewID: func() string { return uuid.Must(uuid.NewV7()).String() }, Logger: log}
	if s.CAFile != "" {
		pem, err := os.ReadFile(s.CAFile)
		if err != nil {
			return o, fmt.Errorf("aas.events.caFile: %w", err)
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(pem) {
			return o, errors.New("aas.events.caFile: has no certificate in PEM form")
		}
		o.TLS = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	return o, nil
}
