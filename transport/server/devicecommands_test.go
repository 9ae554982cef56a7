package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/audit"
	"github.com/otkit/otkit/engine"
	"github.com/otkit/otkit/transport/devicesapi/devicespart"
)

const commandsPath = devicesPath + "/agv-1/commands"

// result returns the CommandResult of an answer, without the time.
func (a answer) result(t testing.TB, ended bool) map[string]any {
	t.Helper()
	require.Equal(t, http.StatusOK, a.status, "%s", a.body)
	r := a.object(t)
	require.Equal(t, []string{"commandId", "completedAt", "data", "message", "state", "success"}, keys(r))
	require.Equal(t, ended, r["completedAt"] != nil, "%s", a.body)
	delete(r, "completedAt")
	return r
}

// record returns a command of agv-1 from the journal.
func (p *platform) record(id string) map[string]any {
	p.t.Helper()
	a := p.call(accounts.Viewer, http.MethodGet, commandsPath+"/"+id, nil)
	require.Equal(p.t, 200, a.status, "%s", a.body)
	return a.object(p.t)
}

// awaitOutcome waits until the journal has the end of a command of agv-1.
func (p *platform) awaitOutcome(id string) (state any) {
	p.t.Helper()
	require.Eventually(p.t, func() bool {
		state = p.record(id)["state"]
		return state != "Queued" && state != "Running"
	}, patience, 10*time.Millisecond, id)
	return state
}

func TestACommandIsAnsweredWithItsResult(t *testing.T) {
	t.Parallel()
	m := newMachine()
	p := start(t, withMachine(t, m))
	p.place("agv-1", 1, 1)
	do := func(id, kind string, parameters map[string]any) map[string]any {
		return p.command(accounts.Operator, "agv-1", id, kind, parameters).result(t, true)
	}
	require.Equal(t, map[string]any{"commandId": "c-1", "success": true, "state": "Succeeded", "message": nil, "data": map[string]any{"x": num("5"), "y": num("6.5")}},
		do("c-1", "MoveTo", map[string]any{"x": 5, "y": 6.5, "speed": 0.5, "theta": nil}))
	require.Equal(t, map[string]any{"commandId": "c-2", "success": true, "state": "Succeeded", "message": nil, "data": nil}, do("c-2", "PickUp", map[string]any{"target": "box"}))
	require.Equal(t, map[string]any{"commandId": "c-3", "success": true, "state": "Succeeded", "message": nil, "data": nil}, do("c-3", "Dance", nil), "the executor knows it")
	require.Equal(t, map[string]any{"commandId": "c-4", "success": false, "state": "Failed", "message": "the gripper is jammed", "data": nil}, do("c-4", "Jam", nil))

	first := p.command(accounts.Operator, "agv-1", "c-1", "MoveTo", map[string]any{"x": 5, "y": 6.5, "speed": 0.5, "theta": nil})
	again := p.command(accounts.Operator, "agv-1", "c-1", "MoveTo", map[string]any{"theta": nil, "y": 6.5, "x": 5, "speed": 0.5})
	require.Equal(t, string(first.body), string(again.body))
	requireProblem(t, p.command(accounts.Operator, "agv-1", "c-1", "MoveTo", map[string]any{"x": 5, "y": 7}), 409, "COMMAND_ID_REUSED")
	requireProblem(t, p.command(accounts.Operator, "agv-2", "c-1", "MoveTo", map[string]any{"x": 5, "y": 6.5}), 409, "COMMAND_ID_REUSED")
	require.Equal(t, []string{"c-1", "c-2", "c-3", "c-4"}, m.executed(), "each once")

	// A device that nothing commands fails by itself.
	require.Equal(t, 201, p.call(accounts.Admin, http.MethodPost, devicesPath, map[string]any{"deviceId": "lone", "name": "Lone"}).status)
	p.place("lone", 40, 20)
	lone := p.command(accounts.Operator, "lone", "c-5", "Dance", nil).result(t, true)
	require.Equal(t, false, lone["success"])
	require.Equal(t, "nothing carries out commands of this device", lone["message"])
}

