package main_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/openapi/client"
	platformv1 "github.com/otkit/otkit/proto/platform/v1"
)

// streamed counts by id what SubscribeAlarms tells.
type streamed struct {
	mu   sync.Mutex
	told map[string][]*platformv1.AlarmInfo
}

func (s *session) stream() *streamed {
	s.t.Helper()
	stream, err := s.grpc.SubscribeAlarms(s.rpc(), &platformv1.SubscribeAlarmsRequest{})
	require.NoError(s.t, err)
	_, err = stream.Header()
	require.NoError(s.t, err)
	got := &streamed{told: make(map[string][]*platformv1.AlarmInfo)}
	go func() {
		for m, err := stream.Recv(); err == nil; m, err = stream.Recv() {
			got.mu.Lock()
			got.told[m.GetAlarm().GetId()] = append(got.told[m.GetAlarm().GetId()], m.GetAlarm())
			got.mu.Unlock()
		}
	}()
	return got
}

func (s *streamed) of(id string) []*platformv1.AlarmInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.told[id]
}

// critical returns the alarms of the counter that family A lists, by id.
func (s *session) critical() map[string]client.AlarmInfo {
	s.t.Helper()
	size := 500
	answer, err := s.ListAlarmsWithResponse(s.t.Context(), &client.ListAlarmsParams{PageSize: &size, SeverityFilter: "Critical"})
	require.NoError(s.t, err)
	require.NotNil(s.t, answer.JSON200, "%s %s", answer.Status(), answer.Body)
	found := map[string]client.AlarmInfo{}
	for _, a := range answer.JSON200.Alarms {
		if a.Source == "sim.counter" {
			found[a.ID] = a
		}
	}
	require.LessOrEqual(s.t, len(found), answer.JSON200.TotalCount)
	return found
}

// unjournaled waits for an alarm that is listed from memory.
func (s *session) unjournaled() (found client.AlarmInfo) {
	s.t.Helper()
	eventually(s.t, "a full disk hides every new alarm", func() bool {
		for _, a := range s.critical() {
			if a.Journaled != nil {
				require.False(s.t, *a.Journaled)
				found = a
				return true
			}
		}
		s.squeeze()
		return false
	})
	return found
}

// counterRules adds Critical rules that become true one after another as the demo plant counts its parts.
func (s *session) counterRules() {
	s.t.Helper()
	from := s.number("sim.counter") + 20
	for i := range 150 {
		s.addRule(rules.Rule{ID: fmt.Sprintf("full%d", i), Tag: "sim.counter", Kind: rules.High, Limit: from + float64(i), Severity: alarms.Critical,
			Message: fmt.Sprintf("alarm number %d", i), Enabled: true})
	}
}

// noReserve lets alarms meet a full disk as soon as other writes do.
var noReserve = []string{"Storage__Reserve=-1"}

// squeeze takes room that the storage has made in its files meanwhile, such as by moving its log.
func (s *session) squeeze() {
	s.t.Helper()
	value := strings.Repeat("x", 20_000)
	for range 5 {
		_, err := s.WriteTagWithResponse(s.t.Context(), "sim", "recipe", nil, client.WriteRequest{Value: &value})
		require.NoError(s.t, err)
	}
}

// exhaust writes until the storage has no room left in the files that are there already either.
func (s *session) exhaust() {
	s.t.Helper()
	value := "100"
	eventually(s.t, "a full disk refuses no write", func() bool {
		answer, err := s.WriteTagWithResponse(s.t.Context(), "sim", "speed", nil, client.WriteRequest{Value: &value})
		require.NoError(s.t, err)
		return answer.JSON200 == nil
	})
}

