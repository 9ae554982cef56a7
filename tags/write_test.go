package tags_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
)

func requireOutcome(t *testing.T, e *tags.Engine, w tags.Write, want tags.WriteState) tags.Write {
	t.Helper()
	got, err := e.GetWrite(t.Context(), w.ID)
	require.NoError(t, err)
	require.Equal(t, want, got.State, got.Error)
	require.Equal(t, want.Final(), !got.CompletedAt.IsZero())
	return got
}

func write(t *testing.T, e *tags.Engine, name string, v int64) tags.Write {
	t.Helper()
	w, err := e.Write(t.Context(), tags.WriteRequest{Tag: name, Value: tags.IntValue(v), By: "anna"})
	require.NoError(t, err)
	return w
}

func TestWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice()
		e := online(t, d, tags.DriverOptions{PollInterval: time.Hour, Tags: []tags.Tag{intTag("plc.a")}})
		w := write(t, e, "plc.a", 7)
		require.Equal(t, tags.WriteQueued, w.State)
		require.NotEmpty(t, w.ID)
		synctest.Wait()
		got := requireOutcome(t, e, w, tags.WriteDone)
		require.Equal(t, []any{"plc.a", tags.IntValue(7), "anna", false}, []any{got.Tag, got.Value, got.By, got.Confirm})
		requireSample(t, e, "plc.a", tags.IntValue(7), tags.Good, tags.ReasonNone)
		require.EqualValues(t, 1, status(t, e, "plc").Writes)
		require.Zero(t, status(t, e, "plc").QueuedWrites)
		_, err := e.GetWrite(t.Context(), "none")
		require.ErrorIs(t, err, tags.ErrWriteNotFound)
	})
}

func TestWritesKeepTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice()
		e := online(t, d, tags.DriverOptions{MaxWrites: 2000, Tags: []tags.Tag{intTag("plc.a"), intTag("plc.b")}})
		thaw := freeze(t, d)
		after(2 * time.Second)
		var want []tags.Value
		for i := range 1200 { // more than goes out in one call
			write(t, e, []string{"plc.a", "plc.b"}[i%2], int64(i))
			want = append(want, tags.IntValue(int64(i)))
		}
		require.Equal(t, 1200, status(t, e, "plc").QueuedWrites)
		thaw()
		synctest.Wait()
		require.Equal(t, want, d.writtenValues())
		require.Zero(t, status(t, e, "plc").QueuedWrites)
	})
}

func TestConfirmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice()
		d.echo = false
		e := online(t, d, tags.DriverOptions{Tags: []tags.Tag{
			intTag("plc.a"), intTag("plc.f", ofType(tags.Float)), intTag("plc.own", func(t *tags.Tag) { t.Confirm = true }),
		}})
		ask := func(name string, v tags.Value) tags.Write {
			w, err := e.Write(t.Context(), tags.WriteRequest{Tag: name, Value: v, Confirm: true})
			require.NoError(t, err)
			return w
		}
		w := ask("plc.a", tags.IntValue(7))
		after(100 * time.Millisecond)
		requireOutcome(t, e, w, tags.WriteQueued)
		d.has("a", tags.IntValue(7)) // the device takes its time
		after(time.Second)
		requireOutcome(t, e, w, tags.WriteConfirmed)

		w = ask("plc.a", tags.IntValue(8))
		after(900 * time.Millisecond)
		requireOutcome(t, e, w, tags.WriteQueued)
		d.has("a", tags.IntValue(8)) // at the last moment
		after(200 * time.Millisecond)
		requireOutcome(t, e, w, tags.WriteConfirmed)

		w = ask("plc.a", tags.IntValue(9))
		after(1100 * time.Millisecond)
		require.Contains(t, requireOutcome(t, e, w, tags.WriteUnconfirmed).Error, "did not give the value back")
		requireSample(t, e, "plc.a", tags.IntValue(8), tags.Good, tags.ReasonNone)

		d.has("f", tags.FloatValue(float64(float32(0.1)))) // what a 32-bit register holds of it
		w = ask("plc.f", tags.FloatValue(0.1))
		after(time.Second)
		requireOutcome(t, e, w, tags.WriteConfirmed)

		d.has("own", tags.IntValue(1))
		w = write(t, e, "plc.own", 1)
		require.True(t, w.Confirm, "the tag asks for it")
		after(time.Second)
		requireOutcome(t, e, w, tags.WriteConfirmed)
	})
}

func TestConfirmWhenTheConnectionGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice()
		e := online(t, d, tags.DriverOptions{PollInterval: 100 * time.Millisecond, Tags: []tags.Tag{intTag("plc.a"), intTag("plc.b")}})
		thaw := freeze(t, d) // so that both are sent together
		after(time.Second)
		d.set(func(d *device) { d.onWrite = func() { d.readErr = tags.ErrNotConnected } })
		writes, _, err := e.WriteMany(t.Context(), []tags.WriteRequest{
			{Tag: "plc.a", Value: tags.IntValue(1), Confirm: true}, {Tag: "plc.b", Value: tags.IntValue(1)},
		})
		require.NoError(t, err)
		thaw()
		synctest.Wait()
		require.Contains(t, requireOutcome(t, e, writes[0], tags.WriteUnconfirmed).Error, "before the value could be read back")
		requireOutcome(t, e, writes[1], tags.WriteDone)
	})
}

func TestWriteOutcomesOfADevice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice()
		d.refuse["b"] = errDevice
		e := online(t, d, tags.DriverOptions{PollInterval: time.Hour, Tags: []tags.Tag{intTag("plc.a"), intTag("plc.b")}})
		good, bad := write(t, e, "plc.a", 1), write(t, e, "plc.b", 1)
		synctest.Wait()
		requireOutcome(t, e, good, tags.WriteDone)
		require.Equal(t, errDevice.Error(), requireOutcome(t, e, bad, tags.WriteFailed).Error)
		require.Equal(t, errDevice.Error(), status(t, e, "plc").LastError)
		require.EqualValues(t, 1, status(t, e, "plc").WriteErrors)
		require.Equal(t, tags.DriverOnline, status(t, e, "plc").State, "a refusal is no lost connection")
	})
}

// Nobody can tell whether the device took the value, so the write is neither repeated nor called failed.
func TestConnectionLostWhileWriting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice()
		e := online(t, d, tags.DriverOptions{PollInterval: time.Hour, Tags: []tags.Tag{intTag("plc.a")}})
		gate := make(chan struct{})
		d.set(func(d *device) { d.holdWrite, d.writeErr = gate, tags.ErrNotConnected })
		first := write(t, e, "plc.a", 1)
		synctest.Wait()
		second := write(t, e, "plc.a", 2) // waits behind it
		close(gate)
		synctest.Wait()
		require.Contains(t, requireOutcome(t, e, first, tags.WriteUnknown).Error, "not known whether the device took")
		require.Contains(t, requireOutcome(t, e, second, tags.WriteFailed).Error, "before the value was sent")
		requireSample(t, e, "plc.a", tags.IntValue(0), tags.Bad, tags.ReasonNotConnected)
		_, err := e.Write(t.Context(), tags.WriteRequest{Tag: "plc.a", Value: tags.IntValue(3)})
		require.ErrorIs(t, err, tags.ErrDriverOffline)
		d.set(func(d *device) { d.holdWrite, d.writeErr = nil, nil })
		after(2 * time.Second)
		third := write(t, e, "plc.a", 3)
		synctest.Wait()
		requireOutcome(t, e, third, tags.WriteDone)
		require.Equal(t, []tags.Value{tags.IntValue(3)}, d.writtenValues())
	})
}

func TestWriteRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice()
		log := tags.NewMemoryWriteLog(10)
		e := newEngine(t, tags.Options{Writes: log, NewID: func() string { return "the-id" }})
		down := newDevice()
		down.connectErr = errDevice
		require.NoError(t, e.AddDriver("down", down, tags.DriverOptions{Tags: []tags.Tag{intTag("down.a")}}))
		require.NoError(t, e.AddDriver("plc", d, tags.DriverOptions{MaxWrites: 2, Tags: []tags.Tag{
			intTag("plc.a", between(0, 10)), intTag("plc.s", ofType(tags.String)), intTag("plc.f", ofType(tags.Float), func(t *tags.Tag) { t.Max = tags.Ptr(1) }),
			intTag("plc.ro", func(t *tags.Tag) { t.Access = tags.ReadOnly }),
		}}))
		require.NoError(t, e.DefineTags(intTag("gone.a")))
		after(time.Second)
		for _, c := range []struct {
			q    tags.WriteRequest
			want error
		}{
			{tags.WriteRequest{Tag: "plc.none", Value: tags.IntValue(1)}, tags.ErrTagNotFound},
			{tags.WriteRequest{Tag: "gone.a", Value: tags.IntValue(1)}, tags.ErrInvalidDriver},
			{tags.WriteRequest{Tag: "plc.ro", Value: tags.IntValue(1)}, tags.ErrReadOnly},
			{tags.WriteRequest{Tag: "plc.a", Value: tags.StringValue("1")}, tags.ErrInvalidValue},
			{tags.WriteRequest{Tag: "plc.a", Value: tags.FloatValue(1.5)}, tags.ErrInvalidValue},
			{tags.WriteRequest{Tag: "plc.a", Text: "one"}, tags.ErrInvalidValue},
			{tags.WriteRequest{Tag: "plc.a"}, tags.ErrInvalidValue},
			{tags.WriteRequest{Tag: "plc.a", Value: tags.IntValue(11)}, tags.ErrInvalidValue},
			{tags.WriteRequest{Tag: "plc.a", Text: "-1"}, tags.ErrInvalidValue},
			{tags.WriteRequest{Tag: "plc.f", Value: tags.FloatValue(1.01)}, tags.ErrInvalidValue},
			{tags.WriteRequest{Tag: "down.a", Value: tags.IntValue(1)}, tags.ErrDriverOffline},
		} {
			_, err := e.Write(t.Context(), c.q)
			require.ErrorIs(t, err, c.want, "%+v", c.q)
			f, _ := fault.From(err)
			require.Equal(t, c.q.Tag, f.Metadata["tagName"], "%+v", c.q)
			_, err = log.Get(t.Context(), "the-id")
			require.ErrorIs(t, err, tags.ErrWriteNotFound, "a refused write is not logged")
		}
		thaw := freeze(t, d)
		after(2 * time.Second)
		write(t, e, "plc.a", 1)
		write(t, e, "plc.a", 2)
		_, err := e.Write(t.Context(), tags.WriteRequest{Tag: "plc.a", Value: tags.IntValue(3)})
		require.ErrorIs(t, err, tags.ErrQueueFull)
		thaw()
		synctest.Wait()
		write(t, e, "plc.a", 4)
		w, err := e.Write(t.Context(), tags.WriteRequest{Tag: "plc.s", Text: "on"})
		require.NoError(t, err)
		require.Equal(t, tags.StringValue("on"), w.Value)
		synctest.Wait()
		w, err = e.Write(t.Context(), tags.WriteRequest{Tag: "plc.a", Value: tags.FloatValue(5)})
		require.NoError(t, err, "a whole number fits an Int")
		require.Equal(t, tags.IntValue(5), w.Value)
	})
}

func TestWriteMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice()
		e := online(t, d, tags.DriverOptions{Tags: []tags.Tag{intTag("plc.a"), intTag("plc.ro", func(t *tags.Tag) { t.Access = "" })}})
		writes, errs, err := e.WriteMany(t.Context(), []tags.WriteRequest{
			{Tag: "plc.a", Value: tags.IntValue(1)}, {Tag: "none", Value: tags.IntValue(1)},
			{Tag: "plc.ro", Value: tags.IntValue(1)}, {Tag: "plc.a", Text: "2"},
		})
		require.NoError(t, err)
		require.NoError(t, errs[0])
		require.ErrorIs(t, errs[1], tags.ErrTagNotFound)
		require.ErrorIs(t, errs[2], tags.ErrReadOnly)
		require.NoError(t, errs[3])
		require.NotEqual(t, writes[0].ID, writes[3].ID)
		require.Empty(t, writes[1].ID)
		synctest.Wait()
		require.Equal(t, []tags.Value{tags.IntValue(1), tags.IntValue(2)}, d.writtenValues())

		writes, errs, err = e.WriteMany(t.Context(), nil)
		require.NoError(t, err)
		require.Empty(t, writes)
		require.Empty(t, errs)
		_, _, err = e.WriteMany(t.Context(), make([]tags.WriteRequest, tags.MaxBatch+1))
		require.ErrorIs(t, err, tags.ErrBatchSizeExceeded)
		full := make([]tags.WriteRequest, tags.MaxBatch)
		for i := range full {
			full[i] = tags.WriteRequest{Tag: "plc.a", Value: tags.IntValue(int64(i))}
		}
		_, errs, err = e.WriteMany(t.Context(), full)
		require.NoError(t, err)
		for _, err := range errs {
			require.NoError(t, err)
		}
	})
}

// brokenLog is a write log whose disk is full.
type brokenLog struct {
	*tags.MemoryWriteLog
	broken atomic.Bool
}

