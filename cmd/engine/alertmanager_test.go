package main_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/npmtest"
	"github.com/otkit/otkit/internal/realtest"
	"github.com/otkit/otkit/openapi/client"
	platformv1 "github.com/otkit/otkit/proto/platform/v1"
)

const alertmanagerSettings = `
route:
  receiver: otkit
  group_by: [plant]
  group_wait: 500ms
  group_interval: 200ms
  repeat_interval: 300ms
  routes:
    - receiver: few
      matchers: [plant="crowded"]
receivers:
  - name: otkit
    webhook_configs: [{url: "%[1]s", send_resolved: true}]
  - name: few
    webhook_configs: [{url: "%[1]s", send_resolved: true, max_alerts: 2}]
`

// alone is the argument of an Alertmanager that is in no cluster.
const alone = "--cluster.listen-address="

// alertmanager is a running Prometheus Alertmanager.
type alertmanager struct {
	t   testing.TB
	url string
}

func startAlertmanager(t testing.TB, target string, args ...string) *alertmanager {
	t.Helper()
	path := realtest.Need(t, "prometheus-alertmanager")
	addr := fmt.Sprintf("127.0.0.1:%d", realtest.FreePort(t))
	said := &output{}
	args = append([]string{"--storage.path=" + t.TempDir(), "--web.listen-address=" + addr,
		"--config.file=" + file(t, "alertmanager.yml", fmt.Sprintf(alertmanagerSettings, target))}, args...)
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Stdout, cmd.Stderr = said, said
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("alertmanager:\n%s", said)
		}
	})
	a := &alertmanager{t, "http://" + addr}
	eventually(t, "alertmanager does not start", func() bool {
		answer, err := http.Get(a.url + "/-/ready")
		if err != nil {
			return false
		}
		body(t, answer.Body)
		return answer.StatusCode == http.StatusOK
	})
	return a
}

// sent is an alert as Prometheus sends it to Alertmanager.
type sent struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	StartsAt    *time.Time        `json:"startsAt,omitempty"`
	EndsAt      *time.Time        `json:"endsAt,omitempty"`
}

func sentFor(plant, severity, instance, summary string) sent {
	return sent{Labels: map[string]string{"alertname": "Plant", "plant": plant, "severity": severity, "instance": instance},
		Annotations: map[string]string{"summary": summary, "description": "look at " + instance}}
}

func (a *alertmanager) post(list ...sent) {
	a.t.Helper()
	text, err := json.Marshal(list)
	require.NoError(a.t, err)
	answer, err := http.Post(a.url+"/api/v2/alerts", "application/json", bytes.NewReader(text))
	require.NoError(a.t, err)
	require.Equal(a.t, http.StatusOK, answer.StatusCode, body(a.t, answer.Body))
}

// browser is the stock client, connected to the hub.
type browser struct {
	t     testing.TB
	lines *bufio.Scanner
}

// browse connects the stock client with a token.
func browse(t testing.TB, e *engine, token string) *browser {
	t.Helper()
	options, err := json.Marshal(map[string]any{"url": e.url + "/hubs/alarms", "tokens": []string{token}})
	require.NoError(t, err)
	cmd := npmtest.Command(t, npmtest.Need(t, "@microsoft/signalr@10.0.11"), repository+"/transport/signalr/testdata/client.cjs", string(options))
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	late := time.AfterFunc(2*patience, func() { _ = cmd.Process.Kill() }) // ends the wait for a line
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
		late.Stop()
	})
	b := &browser{t, bufio.NewScanner(stdout)}
	b.await("started")
	return b
}

// await gives the arguments of the next event, which must be the one named.
func (b *browser) await(event string) []string {
	b.t.Helper()
	require.True(b.t, b.lines.Scan(), "waiting for %s: %v", event, b.lines.Err())
	var got struct {
		Event string
		Args  []string
	}
	require.NoError(b.t, json.Unmarshal(b.lines.Bytes(), &got), b.lines.Text())
	require.Equal(b.t, event, got.Event, b.lines.Text())
	return got.Args
}

// posts counts what Alertmanager has posted with success.
func (e *engine) posts() int {
	return strings.Count(e.log.String(), "path=/api/v1.0/alertsource/webhook status=200")
}

func (e *engine) morePosts(n int) {
	e.t.Helper()
	before := e.posts()
	eventually(e.t, "alertmanager does not repeat", func() bool { return e.posts() >= before+n })
}