func TestACommandThatBreaksARuleIsRefused(t *testing.T) {
	t.Parallel()
	m := newMachine()
	p := start(t, withMachine(t, m))
	p.place("agv-1", 1, 1)
	mismatch := requireProblem(t, p.call(accounts.Operator, http.MethodPost, commandsPath,
		map[string]any{"commandId": "c", "deviceId": "agv-2", "commandType": "Dance"}), 400, "DEVICE_ID_MISMATCH")
	require.Equal(t, "Device ID mismatch", mismatch["detail"])
	requireProblem(t, p.command(accounts.Operator, "nobody", "c", "Dance", nil), 404, "DEVICE_NOT_FOUND")

	for members, field := range map[string]string{
		`"commandType":"Dance"`:                                                                  "commandId",
		`"commandId":"c"`:                                                                        "commandType",
		`"commandId":" ","commandType":"Dance"`:                                                  "commandId",
		`"commandId":7,"commandType":"Dance"`:                                                    "commandId",
		`"commandId":"c","commandType":"Dance","priority":"high"`:                                "priority",
		`"commandId":"c","commandType":"Dance","priority":1.5`:                                   "priority",
		`"commandId":"c","commandType":"Dance","parameters":[]`:                                  "parameters",
		`"commandId":"c","commandType":"MoveTo","parameters":{"y":1}`:                            "parameters.x",
		`"commandId":"c","commandType":"MoveTo","parameters":{"x":null,"y":1}`:                   "parameters.x",
		`"commandId":"c","commandType":"MoveTo","parameters":{"x":"1","y":1}`:                    "parameters.x",
		`"commandId":"c","commandType":"MoveTo","parameters":{"x":"NaN","y":1}`:                  "parameters.x",
		`"commandId":"c","commandType":"MoveTo","parameters":{"x":1,"y":"Infinity"}`:             "parameters.y",
		`"commandId":"c","commandType":"MoveTo","parameters":{"x":1,"y":true}`:                   "parameters.y",
		`"commandId":"c","commandType":"MoveTo","parameters":{"x":1,"y":1e300}`:                  "parameters.y",
		`"commandId":"c","commandType":"MoveTo","parameters":{"x":1,"y":1,"speed":0}`:            "parameters.speed",
		`"commandId":"c","commandType":"MoveTo","parameters":{"x":1,"y":1,"theta":"left"}`:       "parameters.theta",
		`"commandId":"c","commandType":"MoveTo","parameters":{"x":1,"y":1,"z":[]}`:               "parameters.z",
		`"commandId":"c","commandType":"MoveTo","parameters":{"x":1,"y":1,"map":3}`:              "parameters.map",
		`"commandId":"c","commandType":"MoveTo","parameters":{"x":1,"x":"2","y":1}`:              "parameters.x",
		`"commandId":"c","commandType":"PickUp","parameters":{"target":3}`:                       "parameters.target",
		`"commandId":"c","commandType":"MoveTo","parameters":{"x":1,"y":1},"deviceId":"nothing"`: "",
		`"commandId":"c","commandType":"MoveTo","timestamp":"yesterday"`:                         "timestamp",
	} {
		a := p.callWrong(accounts.Operator, http.MethodPost, commandsPath, `{"deviceId":"agv-1",`+members+`}`)
		require.Equal(t, 400, a.status, "%s: %s", members, a.body)
		if field != "" {
			require.Equal(t, []string{field}, fieldsOf(a.object(t)), members)
		}
	}
	for _, body := range []string{"", "{", "[]", `{"deviceId":"agv-1","commandId":"c","commandType":"MoveTo","parameters":{"x":NaN,"y":1}}`,
		`{"deviceId":"agv-1","commandId":"c","commandType":"MoveTo","parameters":{"x":1e999,"y":1}}`,
		`{"deviceId":"agv-1","commandId":"c","commandType":"Dance","timestamp":"yesterday"}`} {
		require.Equal(t, 400, p.callWrong(accounts.Operator, http.MethodPost, commandsPath, body).status, body)
	}
	require.Contains(t, p.refusal("agv-1", "c-9", "MoveTo", map[string]any{"x": 1, "y": 1, "map": "moon"}), "moon")
	require.Empty(t, m.executed())
}

