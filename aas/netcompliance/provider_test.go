package netcompliance_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/netcompliance"
)

var now = time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)

// levels returns the value of each element of the submodel that the facts lead to.
func levels(t *testing.T, f netcompliance.Facts) map[string]string {
	t.Helper()
	p, err := netcompliance.New(netcompliance.SourceFunc(func(context.Context, *aas.Shell) (netcompliance.Facts, bool, error) {
		return f, true, nil
	}), netcompliance.Options{Now: func() time.Time { return now }})
	require.NoError(t, err)
	list, err := p.Submodels(t.Context(), &aas.Shell{})
	require.NoError(t, err)
	require.Len(t, list, 1)
	var item struct {
		Elements []struct{ IDShort, Value string }
	}
	require.NoError(t, json.Unmarshal(list[0].JSON, &item))
	all := make(map[string]string)
	for _, e := range item.Elements {
		all[e.IDShort] = e.Value
	}
	return all
}

func TestRules(t *testing.T) {
	day := 24 * time.Hour
	for _, c := range []struct {
		facts   netcompliance.Facts
		element string
		level   string
	}{
		{netcompliance.Facts{}, "TransportEncryption", "Unknown"},
		{netcompliance.Facts{Encryption: "none"}, "TransportEncryption", "NonCompliant"},
		{netcompliance.Facts{Encryption: "1.1"}, "TransportEncryption", "PartlyCompliant"},
		{netcompliance.Facts{Encryption: "1.2"}, "TransportEncryption", "Compliant"},
		{netcompliance.Facts{Authentication: "none"}, "Authentication", "NonCompliant"},
		{netcompliance.Facts{Authentication: "certificate"}, "Authentication", "Compliant"},
		{netcompliance.Facts{Zone: "flat"}, "NetworkSegmentation", "NonCompliant"},
		{netcompliance.Facts{Zone: "cell-3"}, "NetworkSegmentation", "Compliant"},
		{netcompliance.Facts{OpenPorts: []int{}}, "ExposedServices", "Compliant"},
		{netcompliance.Facts{OpenPorts: []int{443, 23}}, "ExposedServices", "NonCompliant"},
		{netcompliance.Facts{OpenPorts: []int{502}}, "ExposedServices", "PartlyCompliant"},
		{netcompliance.Facts{OpenPorts: []int{502}, Zone: "flat"}, "ExposedServices", "NonCompliant"},
		{netcompliance.Facts{CertificateNotAfter: now}, "CertificateValidity", "NonCompliant"},
		{netcompliance.Facts{CertificateNotAfter: now.Add(29 * day)}, "CertificateValidity", "PartlyCompliant"},
		{netcompliance.Facts{CertificateNotAfter: now.Add(31 * day)}, "CertificateValidity", "Compliant"},
		{netcompliance.Facts{Updated: now.Add(-364 * day)}, "FirmwareCurrency", "Compliant"},
		{netcompliance.Facts{Updated: now.Add(-366 * day)}, "FirmwareCurrency", "PartlyCompliant"},
		{netcompliance.Facts{Updated: now.Add(-2000 * day)}, "FirmwareCurrency", "NonCompliant"},
	} {
		require.Equal(t, c.level, levels(t, c.facts)[c.element], "%+v", c.facts)
	}
}

func TestTheWorstKnownLevelIsTheOverallOne(t *testing.T) {
	require.Equal(t, "Unknown", levels(t, netcompliance.Facts{})["OverallLevel"])
	require.Equal(t, "Compliant", levels(t, netcompliance.Facts{Encryption: "1.3"})["OverallLevel"])
	require.Equal(t, "NonCompliant", levels(t, netcompliance.Facts{Encryption: "1.3", Zone: "flat"})["OverallLevel"])
}

func TestShellWithoutFactsHasNoSubmodel(t *testing.T) {
	known, failure := false, error(nil)
	p, err := netcompliance.New(netcompliance.SourceFunc(func(context.Context, *aas.Shell) (netcompliance.Facts, bool, error) {
		return netcompliance.Facts{}, known, failure
	}), netcompliance.Options{})
	require.NoError(t, err)
	list, err := p.Submodels(t.Context(), &aas.Shell{})
	require.NoError(t, err)
	require.Empty(t, list)
	failure = errors.New("scanner is away")
	_, err = p.Submodels(t.Context(), &aas.Shell{})
	require.ErrorIs(t, err, failure)
}

func TestBadOptions(t *testing.T) {
	source := netcompliance.SourceFunc(nil)
	judge := func(netcompliance.Facts, time.Time) netcompliance.Level { return netcompliance.Compliant }
	for _, rules := range [][]netcompliance.Rule{
		{{IDShort: "A"}}, {{Evaluate: judge}}, {{IDShort: "A", Evaluate: judge}, {IDShort: "a", Evaluate: judge}}, {{IDShort: "OverallLevel", Evaluate: judge}},
	} {
		_, err := netcompliance.New(source, netcompliance.Options{Rules: rules})
		require.ErrorContains(t, err, "Options.Rules[")
	}
	_, err := netcompliance.New(nil, netcompliance.Options{})
	require.Error(t, err)
}
