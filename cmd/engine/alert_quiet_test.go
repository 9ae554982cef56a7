package main_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/openapi/client"
)

func TestSilencedAlertsReachNoMailbox(t *testing.T) {
	t.Parallel()
	box, addr := openMailbox(t, "127.0.0.1:0")
	e := start(t, with(known, mailTo(addr), []string{"Alerting__Routes__Warning=email"}), "-data", t.TempDir())
	s := e.admin()
	now := time.Now().UTC()
	made, err := s.AddSilenceWithResponse(t.Context(), client.SilenceRequest{SourceType: "equipment", SourceIDPattern: "pump-quiet-*",
		Reason: "repair", StartsAt: now.Add(-time.Minute).Format(time.RFC3339), EndsAt: now.Add(time.Hour).Format(time.RFC3339)})
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, made.StatusCode(), "%s", made.Body)
	e.told(alerts("warning", "pump-quiet", 3)...)
	e.told(alerts("warning", "pump-loud", 1)...)
	eventually(t, "no mail comes", func() bool { return len(box.got()) > 0 })
	require.Equal(t, []string{"[Warning] pump-loud-0: Something is wrong"}, box.subjects(), "what is silenced came first and is told to nobody")
	require.Len(t, s.activeAlarms(), 4)
	for _, r := range s.records("pump-quiet").Records {
		require.Equal(t, made.JSON201.SilenceID, r.Labels["silencedBy"])
	}
}

func TestAFloodOfAlertsIsOneMail(t *testing.T) {
	t.Parallel()
	const all, burst = 200, 30
	box, addr := openMailbox(t, "127.0.0.1:0")
	e := start(t, with(known, mailTo(addr), []string{"Alerting__Routes__Warning=email"}), "-data", t.TempDir())
	e.told(alerts("warning", "fan", all)...)
	eventually(t, "the digest does not come", func() bool { return len(box.got()) >= burst })
	list := box.got()
	require.Len(t, list, burst)
	text := list[burst-1].subject + list[burst-1].text
	require.Contains(t, text, fmt.Sprint(all-burst+1), "the last one stands for all the others")
	told := map[string]bool{}
	for _, l := range list[:burst-1] {
		require.Contains(t, l.subject, "fan-")
		told[l.subject] = true
	}
	require.Len(t, told, burst-1, "%s", strings.Join(box.subjects(), "\n"))
}
