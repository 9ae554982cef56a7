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
		{"ListOrder", testWriteLogListOrder},
		{"ListFilters", testWriteLogListFilters},
		{"ListTexts", testWriteLogListTexts},
		{"ListPages", testWriteLogListPages},
		{"ListLive", testWriteLogListLive},
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
		requireWrite(t, w, got, "Get")
	}
}

func requireWrite(t testing.TB, want, got tags.Write, call string) {
	t.Helper()
	require.Equal(t, want.ID, got.ID, "ID of %s", call)
	require.Less(t, got.QueuedAt.Sub(want.QueuedAt).Abs(), time.Microsecond, "QueuedAt of %s of %s", call, want.ID)
	require.Equal(t, want.CompletedAt.IsZero(), got.CompletedAt.IsZero(), "whether %s is completed", want.ID)
	require.Less(t, got.CompletedAt.Sub(want.CompletedAt).Abs(), time.Microsecond, "CompletedAt of %s of %s", call, want.ID)
	got.QueuedAt, got.CompletedAt = want.QueuedAt, want.CompletedAt
	requireSame(t, want, got, "%s of %s", call, want.ID)
}

// requireList requires that a query selects exactly these writes in this order.
func (l writeLog) requireList(t testing.TB, q tags.WriteQuery, want []tags.Write, what string) {
	t.Helper()
	q.Limit, q.Count = len(want)+10, true
	page, err := l.List(t.Context(), q)
	require.NoError(t, err, "List of %s", what)
	require.Len(t, page.Writes, len(want), "List of %s", what)
	require.Equal(t, len(want), page.Total, "Total of %s", what)
	for i := range want {
		requireWrite(t, want[i], page.Writes[i], "List of "+what)
	}
}