func (l *brokenLog) Put(ctx context.Context, writes []tags.Write) error {
	if l.broken.Load() {
		return errDevice
	}
	return l.MemoryWriteLog.Put(ctx, writes)
}

func TestWriteThatCannotBeLoggedIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &brokenLog{MemoryWriteLog: tags.NewMemoryWriteLog(10)}
		e := newEngine(t, tags.Options{Writes: log})
		d := newDevice()
		require.NoError(t, e.AddDriver("plc", d, tags.DriverOptions{MaxWrites: 1, Tags: []tags.Tag{intTag("plc.a")}}))
		after(time.Second)
		log.broken.Store(true)
		for range 3 { // the place in the queue is given back each time
			_, err := e.Write(t.Context(), tags.WriteRequest{Tag: "plc.a", Value: tags.IntValue(1)})
			require.ErrorIs(t, err, errDevice)
		}
		after(time.Second)
		require.Empty(t, d.writtenValues())
		log.broken.Store(false)
		write(t, e, "plc.a", 2)
		synctest.Wait()
		require.Equal(t, []tags.Value{tags.IntValue(2)}, d.writtenValues())
	})
}

// recordingLog keeps every write by id, so that none can be forgotten.
type recordingLog struct {
	mu   sync.Mutex
	byID map[string]tags.Write
}

func (l *recordingLog) Put(_ context.Context, writes []tags.Write) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range writes {
		l.byID[w.ID] = w
	}
	return nil
}

func (l *recordingLog) List(context.Context, tags.WriteQuery) (tags.WritePage, error) {
	return tags.WritePage{}, nil
}

func (l *recordingLog) Get(context.Context, string) (tags.Write, error) {
	return tags.Write{}, tags.ErrWriteNotFound
}

func TestWritesWhileClosing(t *testing.T) {
	for round := range 20 {
		log := &recordingLog{byID: map[string]tags.Write{}}
		e, err := tags.New(tags.Options{Writes: log})
		require.NoError(t, err)
		d := newDevice()
		require.NoError(t, e.AddDriver("plc", d, tags.DriverOptions{Tags: []tags.Tag{intTag("plc.a")}}))
		require.Eventually(t, func() bool { return status(t, e, "plc").State == tags.DriverOnline }, time.Minute, time.Millisecond)
		var accepted atomic.Int64
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for i := 0; ; i++ {
					_, err := e.Write(context.Background(), tags.WriteRequest{Tag: "plc.a", Value: tags.IntValue(int64(i))})
					if err == nil {
						accepted.Add(1)
						continue
					}
					if f, ok := fault.From(err); !ok || f.Kind != fault.Unavailable {
						t.Errorf("a write while closing gives %v", err)
					}
					if strings.Contains(err.Error(), tags.ErrClosed.Message) {
						return
					}
				}
			})
		}
		time.Sleep(time.Duration(round) * 100 * time.Microsecond)
		require.NoError(t, e.Close(context.Background()))
		wg.Wait()
		require.Len(t, log.byID, int(accepted.Load()))
		states := map[tags.WriteState]int{}
		for _, w := range log.byID {
			states[w.State]++
		}
		require.Zero(t, states[tags.WriteQueued], fmt.Sprint(states))
		require.Len(t, d.writtenValues(), states[tags.WriteDone])
	}
}

func TestAwaitWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice()
		e := online(t, d, tags.DriverOptions{Timeout: time.Minute, Tags: []tags.Tag{intTag("plc.a")}})
		release := make(chan struct{})
		d.set(func(d *device) { d.holdWrite = release })
		w, err := e.Write(t.Context(), tags.WriteRequest{Tag: "plc.a", Value: tags.IntValue(1)})
		require.NoError(t, err)
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		got, err := e.AwaitWrite(short, w.ID)
		require.NoError(t, err, "the time is up, and the write is queued")
		require.Equal(t, tags.WriteQueued, got.State)
		require.Equal(t, time.Second, time.Since(began))

		done := make(chan tags.Write, 2)
		for range 2 {
			go func() {
				got, _ := e.AwaitWrite(t.Context(), w.ID)
				done <- got
			}()
		}
		synctest.Wait()
		close(release)
		for range 2 {
			require.Equal(t, tags.WriteDone, (<-done).State)
		}
		require.Equal(t, time.Second, time.Since(began), "at once, and not at the next look")
		_, err = e.AwaitWrite(t.Context(), "absent")
		require.ErrorIs(t, err, tags.ErrWriteNotFound)
	})
}