func TestPoliciesRefuseWithTheirFiguresInTheJournal(t *testing.T) {
	t.Parallel()
	p := start(t, withMachine(t, newMachine()))
	require.Contains(t, p.refusal("agv-1", "c-0", "MoveTo", map[string]any{"x": 5, "y": 5}), "the device has not reported yet")
	p.place("agv-1", 1, 1)
	p.place("agv-2", 20, 20)
	geofence := p.refusal("agv-1", "c-1", "MoveTo", map[string]any{"x": 60, "y": 5})
	require.Regexp(t, `^geofence: .*[0-9]`, geofence)
	require.Regexp(t, `^collision: .*agv-2`, p.refusal("agv-1", "c-2", "MoveTo", map[string]any{"x": 20, "y": 20}))
	require.Equal(t, geofence, p.refusal("agv-1", "c-1", "MoveTo", map[string]any{"x": 60, "y": 5}), "the same outcome")
	require.Equal(t, 200, p.command(accounts.Operator, "agv-1", "c-3", "MoveTo", map[string]any{"x": 5, "y": 5}).status)

	refused := p.record("c-1")
	require.Equal(t, "Refused", refused["state"])
	require.Equal(t, "operator", refused["issuedBy"])
	require.Nil(t, refused["beganAt"])
	decision := refused["decision"].(map[string]any)
	require.Equal(t, "geofence", decision["policy"])
	require.Equal(t, geofence, decision["reason"])
	require.Len(t, decision["verdicts"], 2, "emergency stop and geofence were asked")
	require.NotEmpty(t, decision["verdicts"].([]any)[1].(map[string]any)["figures"])
	allowed := p.record("c-3")
	require.Equal(t, true, allowed["decision"].(map[string]any)["allowed"])
	require.Equal(t, num("5"), allowed["path"].(map[string]any)["toX"])
	require.Equal(t, true, allowed["result"].(map[string]any)["success"])
	for _, id := range []string{"unknown", "a%2Fb"} {
		requireProblem(t, p.callWrong(accounts.Viewer, http.MethodGet, commandsPath+"/"+id, nil), 404, "COMMAND_NOT_FOUND")
	}
	for _, id := range []string{"%00", "a%ffb"} { // which no database looks for
		require.Equal(t, 404, p.callWrong(accounts.Viewer, http.MethodGet, commandsPath+"/"+id, nil).status, id)
	}
	odd := p.command(accounts.Operator, "agv-1", "a/b c%", "Dance", nil).result(t, true)
	require.Equal(t, odd["commandId"], p.record("a%2Fb%20c%25")["commandId"])
	requireProblem(t, p.call(accounts.Viewer, http.MethodGet, devicesPath+"/agv-2/commands/c-1", nil), 404, "COMMAND_NOT_FOUND")
}

func TestTheJournalIsPagedByPosition(t *testing.T) {
	t.Parallel()
	p := start(t, withMachine(t, newMachine()))
	p.place("agv-1", 1, 1)
	const all = 7
	for i := range all {
		require.Equal(t, 200, p.command(accounts.Operator, "agv-1", fmt.Sprintf("c.%d", i), "Dance", nil).status)
	}
	var ids []any
	for query := "?limit=3"; ; {
		a := p.call(accounts.Viewer, http.MethodGet, commandsPath+query, nil)
		require.Equal(t, 200, a.status, "%s", a.body)
		page := a.object(t)
		for _, c := range page["commands"].([]any) {
			ids = append(ids, c.(map[string]any)["commandId"])
		}
		p.command(accounts.Operator, "agv-1", fmt.Sprintf("new.%d", len(ids)), "Dance", nil) // shifts nothing
		next, more := page["next"].(string)
		if !more {
			break
		}
		query = "?limit=3&before=" + next
	}
	require.Equal(t, []any{"c.6", "c.5", "c.4", "c.3", "c.2", "c.1", "c.0"}, ids)
	for query, field := range map[string]string{"?limit=0": "limit", "?limit=501": "limit", "?limit=x": "limit", "?before=x": "before", "?before=-5.x": "before", "?before=5.%00": "before", "?before=5.%ff": "before"} {
		a := p.callWrong(accounts.Viewer, http.MethodGet, commandsPath+query, nil)
		require.Equal(t, 400, a.status, query)
		require.Equal(t, []string{field}, fieldsOf(a.object(t)), query)
	}
	requireProblem(t, p.call(accounts.Viewer, http.MethodGet, devicesPath+"/x/commands", nil), 404, "DEVICE_NOT_FOUND")
}