// writeNo makes a queued write with an id that depends on i alone.
func writeNo(i int) tags.Write {
	return tags.Write{
		ID:       fmt.Sprintf("01900000-0000-7000-8000-%012x", i),
		Tag:      fmt.Sprintf("press.valve%d", i),
		Driver:   "press",
		Address:  fmt.Sprintf("Coil:%d", i),
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
		w.Tag, w.By, w.Error, w.Driver, w.Address = "a"+text, text, text, text, text
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

func testWriteLogListOrder(t *testing.T, l writeLog) {
	l.requireList(t, tags.WriteQuery{}, nil, "an empty log")
	// Two writes of one time, put in either order.
	var want []tags.Write
	for i := range 100 {
		w := writeNo(i)
		w.QueuedAt = day0.Add(time.Duration(i/2) * time.Second)
		want = append(want, w)
	}
	for i := 99; i >= 0; i -= 2 {
		l.put(t, want[i])
	}
	for i := 0; i < 100; i += 2 {
		l.put(t, want[i])
	}
	slices.Reverse(want)
	l.requireList(t, tags.WriteQuery{}, want, "all")
	want[50].State, want[50].CompletedAt = tags.WriteDone, day0.Add(time.Hour)
	l.put(t, want[50])
	l.requireList(t, tags.WriteQuery{}, want, "all, after an outcome")
}

func testWriteLogListFilters(t *testing.T, l writeLog) {
	var all []tags.Write // newest first
	drivers, users, states := []string{"press", "oven", "press.2"}, []string{"anna", "ben"}, tags.WriteStates()
	for i := range 120 {
		w := writeNo(i)
		w.Driver, w.By, w.State = drivers[i%3], users[i%2], states[i/3%6]
		w.Tag, w.Address = fmt.Sprintf("%s.valve%d", w.Driver, i%9), fmt.Sprintf("Coil:%d", i%9)
		w.QueuedAt = day0.Add(time.Duration(i) * time.Minute)
		if w.State.Final() {
			w.CompletedAt = w.QueuedAt.Add(time.Second)
		}
		l.put(t, w)
		all = slices.Insert(all, 0, w)
	}
	at := func(minute int) time.Time { return day0.Add(time.Duration(minute) * time.Minute) }
	for _, f := range []tags.WriteFilter{
		{},
		{Driver: "press"}, {Driver: "Press"}, {Driver: "press."}, {Driver: "nowhere"},
		{Tag: "press.valve0"}, {Tag: "press.VALVE0"}, {Tag: "press.valve"},
		{Driver: "press", Address: "Coil:3"}, {Driver: "press", Address: "cOIL:3"}, {Driver: "press", Address: "Coil:1"}, {Address: "coil:%"},
		{By: "anna"}, {By: "Anna"}, {By: "nobody"},
		{States: []tags.WriteState{tags.WriteQueued}}, {States: []tags.WriteState{tags.WriteDone}},
		{States: []tags.WriteState{tags.WriteFailed, tags.WriteUnknown}}, {States: []tags.WriteState{tags.WriteConfirmed, tags.WriteUnconfirmed, tags.WriteUnconfirmed}},
		{States: states},
		{Start: at(60)}, {End: at(60)}, {Start: at(20), End: at(21)}, {Start: at(20).Add(time.Nanosecond), End: at(21).Add(time.Nanosecond)}, {Start: at(120)}, {End: at(0)},
		{Driver: "press", By: "ben", States: []tags.WriteState{tags.WriteFailed}, Start: at(10), End: at(100)},
		{Driver: "oven", Tag: "press.valve0"}, {Tag: "oven.valve1", By: "anna", Start: at(50)},
	} {
		var want []tags.Write
		for _, w := range all {
			if f.Selects(w) {
				want = append(want, w)
			}
		}
		l.requireList(t, tags.WriteQuery{WriteFilter: f}, want, fmt.Sprintf("%+v", f))
	}
}

func testWriteLogListTexts(t *testing.T, l writeLog) {
	texts := []string{"größe 温度", "quote ' double \" percent % back \\", "a_b", "ab", "İ", strings.Repeat("n", tags.MaxNameBytes)}
	for i, text := range texts {
		w := writeNo(i)
		w.Tag, w.By, w.Driver, w.Address = text, text, text, text
		l.put(t, w)
		for _, f := range []tags.WriteFilter{{Tag: text}, {By: text}, {Driver: text}, {Driver: text, Address: text}} {
			l.requireList(t, tags.WriteQuery{WriteFilter: f}, []tags.Write{w}, text)
		}
	}
}

func testWriteLogListPages(t *testing.T, l writeLog) {
	var all []tags.Write
	for i := range 250 {
		w := writeNo(i)
		w.State = tags.WriteStates()[i%6]
		all = append(all, w)
	}
	l.put(t, all...)
	slices.Reverse(all)
	for _, size := range []int{1, 100, 1000} {
		for offset := 0; offset < 300; offset += max(size, 49) {
			page, err := l.List(t.Context(), tags.WriteQuery{Offset: offset, Limit: size})
			require.NoError(t, err)
			require.Zero(t, page.Total, "Total without Count")
			from := min(offset, len(all))
			want := all[from:min(from+size, len(all))]
			require.Len(t, page.Writes, len(want), "%d writes after %d", size, offset)
			for i := range want {
				require.Equal(t, want[i].ID, page.Writes[i].ID, "write %d after %d", i, offset)
			}
		}
	}
	page, err := l.List(t.Context(), tags.WriteQuery{Count: true})
	require.NoError(t, err)
	require.Equal(t, len(all), page.Total)
	require.Empty(t, page.Writes, "with a Limit of 0")
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = l.List(canceled, tags.WriteQuery{Limit: 1})
	require.Error(t, err, "List with a canceled context")
}

func testWriteLogListLive(t *testing.T, l writeLog) {
	var all, live []tags.Write
	for i := range 60 {
		w := writeNo(i)
		l.put(t, w)
		if i%2 == 0 {
			w.State, w.CompletedAt = tags.WriteDone, day0.Add(time.Hour)
			if i%4 == 0 {
				w.State, w.Error = tags.WriteFailed, "refused"
			}
			live = append(live, w)
		}
		if i%12 == 0 {
			l.put(t, w) // the log has taken it meanwhile
		}
		all = slices.Insert(all, 0, w)
	}
	unknown := writeNo(1000)
	unknown.State = tags.WriteFailed
	for _, states := range [][]tags.WriteState{nil, {tags.WriteQueued}, {tags.WriteFailed}, {tags.WriteFailed, tags.WriteQueued}, {tags.WriteDone}, {tags.WriteUnknown}} {
		for _, f := range []tags.WriteFilter{{States: states}, {States: states, Driver: "press", End: writeNo(30).QueuedAt}, {States: states, Tag: "press.valve8"}} {
			var want []tags.Write
			for _, w := range all {
				if f.Selects(w) {
					want = append(want, w)
				}
			}
			q := tags.WriteQuery{WriteFilter: f, Live: append(slices.Clone(live), unknown)}
			l.requireList(t, q, want, fmt.Sprintf("%v with outcomes of their own", f))
			for offset := range want {
				q.Offset, q.Limit = offset, 1
				page, err := l.List(t.Context(), q)
				require.NoError(t, err)
				require.Len(t, page.Writes, 1)
				requireWrite(t, want[offset], page.Writes[0], "List")
			}
		}
	}
	l.requireWrites(t, writeNo(2)) // List stores nothing
}
