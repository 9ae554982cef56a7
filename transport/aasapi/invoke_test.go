package aasapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/aasapi"
)

// machine carries out the operation double: number and times are doubled.
type machine struct {
	err     error
	waiting chan struct{} // when set, an invocation ends only with its context or this
	panics  bool
}

func (m *machine) Invoke(ctx context.Context, call repository.Invocation) (repository.InvocationResult, error) {
	if m.panics {
		panic("SECRET")
	}
	if m.waiting != nil {
		select {
		case <-m.waiting:
		case <-ctx.Done():
			return repository.InvocationResult{}, ctx.Err()
		}
	}
	if m.err != nil {
		return repository.InvocationResult{}, m.err
	}
	var result repository.InvocationResult
	for _, e := range call.Input {
		n, _ := strconv.Atoi(*e.(*aas.Property).Value)
		twice := strconv.Itoa(2 * n)
		out := *call.Operation.OutputVariables[0].(*aas.Property)
		out.Value = &twice
		result.Output = append(result.Output, &out)
	}
	result.Inoutput = call.Inoutput
	return result, nil
}

func withMachine(t *testing.T, m *machine, api aasapi.Options) *rig {
	return start(t, rigOptions{api: api, service: repository.Options{Operations: map[repository.OperationKey]repository.OperationHandler{
		{SubmodelID: dataID, Path: "double"}: m,
	}}})
}

const (
	fullRequest  = `{"inputArguments":[{"value":{"modelType":"Property","idShort":"number","valueType":"xs:int","value":"21"}}],"clientTimeoutDuration":"PT10M"}`
	valueRequest = `{"inputArguments":{"number":21},"inoutputArguments":{"times":1},"clientTimeoutDuration":"PT10M"}`
	fullResult   = `{"executionState":"Completed","success":true,"messages":[],"outputArguments":[{"value":{"modelType":"Property","idShort":"result","valueType":"xs:int","value":"42"}}]}`
	valueResult  = `{"executionState":"Completed","success":true,"messages":[],"outputArguments":{"result":42},"inoutputArguments":{"times":1}}`
)

func TestInvokeSync(t *testing.T) {
	m := &machine{}
	r := withMachine(t, m, aasapi.Options{})
	for _, tree := range trees {
		at := tree + "/submodel-elements/double/invoke"
		require.JSONEq(t, fullResult, r.require(http.StatusOK, "POST", at, fullRequest).body)
		require.JSONEq(t, valueResult, r.require(http.StatusOK, "POST", at+"/$value", valueRequest).body)
		r.require(http.StatusOK, "POST", at, `{}`)
		for _, bad := range []string{
			`{"inputArguments":{"number":1}}`, `{"inputArguments":[{}]}`, `{"clientTimeoutDuration":"10s"}`, `{"clientTimeoutDuration":"PT0S"}`, `[]`,
			`{"inputArguments":[{"value":{"modelType":"Property","idShort":"other","valueType":"xs:int"}}]}`,
		} {
			r.require(http.StatusBadRequest, "POST", at, bad)
		}
		for _, bad := range []string{`{"inputArguments":{"other":1}}`, `{"inputArguments":{"number":"x"}}`, `{"inputArguments":[]}`} {
			r.require(http.StatusBadRequest, "POST", at+"/$value", bad)
		}
		r.require(http.StatusMethodNotAllowed, "POST", tree+"/submodel-elements/speed/invoke", `{}`)
		r.require(http.StatusServiceUnavailable, "POST", tree+"/submodel-elements/unplugged/invoke", `{}`)
		r.require(http.StatusNotFound, "POST", tree+"/submodel-elements/none/invoke", `{}`)
	}
	m.err = fault.New(fault.Conflict, "BUSY", "the machine is busy")
	r.require(http.StatusConflict, "POST", aData+"/submodel-elements/double/invoke", fullRequest)
	m.err = errors.New("SECRET")
	require.NotContains(t, r.require(http.StatusInternalServerError, "POST", aData+"/submodel-elements/double/invoke", fullRequest).body, "SECRET")
	m.waiting = make(chan struct{})
	a := r.require(http.StatusOK, "POST", aData+"/submodel-elements/double/invoke", `{"clientTimeoutDuration":"PT0.02S"}`)
	require.Contains(t, a.body, `"executionState":"Timeout","success":false`)
}