// What a real Alertmanager sends must show up in every place, once.
func TestAlertmanagerToHubHistoryStreamsAndMail(t *testing.T) {
	t.Parallel()
	box, addr := openMailbox(t, "127.0.0.1:0")
	e := start(t, with(known, mailTo(addr)), "-data", t.TempDir())
	s := e.admin()
	am := startAlertmanager(t, e.url+"/api/v1.0/alertsource/webhook", alone)
	page := browse(t, e, s.token)
	stream, err := s.grpc.SubscribeAlarms(s.rpc(), &platformv1.SubscribeAlarmsRequest{})
	require.NoError(t, err)
	_, err = stream.Header() // the subscription is there
	require.NoError(t, err)
	began := time.Now()

	hot := sentFor("north", "critical", "reactor-7", "Reactor is too hot")
	am.post(hot)
	args := page.await("message")
	require.Equal(t, []string{"Reactor is too hot", "Critical"}, args[:2])
	at, err := time.Parse(time.RFC3339Nano, args[2])
	require.NoError(t, err)
	told, err := stream.Recv()
	require.NoError(t, err)
	require.Equal(t, "reactor-7", told.Alarm.Source)
	require.Equal(t, "Critical", told.Alarm.Severity)
	record := requireOneRecord(t, s, "reactor-7", func(client.AlertHistoryRecord) bool { return true })
	require.Equal(t, "Plant", record.Labels["alertname"])
	require.Equal(t, "look at reactor-7", record.Description)
	require.Zero(t, record.ResolvedAt)
	listed := s.activeAlarms()["reactor-7"]
	require.Equal(t, told.Alarm.Id, listed.ID)
	require.True(t, listed.IsActive)
	require.Equal(t, "Reactor is too hot", listed.Message)
	require.WithinDuration(t, at, listed.TriggeredAt, 0)
	require.WithinDuration(t, record.Timestamp, listed.TriggeredAt, time.Millisecond)
	require.Equal(t, listed.Code, s.openAlarms()["reactor-7"].Code)
	e.morePosts(3) // repeats

	// Two more join the group, so that what is posted holds three.
	am.post(sentFor("north", "critical", "pump-1", "Pump has stopped"), sentFor("north", "critical", "fan-1", "Fan has stopped"))
	messages := []string{page.await("message")[0], page.await("message")[0]}
	require.ElementsMatch(t, []string{"Pump has stopped", "Fan has stopped"}, messages, "the repeats told nobody")
	requireStreamed(t, stream, "pump-1", "fan-1")
	e.morePosts(3)

	require.Equal(t, http.StatusOK, s.acknowledge(listed.ID, "I am on my way"))
	require.Equal(t, http.StatusConflict, s.acknowledge(listed.ID, ""))
	require.NotContains(t, s.openAlarms(), "reactor-7")
	require.Contains(t, s.activeAlarms(), "reactor-7")

	now := time.Now().UTC()
	hot.EndsAt = &now
	am.post(hot)
	require.Equal(t, []string{"Resolved: Reactor is too hot", "Critical"}, page.await("message")[:2])
	require.NotContains(t, s.activeAlarms(), "reactor-7")
	resolved := requireOneRecord(t, s, "reactor-7", func(r client.AlertHistoryRecord) bool { return !r.ResolvedAt.IsZero() })
	require.WithinDuration(t, now, resolved.ResolvedAt, patience)
	past := s.raisedSince("reactor-7", began.Add(-time.Minute))
	require.Len(t, past, 1)
	require.False(t, past[0].IsActive)
	require.NotNil(t, past[0].ClearedAt)
	require.Equal(t, "admin", *past[0].AcknowledgedBy)
	require.Equal(t, "I am on my way", past[0].Comment)
	recent, err := s.GetRecentAlarmsWithResponse(t.Context(), &client.GetRecentAlarmsParams{})
	require.NoError(t, err)
	for _, a := range *recent.JSON200 {
		require.Equal(t, a.SourceID == "reactor-7", a.ClearedAt != nil, a.SourceID)
	}

	// Of a crowd two are posted and three are not; each that comes counts.
	var crowd []sent
	for i := range 5 {
		crowd = append(crowd, sentFor("crowded", "warning", fmt.Sprintf("crowd-%d", i), "One of many"))
	}
	am.post(crowd...)
	for range 2 {
		require.Equal(t, []string{"One of many", "Warning"}, page.await("message")[:2])
	}
	cut := page.await("message")
	require.Equal(t, "Warning", cut[1])
	require.Contains(t, cut[0], `Alertmanager leaves alerts out, 3 in the last post of the receiver "few"`)
	require.Contains(t, s.activeAlarms(), "alerting")
	e.morePosts(3)
	eventually(t, "the two are not recorded", func() bool { return s.records("crowd-").TotalCount >= 2 })
	require.EqualValues(t, 2, s.records("crowd-").TotalCount)
	require.Contains(t, e.log.String(), `msg="sender left out alerts" count=3`)

	am.post(sentFor("south", "critical", "last", "The last one"))
	require.Equal(t, "The last one", page.await("message")[0])
	requireStreamed(t, stream, "crowd", "crowd", "alerting", "last")
	eventually(t, "not all mails come", func() bool { return len(box.got()) >= 5 })
	require.ElementsMatch(t, []string{"[Critical] reactor-7: Reactor is too hot", "[Critical] pump-1: Pump has stopped", "[Critical] fan-1: Fan has stopped",
		"Resolved: [Critical] reactor-7: Reactor is too hot", "[Critical] last: The last one"}, box.subjects())
	first := box.got()[0]
	require.Equal(t, "[Critical] reactor-7: Reactor is too hot", first.subject)
	require.Equal(t, [2]string{"plant@example.com", "shift@example.com"}, [2]string{first.from, first.to})
	require.Contains(t, first.text, "Firing: Reactor is too hot")
	require.Contains(t, first.text, "look at reactor-7")
	require.NotContains(t, e.log.String(), s.token, "the query token is in no log")
}

// requireOneRecord waits for the one record of a source, which is written shortly after the alarm.
func requireOneRecord(t *testing.T, s *session, source string, complete func(client.AlertHistoryRecord) bool) client.AlertHistoryRecord {
	t.Helper()
	var found client.AlertHistoryPage
	eventually(t, "there is no such record", func() bool {
		found = s.records(source)
		return found.TotalCount > 0 && complete(found.Records[0])
	})
	require.EqualValues(t, 1, found.TotalCount)
	return found.Records[0]
}

// requireStreamed takes alarms from a stream, whose sources must begin so, in any order.
func requireStreamed(t *testing.T, stream platformv1.PlatformApi_SubscribeAlarmsClient, sources ...string) {
	t.Helper()
	var got []string
	for _, want := range sources {
		told, err := stream.Recv()
		require.NoError(t, err)
		if source := told.Alarm.Source; strings.HasPrefix(source, want) {
			got = append(got, want)
		} else {
			got = append(got, source)
		}
	}
	require.ElementsMatch(t, sources, got)
}
