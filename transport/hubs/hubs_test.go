package hubs_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting/silences"
	"github.com/otkit/otkit/transport/hubs"
)

// fakeHub keeps what is sent.
type fakeHub struct {
	mu     sync.Mutex
	empty  bool
	sent   []string // ReceiveAlarm: its message; others: the method and the source of the alarm
	levels []string
	at     []time.Time
	waits  int
}

func (h *fakeHub) Clients() int {
	if h.empty {
		return 0
	}
	return 1
}

func (h *fakeHub) Broadcast(method string, args ...any) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at = append(h.at, time.Now())
	if method == "ReceiveAlarm" {
		h.sent = append(h.sent, args[0].(string))
		h.levels = append(h.levels, args[1].(string))
		return nil
	}
	var info struct{ Source string }
	text, err := json.Marshal(args[0])
	if err == nil {
		err = json.Unmarshal(text, &info)
	}
	h.sent = append(h.sent, method+" "+info.Source)
	return err
}

func (h *fakeHub) WaitForRoom(context.Context, time.Duration) { h.waits++ }

// take returns what was sent since the last call, in the order of sending.
func (h *fakeHub) take(only string) []string {
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	got := []string{}
	for _, s := range h.sent {
		if only == "" || strings.HasPrefix(s, "OnAlarm") == (only == "changes") {
			got = append(got, s)
		}
	}
	h.sent = nil
	return got
}

// silenceGate may keep the silences from being read.
type silenceGate struct {
	*silences.Service

	mu  sync.Mutex
	err error // with ErrStalled it answers at the end of the context only
}

func (g *silenceGate) set(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.err = err
}

func (g *silenceGate) get() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

var errStalled = errors.New("stalled")

func (g *silenceGate) Index(ctx context.Context) (*silences.Index, error) {
	err := g.get()
	if errors.Is(err, errStalled) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return g.Service.Index(ctx)
}

// desk is a Dashboard over services in memory.
type desk struct {
	t        *testing.T
	alarms   *alarms.Service
	journal  hubs.DashboardJournal // default: alarms
	silences *silenceGate
	hub      *fakeHub
	options  hubs.DashboardOptions
	stop     func()
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	var ids uint32
	service, err := alarms.New(t.Context(), alarms.NewMemory(), alarms.Options{NewID: func() string { return idAt(time.Now(), atomic.AddUint32(&ids, 1)) }})
	require.NoError(t, err)
	quiet, err := silences.New(silences.NewMemory(), silences.Options{})
	require.NoError(t, err)
	return &desk{t: t, alarms: service, silences: &silenceGate{Service: quiet}, hub: &fakeHub{}}
}

// idAt returns a UUIDv7 of a time. Those of package uuid never go back in time, as the clock of each test does.
func idAt(at time.Time, n uint32) string {
	id := uuid.UUID{6: 0x70, 8: 0x80}
	for i, ms := 5, at.UnixMilli(); i >= 0; i, ms = i-1, ms>>8 {
		id[i] = byte(ms)
	}
	binary.BigEndian.PutUint32(id[12:], n)
	return id.String()
}

// start runs a Dashboard until stop or close.
func (d *desk) start() {
	d.t.Helper()
	journal := d.journal
	if journal == nil {
		journal = d.alarms
	}
	dashboard, err := hubs.NewDashboard(d.hub, journal, d.silences, d.options)
	require.NoError(d.t, err)
	ctx, cancel := context.WithCancel(d.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		dashboard.Run(ctx)
	}()
	synctest.Wait()
	d.stop = func() {
		cancel()
		<-done
	}
}

func (d *desk) close() {
	d.stop()
	require.NoError(d.t, d.alarms.Close(context.Background()))
}

func (d *desk) raise(key string, severity alarms.Severity) alarms.Occurrence {
	d.t.Helper()
	o, err := d.alarms.Raise(d.t.Context(), alarms.Alarm{Key: key, Source: key, Severity: severity, Message: key + " is hot"})
	require.NoError(d.t, err)
	return o
}

func (d *desk) clear(key string) {
	d.t.Helper()
	_, err := d.alarms.Clear(d.t.Context(), alarms.ByKey(key), "", "")
	require.NoError(d.t, err)
}

func (d *desk) silence(pattern string, life time.Duration) silences.Silence {
	d.t.Helper()
	s, err := d.silences.Create(d.t.Context(), silences.Silence{SourceType: "*", Pattern: pattern, Reason: "repair",
		StartsAt: time.Now(), EndsAt: time.Now().Add(life)})
	require.NoError(d.t, err)
	return s
}

func onDesk(t *testing.T, test func(t *testing.T, d *desk)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.start()
		defer func() { d.close() }()
		test(t, d)
	})
}