// until follows the status of an invocation until it ends, and returns where its result is.
func (r *rig) until(status string) string {
	r.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		a := r.sendTo("GET", status, noBody)
		if a.status == http.StatusFound {
			return a.header.Get("Location")
		}
		require.Equal(r.t, http.StatusOK, a.status, a.body)
		require.Contains(r.t, a.body, `"executionState":"Running"`)
		time.Sleep(time.Millisecond)
	}
	require.Fail(r.t, "the invocation does not end")
	return ""
}

func TestInvokeAsync(t *testing.T) {
	m := &machine{waiting: make(chan struct{})}
	r := withMachine(t, m, aasapi.Options{})
	at := aData + "/submodel-elements/double/invoke-async"
	full := r.require(http.StatusAccepted, "POST", at, fullRequest).header.Get("Location")
	value := r.require(http.StatusAccepted, "POST", at+"/$value", valueRequest).header.Get("Location")
	short := r.require(http.StatusAccepted, "POST", at, `{"clientTimeoutDuration":"PT0.01S"}`).header.Get("Location")
	running := r.sendTo("GET", full, noBody)
	require.Contains(t, running.body, "Running")
	results := strings.Replace(full, "operation-status", "operation-results", 1)
	require.Equal(t, http.StatusNotFound, r.sendTo("GET", results, noBody).status)
	require.Contains(t, r.sendTo("GET", r.until(short), noBody).body, `"executionState":"Timeout"`)

	close(m.waiting)
	require.Equal(t, results, r.until(full))
	require.JSONEq(t, fullResult, r.sendTo("GET", results, noBody).body)
	require.JSONEq(t, fullResult, r.sendTo("GET", results, noBody).body, "a result can be read again")
	at = r.until(value)
	require.True(t, strings.HasSuffix(at, "/$value"))
	require.JSONEq(t, valueResult, r.sendTo("GET", at, noBody).body)

	// A handle is good for its own operation alone.
	require.Equal(t, http.StatusNotFound, r.sendTo("GET", strings.Replace(full, "/double/", "/unplugged/", 1), noBody).status)
	r.require(http.StatusNotFound, "GET", aData+"/submodel-elements/double/operation-status/"+b64("none"), noBody)
	r.require(http.StatusBadRequest, "GET", aData+"/submodel-elements/double/operation-status/!", noBody)
	r.require(http.StatusServiceUnavailable, "POST", aData+"/submodel-elements/unplugged/invoke-async", `{}`)

	m.err = fault.New(fault.Conflict, "BUSY", "the machine is busy")
	failed := r.until(r.require(http.StatusAccepted, "POST", aData+"/submodel-elements/double/invoke-async", fullRequest).header.Get("Location"))
	require.Contains(t, r.sendTo("GET", failed, noBody).body, "the machine is busy")
	m.panics = true
	failed = r.until(r.require(http.StatusAccepted, "POST", aData+"/submodel-elements/double/invoke-async", fullRequest).header.Get("Location"))
	a := r.sendTo("GET", failed, noBody)
	require.Contains(t, a.body, `"executionState":"Failed"`)
	require.NotContains(t, a.body, "SECRET")
}

