package alarmspart

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
)

// TestPendingFileFromBefore reads signals as earlier versions stored them.
func TestPendingFileFromBefore(t *testing.T) {
	const text = `[{"Raise":{"Key":"rule:hot","ID":"01900000-0000-7000-8000-000000000001","Source":"t","SourceType":"Sensor","Message":"hot",` +
		`"Severity":"Critical","Latching":true,"Labels":{"ruleId":"hot"},"At":"2024-02-29T01:02:03Z","Refresh":null},"Key":"rule:hot",` +
		`"At":"2024-02-29T01:02:03Z","End":false,"Comment":"","By":"","NotAfter":"0001-01-01T00:00:00Z"},` +
		`{"Raise":null,"Key":"rule:hot","At":"2024-02-29T01:02:04Z","End":true,"Comment":"why","By":"anna","NotAfter":"2024-02-29T01:02:05Z"}]`
	at := time.Date(2024, 2, 29, 1, 2, 3, 0, time.UTC)
	want := []rules.Pending{
		{Signal: alarms.Signal{Key: "rule:hot", At: at, Raise: &alarms.Alarm{Key: "rule:hot", ID: "01900000-0000-7000-8000-000000000001", Source: "t", SourceType: "Sensor",
			Message: "hot", Severity: alarms.Critical, Latching: true, Labels: map[string]string{"ruleId": "hot"}, At: at}}},
		{Signal: alarms.Signal{Key: "rule:hot", At: at.Add(time.Second), Reset: true, Comment: "why", By: "anna", NotAfter: at.Add(2 * time.Second)}},
	}
	var got []rules.Pending
	require.NoError(t, json.Unmarshal([]byte(text), &got))
	require.Equal(t, want, got)
	written, err := json.Marshal(want)
	require.NoError(t, err)
	require.JSONEq(t, text, string(written))
}

func TestPendingFileKeepsSignals(t *testing.T) {
	dir := t.TempDir()
	f, err := openPendingFile(dir)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	// open is what the next process does.
	open := func() *pendingFile {
		f, err := openPendingFile(dir)
		require.NoError(t, err)
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	at := time.Date(2024, 2, 29, 1, 2, 3, 456000, time.UTC)
	signal := func(i int) rules.Pending {
		return rules.Pending{Driver: "press", Epoch: 1<<64 - 1, Signal: alarms.Signal{At: at, Raise: &alarms.Alarm{Key: fmt.Sprintf("rule:%d", i),
			ID: "01900000-0000-7000-8000-000000000001", Source: "t", Message: "ä\"", Severity: alarms.Critical, Labels: map[string]string{"a": "b"}, At: at}}}
	}
	f = open()
	got, err := f.LoadPending()
	require.NoError(t, err)
	require.Empty(t, got)
	for n := range 5 {
		list := []rules.Pending{{Signal: alarms.Signal{Key: "rule:0", At: at, Reset: true, Comment: "why", By: "anna"}}}
		for i := range n {
			list = append(list, signal(i))
		}
		saved, err := f.SavePending(list)
		require.NoError(t, err)
		require.Equal(t, len(list), saved)
		again := open()
		got, err = again.LoadPending()
		require.NoError(t, err)
		require.Equal(t, list, got)
		f = again
	}
	size := func() int64 {
		info, err := os.Stat(filepath.Join(dir, pendingFileName))
		require.NoError(t, err)
		return info.Size()
	}
	require.EqualValues(t, 2*pendingSlot, size())

	// A copy that a power cut has spoiled gives way to the one before it.
	_, err = f.SavePending([]rules.Pending{signal(7)})
	require.NoError(t, err)
	_, err = f.file.WriteAt([]byte("x"), int64(f.last%2)*pendingSlot+pendingHeader+5)
	require.NoError(t, err)
	f = open()
	before, err := f.LoadPending()
	require.NoError(t, err)
	require.Equal(t, got, before)

	var many []rules.Pending
	for i := range 5000 {
		many = append(many, signal(i))
	}
	saved, err := f.SavePending(many)
	require.NoError(t, err)
	require.Greater(t, saved, 500)
	got, err = open().LoadPending()
	require.NoError(t, err)
	require.Equal(t, many[:saved], got)
	require.EqualValues(t, 2*pendingSlot, size(), "it never grows")
}