func TestDashboardSendsTheLifeOfAnAlarmInOrder(t *testing.T) {
	onDesk(t, func(t *testing.T, d *desk) {
		d.raise("pump", alarms.Warning)
		d.raise("pump", alarms.Critical)
		_, err := d.alarms.Acknowledge(t.Context(), alarms.ByKey("pump"), "anna", "")
		require.NoError(t, err)
		d.clear("pump")
		require.Equal(t, []string{"pump is hot", "pump is hot", "OnAlarmChanged pump", "OnAlarmChanged pump",
			"Resolved: pump is hot", "OnAlarmChanged pump"}, d.hub.take(""))
		require.Equal(t, []string{"Warning", "Critical", "Critical"}, d.hub.levels)
		d.hub.empty = true
		d.raise("fan", alarms.Error)
		require.Empty(t, d.hub.take(""))
	})
}

func TestDashboardHoldsBackWhatIsSilenced(t *testing.T) {
	onDesk(t, func(t *testing.T, d *desk) {
		d.raise("before", alarms.Error)
		synctest.Wait()
		s := d.silence("*", time.Hour)
		for _, key := range []string{"b", "a", "gone", "seen", "shelved", "worse"} {
			d.raise(key, alarms.Warning)
		}
		d.clear("gone")
		_, err := d.alarms.Acknowledge(t.Context(), alarms.ByKey("seen"), "anna", "")
		require.NoError(t, err)
		_, err = d.alarms.Shelve(t.Context(), alarms.ByKey("shelved"), 2*time.Hour, "anna", "")
		require.NoError(t, err)
		d.raise("worse", alarms.Critical)
		d.clear("before")
		require.Equal(t, []string{"before is hot", "Resolved: before is hot"}, d.hub.take("alarms"))
		require.NoError(t, d.silences.Delete(t.Context(), s.ID))
		time.Sleep(2 * time.Second)
		require.Equal(t, []string{"b is hot", "a is hot", "worse is hot"}, d.hub.take("alarms"))
		for _, key := range []string{"a", "seen", "worse"} {
			d.clear(key)
		}
		require.Equal(t, []string{"Resolved: a is hot", "Resolved: worse is hot"}, d.hub.take("alarms"), "seen was never sent")
		time.Sleep(2 * time.Hour)
		require.Equal(t, []string{"shelved is hot"}, d.hub.take("alarms"))

		d.silence("quiet", time.Minute)
		d.raise("quiet", alarms.Error)
		time.Sleep(59 * time.Second)
		require.Empty(t, d.hub.take("alarms"))
		time.Sleep(3 * time.Second)
		require.Equal(t, []string{"quiet is hot"}, d.hub.take("alarms"), "silences end by themselves")
	})
}

func TestDashboardDoesNotSendWhatIsSuppressed(t *testing.T) {
	onDesk(t, func(t *testing.T, d *desk) {
		for _, key := range []string{"told", "untold", "back"} {
			d.raise(key, alarms.Error)
			d.clear(key)
		}
		d.raise("told", alarms.Error)
		d.hub.take("")
		for _, key := range []string{"told", "untold", "back"} {
			_, err := d.alarms.Shelve(t.Context(), alarms.ByKey(key), time.Hour, "anna", "")
			require.NoError(t, err)
		}
		d.raise("untold", alarms.Error)
		d.raise("back", alarms.Error)
		d.clear("told")
		d.clear("untold")
		require.Equal(t, []string{"Resolved: told is hot"}, d.hub.take("alarms"))
		time.Sleep(2 * time.Hour)
		d.clear("back")
		require.Equal(t, []string{"back is hot", "Resolved: back is hot"}, d.hub.take("alarms"))
	})
}

func TestDashboardSendsOnlyWhatRoutesName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.options.Shows = func(s alarms.Severity) bool { return s >= alarms.Error }
		d.start()
		defer d.close()
		d.raise("low", alarms.Warning)
		d.raise("high", alarms.Error)
		d.raise("rising", alarms.Info)
		d.raise("rising", alarms.Critical)
		for _, key := range []string{"low", "high", "rising"} {
			d.clear(key)
		}
		require.Equal(t, []string{"high is hot", "rising is hot", "Resolved: high is hot", "Resolved: rising is hot"}, d.hub.take("alarms"))
	})
}

// TestDashboardHoldsWhatIsNotShownAnyMore has an alarm that waits for the end of a silence get a severity that is not sent.
func TestDashboardHoldsWhatIsNotShownAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.options.Shows = func(s alarms.Severity) bool { return s != alarms.Critical }
		d.start()
		defer d.close()
		d.silence("*", time.Hour)
		for _, key := range []string{"over", "known", "open"} {
			d.raise(key, alarms.Warning)
			d.raise(key, alarms.Critical)
		}
		_, err := d.alarms.Acknowledge(t.Context(), alarms.ByKey("known"), "anna", "")
		require.NoError(t, err)
		d.clear("over")
		time.Sleep(2 * time.Hour)
		require.Equal(t, []string{"open is hot"}, d.hub.take("alarms"))
	})
}