func TestInvocationsAreBounded(t *testing.T) {
	m := &machine{waiting: make(chan struct{})}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r := withMachine(t, m, aasapi.Options{MaxInvocations: 2, KeepResults: time.Minute, Now: func() time.Time { return now }})
	at := aData + "/submodel-elements/double/invoke-async"
	first := r.require(http.StatusAccepted, "POST", at, fullRequest).header.Get("Location")
	second := r.require(http.StatusAccepted, "POST", at, fullRequest).header.Get("Location")
	refused := r.require(http.StatusServiceUnavailable, "POST", at, fullRequest)
	require.NotEmpty(t, refused.header.Get("Retry-After"))
	close(m.waiting)
	r.until(first)
	r.until(second)
	// Results make room for what is new, and go when they are old.
	third := r.require(http.StatusAccepted, "POST", at, fullRequest).header.Get("Location")
	r.until(third)
	there := 0
	for _, status := range []string{first, second} {
		if r.sendTo("GET", status, noBody).status != http.StatusNotFound {
			there++
		}
	}
	require.Equal(t, 1, there)
	now = now.Add(2 * time.Minute)
	require.Equal(t, http.StatusNotFound, r.sendTo("GET", third, noBody).status)
	r.require(http.StatusAccepted, "POST", at, fullRequest)
}

// Arguments stay in memory as long as their operation runs, which may be a day.
func TestRunningArgumentsAreBoundedByBytes(t *testing.T) {
	m := &machine{waiting: make(chan struct{})}
	const most = 10_000
	r := withMachine(t, m, aasapi.Options{MaxBodyBytes: most})
	large := fullRequest + strings.Repeat(" ", most-len(fullRequest))
	at := aData + "/submodel-elements/double/invoke-async"
	var running []string
	for {
		a := r.send("POST", at, large)
		if a.status != http.StatusAccepted {
			require.Equal(t, http.StatusServiceUnavailable, a.status, a.body)
			require.NotEmpty(t, a.header.Get("Retry-After"))
			break
		}
		running = append(running, a.header.Get("Location"))
		require.LessOrEqual(t, len(running), 20)
	}
	require.NotEmpty(t, running)
	r.require(http.StatusServiceUnavailable, "POST", at, large)
	r.require(http.StatusBadRequest, "POST", at, `{"clientTimeoutDuration":"x"}`)
	close(m.waiting)
	for _, status := range running {
		r.until(status)
	}
	for range running { // all of the room is there again
		r.until(r.require(http.StatusAccepted, "POST", at, large).header.Get("Location"))
	}
}

func TestResultsAreBoundedByBytes(t *testing.T) {
	r := withMachine(t, &machine{}, aasapi.Options{MaxResultBytes: 200}) // one has 77
	at := aData + "/submodel-elements/double/invoke-async"
	var handles []string
	for range 4 {
		status := r.require(http.StatusAccepted, "POST", at, fullRequest).header.Get("Location")
		r.until(status)
		handles = append(handles, status)
	}
	for i, want := range []int{http.StatusNotFound, http.StatusNotFound, http.StatusFound, http.StatusFound} {
		require.Equal(t, want, r.sendTo("GET", handles[i], noBody).status, i)
	}
}

func TestArgumentsAreCheckedBeforeAnythingStarts(t *testing.T) {
	r := withMachine(t, &machine{}, aasapi.Options{})
	for _, at := range []string{"invoke", "invoke-async"} {
		for _, argument := range []string{
			`{"modelType":"Property","idShort":"number","valueType":"xs:string","value":"21"}`,
			`{"modelType":"Property","idShort":"number","valueType":"xs:int","value":"x"}`,
			`{"modelType":"Range","idShort":"number","valueType":"xs:int"}`,
			`{"modelType":"Property","idShort":"other","valueType":"xs:int","value":"21"}`,
		} {
			r.require(http.StatusBadRequest, "POST", aData+"/submodel-elements/double/"+at, `{"inputArguments":[{"value":`+argument+`}]}`)
		}
	}
}

func TestCloseEndsInvocations(t *testing.T) {
	r := withMachine(t, &machine{waiting: make(chan struct{})}, aasapi.Options{})
	at := aData + "/submodel-elements/double/invoke-async"
	status := r.require(http.StatusAccepted, "POST", at, fullRequest).header.Get("Location")
	require.NoError(t, r.api.Close(t.Context()))
	var result struct{ ExecutionState string }
	require.NoError(t, json.Unmarshal([]byte(r.sendTo("GET", r.until(status), noBody).body), &result))
	require.Equal(t, "Canceled", result.ExecutionState)
	r.require(http.StatusServiceUnavailable, "POST", at, fullRequest)
}