func TestACommandThatTakesLongIsAnsweredAsItIs(t *testing.T) {
	t.Parallel()
	m := newMachine()
	p := start(t, withMachine(t, m, func(o *devicespart.Options) { o.CommandWait = 50 * time.Millisecond }))
	p.place("agv-1", 1, 1)
	running := p.command(accounts.Operator, "agv-1", "c-1", "Hold", nil).result(t, false)
	require.Equal(t, false, running["success"])
	require.Equal(t, map[string]any{"state": "Running"}, running["data"])
	require.Equal(t, "Running", running["state"])
	queued := p.command(accounts.Operator, "agv-1", "c-2", "Dance", nil).result(t, false)
	require.Equal(t, map[string]any{"state": "Queued"}, queued["data"])
	require.Equal(t, "Queued", queued["state"])
	require.Equal(t, "Running", p.record("c-1")["state"])
	require.Equal(t, running, p.command(accounts.Operator, "agv-1", "c-1", "Hold", nil).result(t, false), "it is not begun again")
	m.hold <- struct{}{}
	require.Equal(t, "Succeeded", p.awaitOutcome("c-1"))
	require.Equal(t, "Succeeded", p.awaitOutcome("c-2"))
	require.Equal(t, true, p.command(accounts.Operator, "agv-1", "c-1", "Hold", nil).result(t, true)["success"])
	require.Equal(t, []string{"c-1", "c-2"}, m.executed())
}

func TestARepeatedCommandWaitsWithTheFirst(t *testing.T) {
	t.Parallel()
	m := newMachine()
	p := start(t, withMachine(t, m, func(o *devicespart.Options) { o.CommandWait = 50 * time.Second }))
	p.place("agv-1", 1, 1)
	answers := make(chan answer, 2)
	for range 2 {
		r := p.request(t.Context(), accounts.Operator, http.MethodPost, commandsPath, map[string]any{"commandId": "c-1", "deviceId": "agv-1", "commandType": "Hold"})
		go func() { answers <- p.do(r) }()
	}
	require.Equal(t, "c-1", <-m.held)
	requireProblem(t, p.command(accounts.Operator, "agv-1", "c-1", "Dance", nil), 409, "COMMAND_ID_REUSED")
	m.hold <- struct{}{}
	first, second := <-answers, <-answers
	require.Equal(t, true, first.result(t, true)["success"])
	require.Equal(t, string(first.body), string(second.body))
	require.Equal(t, []string{"c-1"}, m.executed())
}

func TestAClientThatGoesAwayCancelsNothing(t *testing.T) {
	t.Parallel()
	m := newMachine()
	p := start(t, withMachine(t, m))
	p.place("agv-1", 1, 1)
	ctx, leave := context.WithCancel(t.Context())
	r := p.request(ctx, accounts.Operator, http.MethodPost, commandsPath, map[string]any{"commandId": "c-1", "deviceId": "agv-1", "commandType": "Hold"})
	gone := make(chan error, 1)
	go func() {
		resp, err := p.client.Do(r)
		if err == nil {
			_ = resp.Body.Close()
		}
		gone <- err
	}()
	<-m.held
	leave()
	require.ErrorIs(t, <-gone, context.Canceled)
	require.Equal(t, "Running", p.record("c-1")["state"])
	m.hold <- struct{}{}
	require.Equal(t, "Succeeded", p.awaitOutcome("c-1"))
}

