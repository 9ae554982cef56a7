package main_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/openapi/client"
)

// driverEdits changes drivers by calls, one after the other, and remembers what was acknowledged: the interval of each driver, 0 for none.
type driverEdits struct {
	intervals map[string]int64
	underWay  string // the driver of the call that has no answer
	wanted    int64
	count     int
}

// next makes one change and reports whether it was acknowledged.
func (d *driverEdits) next(ctx context.Context, s *session) bool {
	d.count++
	id := fmt.Sprintf("made%d", d.count%5)
	interval := int64(1000 + d.count)
	if d.intervals[id] > 0 && d.count%3 == 0 {
		interval = 0
	}
	d.underWay, d.wanted = id, interval
	body := client.DriverDefinition{ID: id, Type: "Simulation", PollIntervalMs: interval}
	var status int
	switch {
	case interval == 0:
		answer, err := s.DeleteDriverWithResponse(ctx, id, nil)
		if err != nil {
			return false
		}
		status = answer.StatusCode() - 4
	case d.intervals[id] > 0:
		answer, err := s.ReplaceDriverWithResponse(ctx, id, nil, body)
		if err != nil {
			return false
		}
		status = answer.StatusCode()
	default:
		answer, err := s.CreateDriverWithResponse(ctx, body)
		if err != nil {
			return false
		}
		status = answer.StatusCode() - 1
	}
	if status != 200 {
		return false
	}
	d.intervals[id], d.underWay = interval, ""
	return true
}

// The drivers that were acknowledged are there after a kill -9, and run, and none is half changed.
func TestKill9LosesNoDriver(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	d := &driverEdits{intervals: map[string]int64{}}
	token := ""
	for range 4 {
		e := start(t, known, "-data", data)
		if token == "" {
			token = e.admin().token
		}
		s := e.with(token)
		d.requireKept(t, s)
		acknowledged, ended := make(chan struct{}, 1000), make(chan struct{})
		go func() {
			defer close(ended)
			for d.next(context.Background(), s) {
				acknowledged <- struct{}{}
			}
		}()
		for range 10 {
			select {
			case <-acknowledged:
			case <-ended:
				t.Fatalf("%s was refused", d.underWay)
			}
		}
		e.kill()
		<-ended
	}
	e := start(t, known, "-data", data)
	d.requireKept(t, e.with(token))
	require.NotContains(t, e.log.String(), "level=ERROR")
	e.stop()
}

func (d *driverEdits) requireKept(t *testing.T, s *session) {
	t.Helper()
	list, err := s.ListDriversWithResponse(t.Context())
	require.NoError(t, err)
	require.NotNil(t, list.JSON200)
	found := map[string]int64{}
	for _, i := range *list.JSON200 {
		if i.Origin != "api" {
			continue
		}
		one, err := s.GetDriverWithResponse(t.Context(), i.DriverID)
		require.NoError(t, err)
		require.NotNil(t, one.JSON200)
		require.NotEqual(t, client.DriverStatusState("Stopped"), i.State, i.DriverID)
		found[i.DriverID] = one.JSON200.PollIntervalMs
	}
	for n := range 5 {
		id := fmt.Sprintf("made%d", n)
		if id == d.underWay && found[id] == d.wanted {
			d.intervals[id] = d.wanted
		}
		require.Equal(t, d.intervals[id], found[id], id)
	}
	d.underWay = ""
}
