package dispatch

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/history"
	"github.com/otkit/otkit/alerting/outbox"
	"github.com/otkit/otkit/alerting/silences"
)

var noon = time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC)

func at() time.Time { return noon }

// mailbox is a channel that takes everything.
type mailbox struct {
	to  []string
	err error
	got []alerting.Notification
}

func (m *mailbox) Name() string         { return "email" }
func (m *mailbox) Recipients() []string { return m.to }

func (m *mailbox) Send(_ context.Context, n alerting.Notification) error {
	m.got = append(m.got, n)
	return m.err
}

// stand returns a dispatcher that is not started, its outbox and its worker.
func stand(t *testing.T, o Options, m *mailbox, list ...silences.Silence) (*Dispatcher, *outbox.Memory, *worker) {
	t.Helper()
	if m.to == nil {
		m.to = []string{"anna"}
	}
	quiet, store := silences.NewMemory(), outbox.NewMemory()
	for _, s := range list {
		require.NoError(t, quiet.AddSilence(t.Context(), s, silences.Room{}))
	}
	service, err := silences.New(quiet, silences.Options{Now: at})
	require.NoError(t, err)
	o.Now, o.Routes, o.Owner = at, alerting.Routes{alarms.Critical: {"email"}}, "me"
	journal := alarms.NewMemory()
	d, err := New(Deps{Journal: journal, Outbox: store, Silences: service, History: history.NewMemory(), Channels: []alerting.Channel{m}}, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close(context.Background())) })
	return d, store, d.workers["email"]
}

func silenceOn(pattern string) silences.Silence {
	return silences.Silence{ID: "s-" + pattern, SourceType: "*", Pattern: pattern, StartsAt: noon.Add(-time.Hour), EndsAt: noon.Add(time.Hour)}
}

func raisedEvent(seq int64, source string) alarms.Event {
	return alarms.Event{ID: source + " raised", Seq: seq, At: noon, Kind: alarms.Raised, Annunciate: true, Occurrence: alarms.Occurrence{
		ID: "o-" + source, Key: source, Source: source, SourceType: "Sensor", Message: "too hot", Severity: alarms.Critical, RaisedAt: noon, Active: true}}
}

func clearedEvent(seq int64, source string) alarms.Event {
	e := raisedEvent(seq, source)
	e.ID, e.Kind, e.Annunciate = source+" cleared", alarms.Cleared, false
	e.Occurrence.Active, e.Occurrence.ClearedAt = false, noon
	return e
}

func TestSilenceEventsStage(t *testing.T) {
	d, _, _ := stand(t, Options{}, &mailbox{}, silenceOn("Pump*"))
	received := raisedEvent(3, "Fan")
	received.Occurrence.Key, received.Occurrence.Labels = alerting.ReceivedKeyPrefix+"1", map[string]string{alerting.LabelSilencedBy: "gone"}
	var ended atomic.Bool
	b := newPlanBatch(noon, 0, []alarms.Event{raisedEvent(1, "Pump 1"), raisedEvent(2, "Fan")})
	require.NoError(t, silenceEvents{d.deps.Silences, &ended}.plan(t.Context(), b))
	require.Equal(t, []string{"s-Pump*", ""}, b.silence)
	require.False(t, ended.Load())
	b = newPlanBatch(noon, 0, []alarms.Event{received})
	require.NoError(t, silenceEvents{d.deps.Silences, &ended}.plan(t.Context(), b))
	require.Equal(t, []string{"gone"}, b.silence)
	require.True(t, ended.Load(), "its silence has ended")
}

