package main_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/openapi/client"
)

// report is what a health endpoint answers.
type report struct {
	Status  string
	Results map[string]struct {
		Status, Description string
		Data                map[string]any
	}
}

// report gets /health or what is below it.
func (e *engine) report(path string) (int, report) {
	e.t.Helper()
	answer, err := http.Get(e.url + path)
	require.NoError(e.t, err)
	var r report
	require.NoError(e.t, json.Unmarshal([]byte(body(e.t, answer.Body)), &r))
	return answer.StatusCode, r
}

func TestHealthShowsChannelsThatFailAndDeadLetters(t *testing.T) {
	t.Parallel()
	box, addr, open := closedMailbox(t)
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no such plant, token SECRET", http.StatusBadRequest)
	}))
	t.Cleanup(refusing.Close)
	e := start(t, with(known, mailTo(addr), []string{"Alerting__Webhook__Url=" + refusing.URL, "Alerting__Routes__Critical=email,webhook"}), "-data", t.TempDir())
	code, r := e.report("/health/ready")
	require.Equal(t, 200, code)
	require.Equal(t, "Healthy", r.Results["alerting"].Status)
	require.Equal(t, "2 channels, none failing", r.Results["alerting"].Description)

	e.told(alert("critical", "pump-1", "Too hot"))
	figures := func(channel string) map[string]any {
		found, _ := r.Results["alerting"].Data[channel].(map[string]any)
		return found
	}
	eventually(t, "health does not show what fails", func() bool {
		code, r = e.report("/health/ready")
		return figures("email")["failingRecipients"] == 1.0 && figures("webhook")["deadLetters"] == 1.0
	})
	require.Equal(t, 200, code, "the engine can work")
	require.Equal(t, "Degraded", r.Status)
	require.Equal(t, "Degraded", r.Results["alerting"].Status)
	require.Contains(t, r.Results["alerting"].Description, "dead letters: 1")
	require.Zero(t, figures("email")["sent"])
	require.GreaterOrEqual(t, figures("email")["failedAttempts"], 1.0)
	answer, err := http.Get(e.url + "/health")
	require.NoError(t, err)
	text := body(t, answer.Body)
	require.NotContains(t, text, "SECRET", "anybody may read it")
	require.NotContains(t, text, "shift@example.com")
	eventually(t, "the pause does not show", func() bool {
		_, r = e.report("/health")
		return figures("email")["pausedUntil"] != nil && r.Results["alerting"].Status == "Degraded"
	})

	open()
	eventually(t, "no mail comes", func() bool { return len(box.got()) > 0 })
	s := e.admin()
	dropped, err := s.DiscardDeadLettersWithResponse(t.Context(), &client.DiscardDeadLettersParams{Channel: "webhook"})
	require.NoError(t, err)
	require.Equal(t, http.StatusNoContent, dropped.StatusCode(), "%s", dropped.Body)
	eventually(t, "health is not restored", func() bool {
		_, r = e.report("/health/ready")
		return r.Results["alerting"].Status == "Healthy" && figures("email")["sent"] != 0.0
	})
}