func TestAlarmsOnAFullDisk(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t)
	e := start(t, with(known, noReserve), "-demo", "-data", filepath.Join(disk, "data"))
	s := e.admin()
	s.good("sim.counter")
	stream, await := s.stream(), s.listenToAlarms(e.url)
	s.counterRules()
	free := fill(t, disk)
	s.exhaust()
	alarm := s.unjournaled()
	require.True(t, alarm.IsActive)
	require.Equal(t, client.AlarmSeverityCritical, alarm.Severity)
	require.Positive(t, alarm.Code, "a rule has its code from the beginning")
	open, err := s.GetActiveAlarmsWithResponse(t.Context())
	require.NoError(t, err)
	require.Contains(t, string(open.Body), `"`+alarm.Message+`"`)
	require.Equal(t, "Critical", await(alarm.Message))
	eventually(t, "the stream does not tell", func() bool { return len(stream.of(alarm.ID)) > 0 })
	told := stream.of(alarm.ID)[0]
	require.NotNil(t, told.Journaled)
	require.False(t, told.GetJournaled())
	require.Equal(t, http.StatusServiceUnavailable, s.acknowledge(alarm.ID, "seen"))
	ready, err := s.GetReadinessWithResponse(t.Context())
	require.NoError(t, err)
	require.NotNil(t, ready.JSON200, "%s %s", ready.Status(), ready.Body)
	require.Equal(t, client.Degraded, ready.JSON200.Status)
	require.Contains(t, ready.JSON200.Results["alarm-journal"].Description, "not journaled")

	free()
	var later client.AlarmInfo
	eventually(t, "the alarm is not journaled when there is space", func() bool {
		later = s.critical()[alarm.ID]
		return later.ID != "" && later.Journaled == nil
	})
	require.True(t, alarm.TriggeredAt.Equal(later.TriggeredAt), "the time at which it began is kept")
	eventually(t, "health does not recover", func() bool { return e.health().Results["alarm-journal"].Status == client.Healthy })
	require.Equal(t, http.StatusOK, s.acknowledge(alarm.ID, "seen"))
	for id := range s.critical() {
		require.LessOrEqual(t, len(stream.of(id)), 1, "told twice: %s", id)
	}
	require.Len(t, stream.of(alarm.ID), 1)
	past := s.raisedSince("sim.counter", alarm.TriggeredAt.Add(-time.Second))
	require.Contains(t, fmt.Sprint(past), alarm.ID)
}

func TestAlarmsOnAFullDiskSurviveKill9(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t)
	args := []string{"-demo", "-data", filepath.Join(disk, "data")}
	e := start(t, with(known, noReserve), args...)
	s := e.admin()
	s.good("sim.counter")
	s.counterRules()
	free := fill(t, disk)
	s.exhaust()
	first := s.unjournaled()
	eventually(t, "no further alarm comes", func() bool { // so that the first one is kept
		count := 0
		for _, a := range s.critical() {
			if a.Journaled != nil {
				count++
			}
		}
		s.squeeze()
		return count > 3
	})
	e.kill()
	e = launch(t, binary(t), known, args...)
	if e.starts() {
		s = e.with(s.token)
		eventually(t, "an engine that starts on a full disk hides the alarm", func() bool {
			again := s.critical()[first.ID]
			return again.ID != "" && again.Message == first.Message && again.TriggeredAt.Equal(first.TriggeredAt)
		})
		messages := map[string]int{}
		for _, a := range s.critical() {
			messages[a.Message]++
			require.Equal(t, 1, messages[a.Message], "shown twice: %s", a.Message)
		}
		free()
	} else { // the database has no room for what it writes when it is opened
		require.Contains(t, e.log.String(), "storage is full")
		free()
		s = start(t, known, args...).with(s.token)
	}
	var later client.AlarmInfo
	eventually(t, "the alarm is lost", func() bool { // it may be over by now
		for _, a := range s.raisedSince("sim.counter", first.TriggeredAt.Add(-time.Second)) {
			if a.ID == first.ID {
				later = a
				return true
			}
		}
		return false
	})
	require.True(t, first.TriggeredAt.Equal(later.TriggeredAt), "%s and %s", first.TriggeredAt, later.TriggeredAt)
	require.Equal(t, first.Message, later.Message)
	require.Equal(t, first.Code, later.Code)
	raised := map[string]int{}
	for _, a := range s.raisedSince("sim.counter", first.TriggeredAt.Add(-time.Hour)) {
		raised[a.Message]++
		require.Equal(t, 1, raised[a.Message], "raised twice: %s", a.Message)
	}
}