func TestRecordEventsStage(t *testing.T) {
	store := history.NewMemory()
	b := newPlanBatch(noon, 0, []alarms.Event{raisedEvent(1, "Pump"), raisedEvent(2, alerting.ReceivedKeyPrefix+"1"), clearedEvent(3, "Pump")})
	b.silence[0] = "s"
	require.NoError(t, recordEvents{store, func() string { return "id" }}.plan(t.Context(), b))
	list, total, err := store.Records(t.Context(), history.Filter{}, 0, 10)
	require.NoError(t, err)
	require.EqualValues(t, 1, total, "the receiver of alerts makes its own")
	require.Equal(t, "s", list[0].Labels[alerting.LabelSilencedBy])
	require.Equal(t, noon, list[0].CompletedAt)
}

func TestLoadFirstStage(t *testing.T) {
	_, store, _ := stand(t, Options{}, &mailbox{})
	silenced := outbox.Delivery{ID: "1", EventID: "1", Occurrence: "o-Pump", Channel: "email", Recipient: "anna", State: outbox.Silenced}
	sent := outbox.Delivery{ID: "2", EventID: "2", Occurrence: "o-Pump", Channel: "email", Recipient: "bob", State: outbox.Sent}
	require.NoError(t, store.Plan(t.Context(), 0, 1, []outbox.Delivery{silenced, sent}))
	b := newPlanBatch(noon, 1, []alarms.Event{clearedEvent(2, "Pump")})
	require.NoError(t, loadFirst{store}.plan(t.Context(), b))
	require.Len(t, b.first["o-Pump"], 1)
	require.Equal(t, "bob", b.first["o-Pump"][0].Recipient)
	all, err := store.FirstDeliveries(t.Context(), []string{"o-Pump"})
	require.NoError(t, err)
	for _, one := range all {
		require.NotEqual(t, outbox.Silenced, one.State, "nobody needs it any more")
	}
}

func TestRouteEventsStage(t *testing.T) {
	d, _, _ := stand(t, Options{}, &mailbox{to: []string{"anna", "bob"}})
	b := newPlanBatch(noon, 0, []alarms.Event{raisedEvent(1, "Pump"), raisedEvent(2, "Fan"), clearedEvent(3, "Pump"), clearedEvent(4, "Fan")})
	b.silence[1] = "s"
	require.NoError(t, routeEvents{d.routes, d.workers, d.o.NewID, time.Hour}.plan(t.Context(), b))
	var got []string
	for _, one := range b.add {
		got = append(got, one.EventID+" "+one.Recipient+" "+string(one.State))
		require.Equal(t, noon.Add(time.Hour), one.ExpiresAt)
	}
	require.Equal(t, []string{"Pump raised anna pending", "Pump raised bob pending", "Fan raised anna dropped", "Fan raised bob dropped",
		"Pump cleared anna pending", "Pump cleared bob pending"}, got)
}

func TestRenderMessagesStage(t *testing.T) {
	good, err := CompileTemplate(alerting.TemplateText{Subject: "{{.Title}} of {{.Source}}", Body: "{{.Description}}"})
	require.NoError(t, err)
	b := newPlanBatch(noon, 0, nil)
	n := alerting.Notification{Channel: "email", Message: "too hot", Source: "Pump", Labels: map[string]string{alerting.LabelDescription: "why"}}
	b.add = []outbox.Delivery{{Notification: n}, {Notification: n}}
	require.NoError(t, renderMessages{map[string]*Template{"email": good}, slog.New(slog.DiscardHandler)}.plan(t.Context(), b))
	for _, d := range b.add {
		require.Equal(t, "too hot of Pump", d.Notification.Title)
		require.Equal(t, "why", d.Notification.Body)
	}
	require.Equal(t, "why", n.Labels[alerting.LabelDescription])
}

func TestStorePlanStage(t *testing.T) {
	d, store, w := stand(t, Options{}, &mailbox{})
	b := newPlanBatch(noon, 0, []alarms.Event{raisedEvent(7, "Pump")})
	b.add = []outbox.Delivery{{ID: "1", EventID: "1", Channel: "email", State: outbox.Pending}}
	require.NoError(t, storePlan{store, d.workers}.plan(t.Context(), b))
	seq, err := store.Cursor(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 7, seq)
	require.Len(t, w.wake.C(), 1)
	require.ErrorIs(t, storePlan{store, d.workers}.plan(t.Context(), b), outbox.ErrCursorMoved)
}

