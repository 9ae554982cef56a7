package main_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/openapi/client"
)

func TestDemoRuleIsToldAndAcknowledged(t *testing.T) {
	t.Parallel()
	began := time.Now()
	box, addr := openMailbox(t, "127.0.0.1:0")
	receiver := newHook(t, false)
	e := start(t, with(known, mailTo(addr), receiver.settings(), []string{"Alerting__Routes__Info=email,webhook", "Alerting__Routes__Critical=",
		"Alerting__Templates__0__Channel=email", "Alerting__Templates__0__Subject={{if .Resolved}}Over: {{end}}{{.Severity}} at {{.Source}}"}),
		"-demo", "-data", t.TempDir())
	s := e.admin()
	s.good("sim.running")
	require.NotContains(t, s.activeAlarms(), "sim.running")

	require.Equal(t, client.Confirmed, s.settled(s.write("sim", "running", "false", true)).State)
	var raised client.AlarmInfo
	eventually(t, "the rule raises no alarm", func() bool {
		raised = s.activeAlarms()["sim.running"]
		return raised.ID != ""
	})
	require.EqualValues(t, "Info", raised.Severity)
	require.Equal(t, "Line has stopped: sim.running is false", raised.Message)
	eventually(t, "nobody is told", func() bool { return len(box.got()) == 1 && len(receiver.got()) == 1 })
	require.Equal(t, "Info at sim.running", box.got()[0].subject)
	require.Equal(t, "Sensor", receiver.got()[0].SourceType)

	require.Equal(t, http.StatusOK, s.acknowledge(raised.ID, "planned"))
	require.Equal(t, http.StatusConflict, s.acknowledge(raised.ID, ""))
	require.Equal(t, http.StatusNotFound, s.acknowledge("01990000-0000-7000-8000-000000000000", ""))
	require.NotContains(t, s.openAlarms(), "sim.running")

	s.settled(s.write("sim", "running", "true", true))
	eventually(t, "nobody is told of the end", func() bool { return len(box.got()) == 2 && len(receiver.got()) == 2 })
	require.True(t, strings.HasPrefix(box.got()[1].subject, "Over: "), box.got()[1].subject)
	require.True(t, receiver.got()[1].Resolved)
	past := s.raisedSince("sim.running", began)
	require.Len(t, past, 1)
	require.False(t, past[0].IsActive)
	require.Equal(t, "admin", *past[0].AcknowledgedBy)
}

// addRule adds an alarm rule over REST.
func (s *session) addRule(r rules.Rule) {
	s.t.Helper()
	answer, err := s.AddAlarmRuleWithResponse(s.t.Context(), client.AlarmRuleRequest{Rule: r})
	require.NoError(s.t, err)
	require.NotNil(s.t, answer.JSON201, "%s %s", answer.Status(), answer.Body)
}

func TestRuleStateSurvivesKill9(t *testing.T) {
	t.Parallel()
	const delay = 10 * time.Second
	data := t.TempDir()
	e := start(t, known, "-demo", "-data", data)
	s := e.admin()
	s.good("sim.speed")
	s.addRule(rules.Rule{ID: "latched", Tag: "sim.running", Kind: rules.Discrete, States: []string{"false"}, Latching: true,
		Severity: alarms.Warning, Enabled: true, Message: "It stays"})
	before := time.Now()
	s.addRule(rules.Rule{ID: "slow", Tag: "sim.speed", Kind: rules.High, Limit: 1000, OnDelay: delay, Severity: alarms.Warning, Enabled: true})
	require.Equal(t, client.Confirmed, s.settled(s.write("sim", "running", "false", true)).State)
	latched := func() (client.AlarmInfo, bool) {
		list, err := s.ListAlarmsWithResponse(t.Context(), &client.ListAlarmsParams{})
		require.NoError(t, err)
		for _, a := range list.JSON200.Alarms {
			if a.Message == "It stays" {
				return a, true
			}
		}
		return client.AlarmInfo{}, false
	}
	eventually(t, "no alarm is latched", func() bool { _, there := latched(); return there })
	first, _ := latched()
	eventually(t, "half of the delay does not pass", func() bool { return time.Since(before) > delay/2 })
	e.kill()
	eventually(t, "the delay does not pass", func() bool { return time.Since(before) > delay })

	e = start(t, known, "-demo", "-data", data)
	s = e.with(s.token)
	s.good("sim.speed")
	restarted := s.read("sim.speed").LastUpdated
	s.good("sim.running")
	require.Equal(t, "true", s.read("sim.running").CurrentValue.String(), "the plant begins anew")
	var slow client.AlarmInfo
	eventually(t, "the delay never ends", func() bool {
		slow = s.activeAlarms()["sim.speed"]
		return slow.ID != ""
	})
	require.Less(t, slow.TriggeredAt.Sub(restarted), delay/2, "the delay began again from zero")
	require.GreaterOrEqual(t, slow.TriggeredAt.Sub(before), delay)

	again, there := latched()
	require.True(t, there, "a latched alarm stays, though its condition is normal")
	require.Equal(t, first.ID, again.ID)
	reset, err := s.ResetAlarmWithResponse(t.Context(), again.Code, client.AcknowledgeRequest{})
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, reset.StatusCode(), "%s", reset.Body)
	_, there = latched()
	require.False(t, there)
}
