package tagstest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
)

// TestWriteLog checks a log against the contract of tags.WriteLog. newLog makes an empty log and
// closes it with t.Cleanup; it is called for each part of the suite. Times are compared to the
// microsecond.
func TestWriteLog(t *testing.T, newLog func(testing.TB) tags.WriteLog) {
	t.Helper()
	for _, part := range []struct {
		name string
		run  func(*testing.T, writeLog)
	}{
		{"Empty", testWriteLogEmpty},
		{"States", testWriteLogStates},
		{"Values", testWriteLogValues},
		{"Texts", testWriteLogTexts},
		{"Replace", testWriteLogReplace},
		{"Many", testWriteLogMany},
		{"CallersSlice", testWriteLogCallersSlice},
		{"CanceledContext", testWriteLogCanceledContext},
		{"Concurrent", testWriteLogConcurrent},
	} {
		t.Run(part.name, func(t *testing.T) { part.run(t, writeLog{newLog(t)}) })
	}
}

// writeLog is a log under test.
type writeLog struct{ tags.WriteLog }

func (l writeLog) put(t testing.TB, writes ...tags.Write) {
	t.Helper()
	require.NoError(t, l.Put(t.Context(), writes), "Put of %d writes", len(writes))
}

func (l writeLog) requireWrites(t testing.TB, want ...tags.Write) {
	t.Helper()
	for _, w := range want {
		got, err := l.Get(t.Context(), w.ID)
		require.NoError(t, err, "Get of %s", w.ID)
		require.Less(t, got.QueuedAt.Sub(w.QueuedAt).Abs(), time.Microsecond, "QueuedAt of %s", w.ID)
		require.Equal(t, w.CompletedAt.IsZero(), got.CompletedAt.IsZero(), "whether %s is completed", w.ID)
		require.Less(t, got.CompletedAt.Sub(w.CompletedAt).Abs(), time.Microsecond, "CompletedAt of %s", w.ID)
		got.QueuedAt, got.CompletedAt = w.QueuedAt, w.CompletedAt
		requireSame(t, w, got, "Get of %s", w.ID)
	}
}

// writeNo makes a queued write with an id that depends on i alone.
func writeNo(i int) tags.Write {
	return tags.Write{
		ID:       fmt.Sprintf("01900000-0000-7000-8000-%012x", i),
		Tag:      fmt.Sprintf("press.valve%d", i),
		Value:    tags.IntValue(int64(i)),
		By:       "operator",
		State:    tags.WriteQueued,
		QueuedAt: day0.Add(time.Duration(i) * time.Microsecond),
	}
}

func testWriteLogEmpty(t *testing.T, l writeLog) {
	l.put(t)
	l.put(t, writeNo(1))
	for _, id := range []string{writeNo(2).ID, "", "no uuid", "%"} {
		_, err := l.Get(t.Context(), id)
		require.ErrorIs(t, err, tags.ErrWriteNotFound, "Get of %q", id)
	}
}

func testWriteLogStates(t *testing.T, l writeLog) {
	var want []tags.Write
	for _, state := range []tags.WriteState{tags.WriteQueued, tags.WriteDone, tags.WriteConfirmed, tags.WriteUnconfirmed, tags.WriteFailed, tags.WriteUnknown} {
		for _, confirm := range []bool{false, true} {
			w := writeNo(len(want))
			w.State, w.Confirm = state, confirm
			if state.Final() {
				w.CompletedAt = w.QueuedAt.Add(1500 * time.Microsecond)
			}
			if state == tags.WriteUnconfirmed || state == tags.WriteFailed || state == tags.WriteUnknown {
				w.Error = "the device did not answer in time"
			}
			want = append(want, w)
		}
	}
	l.put(t, want...)
	l.requireWrites(t, want...)
}

func testWriteLogValues(t *testing.T, l writeLog) {
	for i, v := range awkwardValues() {
		w := writeNo(i)
		w.Value = v
		l.put(t, w)
		l.requireWrites(t, w)
	}
}

func testWriteLogTexts(t *testing.T, l writeLog) {
	for i, text := range []string{"", "größe 温度", "quote ' double \" percent % back \\", strings.Repeat("n", tags.MaxNameBytes)} {
		w := writeNo(i)
		w.Tag, w.By, w.Error = "a"+text, text, text
		l.put(t, w)
		l.requireWrites(t, w)
	}
}

func testWriteLogReplace(t *testing.T, l writeLog) {
	other := writeNo(2)
	w := writeNo(1)
	l.put(t, w, other)
	w.State, w.CompletedAt = tags.WriteDone, w.QueuedAt.Add(time.Second)
	l.put(t, w)
	l.requireWrites(t, w, other)
	w.State, w.Error = tags.WriteConfirmed, ""
	failed := w
	failed.State, failed.Error = tags.WriteFailed, "refused"
	l.put(t, failed, w)
	l.requireWrites(t, w, other) // twice in one call: the later wins
}

func testWriteLogMany(t *testing.T, l writeLog) {
	var want []tags.Write
	for i := range 2000 {
		want = append(want, writeNo(i))
	}
	l.put(t, want[:1500]...)
	for i := range want[:1000] {
		want[i].State, want[i].CompletedAt = tags.WriteDone, day0.Add(time.Hour)
	}
	l.put(t, want...) // new ones and known ones in one call
	l.requireWrites(t, want...)
}

func testWriteLogCallersSlice(t *testing.T, l writeLog) {
	want := []tags.Write{writeNo(1), writeNo(2)}
	mine := slices.Clone(want)
	l.put(t, mine...)
	clear(mine)
	l.requireWrites(t, want...)
}

func testWriteLogCanceledContext(t *testing.T, l writeLog) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, l.Put(canceled, []tags.Write{writeNo(1)}), "Put with a cancelled context")
	_, err := l.Get(t.Context(), writeNo(1).ID)
	require.ErrorIs(t, err, tags.ErrWriteNotFound, "what Put refused must not be stored")
	l.put(t, writeNo(1))
	l.requireWrites(t, writeNo(1))
}

func testWriteLogConcurrent(t *testing.T, l writeLog) {
	const writers, each = 4, 50
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for i := range each {
				queued := writeNo(w*each + i)
				done := queued
				done.State, done.CompletedAt = tags.WriteDone, day0.Add(time.Hour)
				for _, step := range []tags.Write{queued, done} {
					if err := l.Put(t.Context(), []tags.Write{step}); err != nil {
						t.Errorf("Put: %v", err)
					}
					if got, err := l.Get(t.Context(), step.ID); err != nil || got.State != step.State {
						t.Errorf("Get of what was put: %s, error %v", got.State, err)
					}
				}
			}
		})
	}
	group.Wait()
	for i := range writers * each {
		got, err := l.Get(t.Context(), writeNo(i).ID)
		require.NoError(t, err)
		require.Equal(t, tags.WriteDone, got.State)
	}
}