func TestCommandsAreCanceled(t *testing.T) {
	t.Parallel()
	m := newMachine()
	p := start(t, withMachine(t, m, func(o *devicespart.Options) { o.CommandWait = 50 * time.Millisecond }))
	p.place("agv-1", 1, 1)
	for _, id := range []string{"c-1", "c-2"} {
		p.command(accounts.Operator, "agv-1", id, "Hold", nil).result(t, false)
	}
	cancel := func(id string) answer {
		return p.call(accounts.Operator, http.MethodPost, commandsPath+"/"+id+"/cancel", nil)
	}
	for _, id := range []string{"c-2", "c-1"} { // one that waits, one that runs
		a := cancel(id)
		require.Equal(t, 200, a.status, "%s", a.body)
		require.Equal(t, "Canceled", p.awaitOutcome(id))
		require.Equal(t, "canceled by operator", p.record(id)["result"].(map[string]any)["message"])
	}
	requireProblem(t, cancel("c-1"), 409, "COMMAND_DONE")
	requireProblem(t, cancel("unknown"), 404, "COMMAND_NOT_FOUND")
	requireProblem(t, p.call(accounts.Operator, http.MethodPost, devicesPath+"/agv-2/commands/c-1/cancel", nil), 404, "COMMAND_NOT_FOUND")
	require.Equal(t, []string{"c-1"}, m.executed())
}

func TestOnlyAnAdminResetsAnEmergencyStop(t *testing.T) {
	t.Parallel()
	m := newMachine()
	p := start(t, withMachine(t, m, func(o *devicespart.Options) { o.CommandWait = 50 * time.Second }))
	p.place("agv-1", 1, 1)
	held := make(chan answer, 1)
	r := p.request(t.Context(), accounts.Operator, http.MethodPost, commandsPath, map[string]any{"commandId": "c-1", "deviceId": "agv-1", "commandType": "Hold"})
	go func() { held <- p.do(r) }()
	<-m.held
	require.Equal(t, true, p.command(accounts.Operator, "agv-1", "stop", "EmergencyStop", nil).result(t, true)["success"])
	require.Equal(t, "Canceled", (<-held).result(t, true)["state"], "what ran is canceled")
	m.mu.Lock()
	require.Equal(t, []string{"agv-1"}, m.stopped)
	m.mu.Unlock()
	require.Equal(t, true, p.call(accounts.Viewer, http.MethodGet, devicesPath+"/agv-1", nil).object(t)["emergencyStopLatched"])
	require.Contains(t, p.refusal("agv-1", "c-2", "MoveTo", map[string]any{"x": 2, "y": 2}), "emergency stop")

	requireProblem(t, p.command(accounts.Operator, "agv-1", "r-1", "ResetEmergencyStop", nil), 403, "FORBIDDEN")
	for _, members := range []string{
		`"commandtype":"ResetEmergencyStop"`, `"COMMANDTYPE":"ResetEmergencyStop"`, `"commandType":"MoveTo","commandType":"ResetEmergencyStop"`,
		`"commandType":"MoveTo","CommandType":"ResetEmergencyStop"`, `"commandType":"Reset\u0045mergencyStop"`,
	} {
		requireProblem(t, p.callWrong(accounts.Operator, http.MethodPost, commandsPath, `{"commandId":"r-2","deviceId":"agv-1",`+members+`}`), 403, "FORBIDDEN")
	}
	for i, members := range []string{ // these are no resets: the stop holds
		`"commandType":"ResetEmergencyStop","commandType":"Dance"`, `"commandType":"resetemergencystop"`, `"commandType":"ResetEmergencyStop "`,
	} {
		a := p.callWrong(accounts.Operator, http.MethodPost, commandsPath, fmt.Sprintf(`{"commandId":"r-3-%d","deviceId":"agv-1",%s}`, i, members))
		require.Equal(t, 403, a.status, "%s: %s", members, a.body)
		require.Contains(t, a.object(t)["reason"], "emergency stop", members)
	}
	require.Equal(t, true, p.command(accounts.Admin, "agv-1", "r-4", "ResetEmergencyStop", nil).result(t, true)["success"])
	p.place("agv-1", 1, 1)
	require.Equal(t, true, p.command(accounts.Operator, "agv-1", "c-3", "MoveTo", map[string]any{"x": 2, "y": 2}).result(t, true)["success"])
	require.Equal(t, []string{"c-1", "c-3"}, m.executed())
}