func pending(id, source string) outbox.Delivery {
	return outbox.Delivery{ID: id, EventID: id, Occurrence: "o-" + source, Channel: "email", Recipient: "anna", State: outbox.Pending,
		ExpiresAt: noon.Add(time.Hour), Notification: alerting.Notification{ID: id, Channel: "email", Recipient: "anna", Source: source,
			Severity: alarms.Critical, Title: source}}
}

// claimed plans deliveries and claims them.
func claimed(t *testing.T, store *outbox.Memory, list ...outbox.Delivery) *sendBatch {
	t.Helper()
	seq, err := store.Cursor(t.Context())
	require.NoError(t, err)
	require.NoError(t, store.Plan(t.Context(), seq, seq+1, list))
	b := &sendBatch{now: noon, lease: noon.Add(time.Minute)}
	b.list, err = store.Claim(t.Context(), outbox.Claim{Channel: "email", Owner: "me", Now: noon, LeaseUntil: b.lease, Limit: 100})
	require.NoError(t, err)
	require.Len(t, b.list, len(list))
	return b
}

func outcomes(b *sendBatch) (kept []string, done map[string]outbox.DeliveryState) {
	done = make(map[string]outbox.DeliveryState)
	for _, d := range b.list {
		kept = append(kept, d.ID)
	}
	for _, s := range b.done {
		done[s.ID] = s.State
	}
	return kept, done
}

func TestExpireDueStage(t *testing.T) {
	_, store, w := stand(t, Options{}, &mailbox{})
	old, own := pending("1", "a"), pending("2", "b")
	old.ExpiresAt, own.ExpiresAt, own.NoDeadLetter = noon, noon, true
	b := claimed(t, store, old, own, pending("3", "c"))
	require.NoError(t, expireDue{w}.send(t.Context(), b))
	kept, done := outcomes(b)
	require.Equal(t, []string{"3"}, kept)
	require.Equal(t, map[string]outbox.DeliveryState{"1": outbox.DeadLettered, "2": outbox.Discarded}, done)
	require.Equal(t, deliveryTimedOut, b.done[0].LastError)
}

func TestCheckRecipientsStage(t *testing.T) {
	_, store, w := stand(t, Options{}, &mailbox{to: []string{"anna", "bob"}})
	gone, all := pending("1", "a"), pending("2", "b")
	gone.Recipient, all.Recipient = "zoe", ""
	b := claimed(t, store, gone, all, pending("3", "c"))
	require.NoError(t, checkRecipients{w}.send(t.Context(), b))
	kept, done := outcomes(b)
	require.Equal(t, []string{"3"}, kept)
	require.Equal(t, map[string]outbox.DeliveryState{"1": outbox.Discarded, "2": outbox.Discarded}, done)
	require.Len(t, b.add, 2)
	require.Equal(t, "bob", b.add[1].Notification.Recipient)
}

func TestApplySilencesStage(t *testing.T) {
	d, store, w := stand(t, Options{}, &mailbox{}, silenceOn("Pump*"))
	end := pending("2", "Pump 2")
	end.Resolved = true
	b := claimed(t, store, pending("1", "Pump 1"), end, pending("3", "Fan"))
	require.NoError(t, applySilences{d.deps.Silences, store, store, "me", at}.send(t.Context(), b))
	kept, done := outcomes(b)
	require.Equal(t, []string{"2", "3"}, kept, "the end of an alarm is not held back")
	require.Equal(t, map[string]outbox.DeliveryState{"1": outbox.Silenced}, done)
	_ = w
}

