package main_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/openapi/client"
)

// A sender repeats what was answered with 500 and forgets what was answered with 200.
func TestWebhookOnAFullDisk(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t)
	receiver := newHook(t, false)
	e := start(t, with(known, receiver.settings(), tellBoth), "-data", filepath.Join(disk, "data"))
	s := e.admin()
	e.told(alerts("warning", "before", 10)...)
	free := fill(t, disk)
	var (
		answer *client.PostAlertWebhookResponse
		list   []client.WebhookAlert
		taken  int
	)
	eventually(t, "a full disk refuses no alert", func() bool {
		list = alerts("warning", fmt.Sprintf("full%d-", taken), 20)
		for _, a := range list {
			a.Annotations["description"] = strings.Repeat("d", 2000)
		}
		if answer = e.tell(list...); answer.StatusCode() == http.StatusOK {
			require.Equal(t, 20, answer.JSON200.ProcessedCount)
			taken++
			return false
		}
		return true
	})
	require.Equal(t, http.StatusInternalServerError, answer.StatusCode(), "%s", answer.Body)
	require.NotContains(t, string(answer.Body), disk)
	for range 3 {
		require.Equal(t, http.StatusInternalServerError, e.tell(list...).StatusCode())
	}
	last := fmt.Sprintf("full%d-", taken)
	require.Zero(t, s.records(last).TotalCount)

	free()
	eventually(t, "the retry does not succeed", func() bool { return e.tell(list...).StatusCode() == http.StatusOK })
	require.EqualValues(t, 20, s.records(last).TotalCount)
	all := 10 + 20*(taken+1)
	require.EqualValues(t, all, s.records("").TotalCount)
	require.Len(t, s.activeAlarms(), all)
	eventually(t, "not all are told", func() bool { return len(receiver.keys()) == all })
	for source, keys := range receiver.keys() {
		require.Len(t, keys, 1, source)
	}
}