// TestDashboardStartsWithoutTheSilences cannot read them at first, until one has ended already.
func TestDashboardStartsWithoutTheSilences(t *testing.T) {
	onDesk(t, func(t *testing.T, d *desk) {
		d.silence("short", time.Minute)
		d.silence("long", time.Hour)
		d.raise("short", alarms.Error)
		d.raise("long", alarms.Error)
		d.raise("told", alarms.Error)
		require.Equal(t, []string{"told is hot"}, d.hub.take("alarms"))
		d.stop()
		d.silences.set(errors.New("no connection"))
		d.start()
		d.raise("new", alarms.Error)
		require.Equal(t, []string{"new is hot"}, d.hub.take("alarms"))
		time.Sleep(2 * time.Minute)
		require.Empty(t, d.hub.take("alarms"))
		d.silences.set(nil)
		time.Sleep(20 * time.Second)
		require.Equal(t, []string{"short is hot"}, d.hub.take("alarms"))
		time.Sleep(2 * time.Hour)
		require.Equal(t, []string{"long is hot"}, d.hub.take("alarms"))
	})
}

// TestDashboardAfterARestart starts a second one, which knows nothing of what the first has sent.
func TestDashboardAfterARestart(t *testing.T) {
	onDesk(t, func(t *testing.T, d *desk) {
		d.silence("quiet*", time.Hour)
		for _, key := range []string{"told", "quiet1", "quiet2", "shelved"} {
			d.raise(key, alarms.Error)
		}
		_, err := d.alarms.Shelve(t.Context(), alarms.ByKey("shelved"), time.Hour, "anna", "")
		require.NoError(t, err)
		require.Equal(t, []string{"told is hot", "shelved is hot"}, d.hub.take("alarms"))
		d.stop()
		d.start()
		for _, key := range []string{"told", "quiet2", "shelved"} {
			d.clear(key)
		}
		require.Equal(t, []string{"Resolved: told is hot", "Resolved: shelved is hot"}, d.hub.take("alarms"))
		time.Sleep(2 * time.Hour)
		require.Equal(t, []string{"quiet1 is hot"}, d.hub.take("alarms"))
	})
}

func TestDashboardDoesNotWaitForSilencesForLong(t *testing.T) {
	for _, failure := range []error{errStalled, errors.New("no connection")} {
		onDesk(t, func(t *testing.T, d *desk) {
			d.silence("quiet", time.Hour)
			d.raise("first", alarms.Error)
			d.hub.take("")
			d.silences.set(failure)
			began := time.Now()
			d.raise("quiet", alarms.Error)
			d.raise("pump", alarms.Error)
			time.Sleep(2 * time.Second)
			require.Equal(t, []string{"pump is hot"}, d.hub.take("alarms"), "silences that were read hold")
			d.raise("fan", alarms.Error)
			require.Equal(t, []string{"fan is hot"}, d.hub.take("alarms"), "not late once more")
			require.LessOrEqual(t, time.Since(began), 3*time.Second)
		})
	}
}

// TestDashboardWaitsForClients raises so much at once that queues overflow unless somebody waits.
func TestDashboardWaitsForClients(t *testing.T) {
	onDesk(t, func(t *testing.T, d *desk) {
		var want []string
		var signals []alarms.Signal
		for i := range 5000 {
			key := fmt.Sprint("k", i)
			want = append(want, key)
			signals = append(signals, alarms.Signal{Raise: &alarms.Alarm{Key: key, Source: key, Message: key}})
		}
		_, err := d.alarms.Apply(t.Context(), signals)
		require.NoError(t, err)
		require.Equal(t, want, d.hub.take(""))
		require.Equal(t, 10, d.hub.waits)
	})
}

func TestDemoSendsEveryAlarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		demo, err := hubs.NewDemo(d.hub, d.alarms)
		require.NoError(t, err)
		done := make(chan struct{})
		go func() {
			defer close(done)
			demo.Run(t.Context())
		}()
		synctest.Wait()
		d.silence("*", time.Hour)
		d.raise("pump", alarms.Warning)
		d.clear("pump")
		require.Equal(t, []string{"OnAlarmRaised pump", "OnAlarmChanged pump"}, d.hub.take(""))
		require.NoError(t, d.alarms.Close(context.Background()))
		<-done
	})
}

func TestConstructorsNameWhatIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		defer func() { require.NoError(t, d.alarms.Close(context.Background())) }()
		_, err := hubs.NewDashboard(nil, d.alarms, d.silences, hubs.DashboardOptions{})
		require.ErrorContains(t, err, "hub")
		_, err = hubs.NewDashboard(d.hub, nil, d.silences, hubs.DashboardOptions{})
		require.ErrorContains(t, err, "journal")
		_, err = hubs.NewDashboard(d.hub, d.alarms, nil, hubs.DashboardOptions{})
		require.ErrorContains(t, err, "silences")
		_, err = hubs.NewDemo(nil, d.alarms)
		require.ErrorContains(t, err, "hub")
		_, err = hubs.NewDemo(d.hub, nil)
		require.ErrorContains(t, err, "journal")
	})
}