// brokenAudit is a store of the audit log that fails when told.
type brokenAudit struct {
	audit.Store
	fails atomic.Bool
}

func (b *brokenAudit) Append(ctx context.Context, entries []audit.Entry) (int64, error) {
	if b.fails.Load() {
		return 0, errors.New("disk full")
	}
	return b.Store.Append(ctx, entries)
}

func TestCommandsAreAuditedAndAnEmergencyStopDoesNotDependOnIt(t *testing.T) {
	t.Parallel()
	log := &brokenAudit{Store: audit.NewMemory()}
	withIt := withMachine(t, newMachine(), func(o *devicespart.Options) { o.CommandWait = time.Second })
	p := start(t, withIt, func(o *engine.Options) { o.Audit.Store = log })
	p.place("agv-1", 1, 1)
	p.command(accounts.Operator, "agv-1", "c-1", "Dance", map[string]any{"style": "tango"})
	reason := p.refusal("agv-1", "c-2", "MoveTo", map[string]any{"x": 99, "y": 1})
	p.command(accounts.Operator, "agv-1", "c-5", "Jam", nil).result(t, true)
	p.command(accounts.Operator, "agv-1", "c-6", "Hold", nil).result(t, false)
	p.command(accounts.Operator, "agv-1", "c-7", "ResetEmergencyStop", nil)
	records, _, err := p.Audit().List(t.Context(), audit.Query{Object: "agv-1", Limit: 10})
	require.NoError(t, err)
	require.Len(t, records, 5, "reports of devices are not recorded")
	slices.SortFunc(records, func(a, b audit.Record) int { return int(a.ID - b.ID) })
	require.Equal(t, "submitDeviceCommand", records[0].Action)
	require.Equal(t, "operator", records[0].Actor)
	require.Contains(t, records[0].After, "tango")
	require.Equal(t, audit.Succeeded, records[0].Outcome)
	require.Equal(t, audit.Result{Outcome: audit.Refused, Code: "SAFETY_VIOLATION", Detail: reason}, records[1].Result)
	require.Equal(t, audit.Result{Outcome: audit.Failed, Code: "COMMAND_FAILED", Detail: "the gripper is jammed"}, records[2].Result)
	require.Equal(t, audit.Succeeded, records[3].Outcome, "it was given")
	require.Contains(t, records[3].Detail, `"state":"Running"`)
	require.Equal(t, audit.Result{Outcome: audit.Refused, Code: "FORBIDDEN", Detail: "your role does not allow the operation: ResetEmergencyStop needs the role Admin"}, records[4].Result)

	log.fails.Store(true)
	require.Equal(t, 503, p.command(accounts.Operator, "agv-1", "c-3", "Dance", nil).status)
	require.Equal(t, true, p.command(accounts.Operator, "agv-1", "stop", "EmergencyStop", nil).result(t, true)["success"])
	log.fails.Store(false)
}

func num(s string) json.Number { return json.Number(s) }

// Reports that an account sends too fast do not keep its emergency stop from a device.
func TestAnEmergencyStopIsNotCrowdedOut(t *testing.T) {
	t.Parallel()
	m := newMachine()
	withIt := withMachine(t, m)
	p := start(t, func(o *engine.Options) {
		withIt(o)
		o.Server.Access.RequestsPerPrincipal = 1 // a burst of 10
	})
	report := func() int {
		return p.call(accounts.Operator, http.MethodPost, devicesPath+"/agv-1/telemetry", map[string]any{"battery": 80}).status
	}
	require.Eventually(t, func() bool { return report() == http.StatusTooManyRequests }, patience, time.Millisecond)
	require.Equal(t, http.StatusOK, p.command(accounts.Operator, "agv-1", "stop", "EmergencyStop", nil).status)
}