// TestDigestsOfAnOutboxThatSplitsNone sends a digest of before as it is.
func TestDigestsOfAnOutboxThatSplitsNone(t *testing.T) {
	d, store, _ := stand(t, Options{}, &mailbox{}, silenceOn("*"))
	digest := pending("1", "")
	digest.Occurrence, digest.Notification.Digest = "", 3
	b := claimed(t, store, digest)
	require.NoError(t, applySilences{d.deps.Silences, store, nil, "me", at}.send(t.Context(), b))
	kept, done := outcomes(b)
	require.Equal(t, []string{"1"}, kept)
	require.Empty(t, done)
}

func TestOrderResolvedStage(t *testing.T) {
	_, store, w := stand(t, Options{}, &mailbox{})
	first := func(id, source string, state outbox.DeliveryState) outbox.Delivery {
		d := pending(id, source)
		d.State = state
		return d
	}
	require.NoError(t, store.Plan(t.Context(), 0, 1, []outbox.Delivery{first("1", "sent", outbox.Sent), first("2", "dead", outbox.DeadLettered)}))
	sent, dead, never := pending("3", "sent"), pending("4", "dead"), pending("5", "never")
	sent.Resolved, dead.Resolved, never.Resolved = true, true, true
	b := claimed(t, store, sent, dead, never)
	require.NoError(t, orderResolved{w}.send(t.Context(), b))
	kept, done := outcomes(b)
	require.Equal(t, []string{"3"}, kept)
	require.Equal(t, map[string]outbox.DeliveryState{"4": outbox.Discarded, "5": outbox.Discarded}, done)
}

func TestApplyRateLimitStage(t *testing.T) {
	limit := Options{RateLimits: map[string]alerting.RateLimit{"email": {Burst: 2, Interval: time.Minute}}}
	_, store, w := stand(t, limit, &mailbox{})
	b := claimed(t, store, pending("1", "a"), pending("2", "b"), pending("3", "c"))
	require.NoError(t, applyRateLimit{w}.send(t.Context(), b))
	kept, done := outcomes(b)
	require.Equal(t, []string{"1"}, kept)
	require.Equal(t, map[string]outbox.DeliveryState{"2": outbox.InDigest, "3": outbox.InDigest}, done)
	require.Len(t, b.add, 1)
	require.Equal(t, 2, b.add[0].Notification.Digest)

	_, store, w = stand(t, limit, &mailbox{})
	w.d.digests = nil // a store without digests
	b = claimed(t, store, pending("4", "d"), pending("5", "e"), pending("6", "f"))
	require.NoError(t, applyRateLimit{w}.send(t.Context(), b))
	kept, done = outcomes(b)
	require.Equal(t, []string{"4", "5"}, kept)
	require.Equal(t, map[string]outbox.DeliveryState{"6": outbox.Pending}, done, "it waits for its turn")
}

func TestSettleBatchStage(t *testing.T) {
	_, store, w := stand(t, Options{}, &mailbox{})
	b := claimed(t, store, pending("1", "a"), pending("2", "b"))
	b.note(settlement(&b.list[0], outbox.DeadLettered), noon)
	b.list = b.list[1:]
	require.NoError(t, settleBatch{w}.send(t.Context(), b))
	require.Empty(t, b.done)
	letters, _, err := store.DeadLetters(t.Context(), "", 0, 10)
	require.NoError(t, err)
	require.Len(t, letters, 1)
}

func TestSendMessagesStage(t *testing.T) {
	m := &mailbox{}
	_, store, w := stand(t, Options{}, m)
	b := claimed(t, store, pending("1", "a"), pending("2", "b"))
	require.NoError(t, sendMessages{w}.send(t.Context(), b))
	w.sending.Wait()
	require.Len(t, m.got, 2)
	m.err = alerting.Permanent(errors.New("no"))
	require.NoError(t, sendMessages{w}.send(t.Context(), claimed(t, store, pending("3", "c"))))
	w.sending.Wait()
	letters, _, err := store.DeadLetters(t.Context(), "", 0, 10)
	require.NoError(t, err)
	require.Len(t, letters, 1)
	require.Equal(t, "3", letters[0].ID)
}
