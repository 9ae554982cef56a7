package server_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	records "github.com/otkit/otkit/alerting/history"
	"github.com/otkit/otkit/alerting/outbox"
	"github.com/otkit/otkit/engine"
)

// TestTheLinkOfADigestListsItsMessages follows the links of a digest of new alarms and of one that only says that they have cleared,
// while there are other alarms of the same severity and time.
func TestTheLinkOfADigestListsItsMessages(t *testing.T) {
	t.Parallel()
	c := &pager{told: make(chan alerting.Notification, 10), to: []string{"+491"}}
	c.mended.Store(true)
	p := start(t, func(o *engine.Options) {
		o.Alerting.Channels = []alerting.Channel{c}
		o.Alerting.RateLimits = map[string]alerting.RateLimit{"sms": {Burst: 1, Interval: 10 * time.Millisecond}}
		o.Alerting.Routes = alerting.Routes{alarms.Error: {}, alarms.Warning: {"sms"}}
	})
	severities := []alarms.Severity{alarms.Critical, alarms.Warning, alarms.Error}
	var raise, end []alarms.Signal
	for i := range 9 {
		key := fmt.Sprint("k", i)
		raise = append(raise, alarms.Signal{Raise: &alarms.Alarm{Key: key, Source: key, Message: key, Severity: severities[i%3]}})
		end = append(end, alarms.Signal{Key: key})
	}
	_, err := p.Alarms().Apply(t.Context(), raise)
	require.NoError(t, err)
	follow := func(resolved bool) {
		digest := <-c.told
		require.Equal(t, 6, digest.Digest, digest.Body)
		answer := p.call(nobody, http.MethodGet, digest.Link, nil)
		require.Equal(t, 200, answer.status, "%s", answer.body)
		list := answer.object(t)
		require.Equal(t, jsonNumber(6), list["totalCount"])
		var got []string
		for _, m := range list["messages"].([]any) {
			m := m.(map[string]any)
			require.Equal(t, resolved, m["resolved"])
			got = append(got, fmt.Sprint(m["source"], " ", m["severity"]))
		}
		require.Equal(t, []string{"k0 Critical", "k1 Warning", "k3 Critical", "k4 Warning", "k6 Critical", "k7 Warning"}, got)
		paged := p.call(nobody, http.MethodGet, digest.Link+"?page=3&pageSize=2", nil).object(t)["messages"].([]any)
		require.Len(t, paged, 2)
		require.Equal(t, "k6", paged[0].(map[string]any)["source"])
	}
	follow(false)
	_, err = p.Alarms().Apply(t.Context(), end)
	require.NoError(t, err)
	follow(true)
	requireProblem(t, p.call(nobody, http.MethodGet, "/api/v1.0/alert-history/digests/0", nil), 404, "DIGEST_NOT_FOUND")
}

// TestAlertingOverStoresWithTheRequiredHalf has the engine say what its stores cannot do, and do the rest.
func TestAlertingOverStoresWithTheRequiredHalf(t *testing.T) {
	t.Parallel()
	c := &pager{told: make(chan alerting.Notification, 10), to: []string{"+491"}}
	p := start(t, func(o *engine.Options) {
		o.Alerting.Channels = []alerting.Channel{c}
		o.Alerting.Outbox = struct{ outbox.Store }{outbox.NewMemory()}
		o.Alerting.History = struct{ records.Store }{records.NewMemory()}
	})
	const letters = "/api/v1/alerting/deadletters"
	for _, r := range []struct{ method, path, code string }{
		{http.MethodGet, letters, "DEAD_LETTERS_NOT_SUPPORTED"},
		{http.MethodDelete, letters, "DEAD_LETTERS_NOT_SUPPORTED"},
		{http.MethodPost, letters + "/retry", "DEAD_LETTERS_NOT_SUPPORTED"},
		{http.MethodPost, letters + "/01890000-0000-7000-8000-000000000001/retry", "DEAD_LETTERS_NOT_SUPPORTED"},
		{http.MethodDelete, letters + "/01890000-0000-7000-8000-000000000001", "DEAD_LETTERS_NOT_SUPPORTED"},
		{http.MethodGet, "/api/v1.0/alert-history/digests/01890000-0000-7000-8000-000000000001", "DIGEST_NOT_FOUND"},
		{http.MethodGet, "/api/v1.0/alert-history/stats/source", "STATISTICS_NOT_SUPPORTED"},
		{http.MethodGet, "/api/v1.0/alertsource/health", "WEBHOOK_NOT_SUPPORTED"},
	} {
		requireProblem(t, p.call(accounts.Admin, r.method, r.path, nil), 404, r.code)
	}
	requireProblem(t, p.call(nobody, http.MethodPost, "/api/v1.0/alertsource/webhook", map[string]any{"alerts": []any{}}), 404, "WEBHOOK_NOT_SUPPORTED")
	c.mended.Store(true)
	p.raise("hot", alarms.Critical)
	require.Equal(t, "P-hot", (<-c.told).Source)
	require.Eventually(t, func() bool {
		return len(p.call(nobody, http.MethodGet, "/api/v1.0/alert-history", nil).object(t)["records"].([]any)) == 1
	}, patience, 10*time.Millisecond)
}
