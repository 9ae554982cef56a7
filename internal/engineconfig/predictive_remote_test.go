package engineconfig_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/predictive"
)

func TestRemoteModels(t *testing.T) {
	parts, problems := build(t, "{}")
	require.Empty(t, problems)
	require.Empty(t, parts.Options.Predictive.Models)
	parts, problems = build(t, "predictive: {remote: {url: 'https://models.example/rul', modelTypes: [rul], step: 5m, roles: [flow], samples: 100}}",
		"Predictive__Remote__Token=T0ken")
	require.Empty(t, problems)
	models := parts.Options.Predictive.Models
	require.Len(t, models, 1)
	require.Equal(t, predictive.InputSpec{Step: 5 * time.Minute, Roles: []string{"flow"}, Samples: 100},
		models[predictive.RULModel].(predictive.InputSpecifier).InputSpec())
	parts, problems = build(t, "predictive: {remote: {url: 'http://models.example', step: 5m}}")
	require.Empty(t, problems)
	require.Len(t, parts.Options.Predictive.Models, 2)
}

func TestRemoteModelsThatCannotBe(t *testing.T) {
	for text, want := range map[string]string{
		"url: 'http://m'": "predictive.remote.step is needed with predictive.remote.url",
		"url: 'http://m', step: 1h, modelTypes: [x]":                 "predictive.remote.modelTypes must be FailurePrediction, RUL or both",
		"url: 'ftp://m', step: 1h":                                   "predictive.remote.url must be an http or https URL",
		"url: 'http://m', step: 1h, token: 'a b'":                    "predictive.remote.token has characters other than printable ASCII",
		"url: 'https://m', step: 1h, caFile: /nowhere/authority.pem": "predictive.remote.caFile is not usable",
		"url: 'http://m', step: 1h, samples: 5001":                   "predictive.remote.samples must be 0 to 5000",
	} {
		_, problems := build(t, "predictive: {remote: {"+text+"}}")
		require.Contains(t, problems, want, text)
	}
}
