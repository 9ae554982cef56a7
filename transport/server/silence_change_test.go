package server_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
)

func TestASilenceIsChangedAndAudited(t *testing.T) {
	t.Parallel()
	p := start(t)
	now := time.Now().UTC()
	at := func(d time.Duration) string { return now.Add(d).Format(time.RFC3339) }
	made := p.call(accounts.Operator, http.MethodPost, silence, map[string]any{"sourceType": "Sensor", "sourceIdPattern": "sim.*", "reason": "calibration",
		"startsAt": at(-time.Minute), "endsAt": at(time.Hour)})
	require.Equal(t, 201, made.status, "%s", made.body)
	id := made.object(t)["silenceId"].(string)
	path, body := silence+"/"+id, map[string]any{"sourceType": "*", "sourceIdPattern": "sim.line2.*", "reason": "takes longer", "endsAt": at(2 * time.Hour)}
	require.Equal(t, 403, p.call(accounts.Viewer, http.MethodPut, path, body).status)
	changed := p.call(accounts.Operator, http.MethodPut, path, body)
	require.Equal(t, 200, changed.status, "%s", changed.body)
	for member, want := range body {
		require.Equal(t, want, changed.object(t)[member], member)
		require.Equal(t, want, p.array(silence + "/active")[0].(map[string]any)[member], member)
	}
	require.Equal(t, made.object(t)["startsAt"], changed.object(t)["startsAt"])
	records := p.audit("?action=changeSilence&outcome=succeeded")
	require.Len(t, records, 1)
	require.Contains(t, string(records[0].Before), "calibration")
	require.Contains(t, string(records[0].After), "takes longer")

	body["endsAt"] = at(-time.Second)
	require.Equal(t, 200, p.call(accounts.Operator, http.MethodPut, path, body).status)
	require.Empty(t, p.array(silence+"/active"), "it has ended")
	requireProblem(t, p.call(accounts.Operator, http.MethodPut, path, body), 409, "SILENCE_ENDED")
	requireProblem(t, p.call(accounts.Operator, http.MethodPut, silence+"/nothing", body), 404, "SILENCE_NOT_FOUND")
}
