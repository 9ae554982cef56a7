package storage_test

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/history"
	"github.com/otkit/otkit/alerting/outbox"
	"github.com/otkit/otkit/alerting/silences"
	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/storage"
)

// fillAlarms puts something into every table of alarms and alerts.
func fillAlarms(t testing.TB, db *storetest.DB) {
	t.Helper()
	ctx := t.Context()
	require.NoError(t, storetest.RaiseAlarms(ctx, db.Alarms(), 0, 3))
	notes := "ä\n"
	_, err := db.Resolutions().AddResolution(ctx, alarms.Resolution{Code: 2, ResolvedBy: "anna", RecordedBy: "ben", ResolvedAt: storetest.When, ActionTaken: "greased", Notes: &notes})
	require.NoError(t, err)
	require.NoError(t, db.AlarmRules().AddRule(ctx, rules.Rule{ID: "hot", Tag: "a", Kind: rules.High, Limit: 0.1, Enabled: true}))
	require.NoError(t, db.AlarmRules().PutRuleStates(ctx, []rules.State{{RuleID: "hot", Phase: rules.PhaseOnDelay, Since: storetest.When}}))
	require.NoError(t, db.Silences().AddSilence(ctx, silences.Silence{
		ID: "01900000-0000-7000-8000-000000000001", SourceType: "*", Pattern: "line*", Reason: "test", CreatedBy: "anna", RecordedBy: "ben", CreatedAt: storetest.When, StartsAt: storetest.When, EndsAt: storetest.When.Add(time.Hour), Anonymous: true,
	}, silences.Room{}))
	list := storetest.Records(0, 3)
	require.NoError(t, db.AlertHistory().ApplyRecords(ctx, history.Changes{Add: list, Complete: []history.Completion{{Key: list[1].Key, At: storetest.When}}}))
	storetest.PlanDeliveries(t, db.Outbox(), 0, 3, storetest.When)
	_, err = db.Outbox().Claim(ctx, outbox.Claim{Channel: "sms", Owner: "a", Now: storetest.When, LeaseUntil: storetest.When, Limit: 1})
	require.NoError(t, err)
	require.NoError(t, db.Outbox().Settle(ctx, "a", []outbox.Settlement{
		{ID: "01900000-0000-7000-8000-000000000000", State: outbox.DeadLettered, Attempts: 1, LastError: "no", SettledAt: storetest.When},
	}, nil))
}

// dumpAlarms writes all that fillAlarms has put in.
func dumpAlarms(t testing.TB, db *storetest.DB, w io.Writer) {
	t.Helper()
	ctx := t.Context()
	put := func(value any, err error) {
		t.Helper()
		require.NoError(t, err)
		_, err = fmt.Fprintf(w, "%+v\n", value)
		require.NoError(t, err)
	}
	put(db.Alarms().Occurrences(ctx, alarms.Query{Limit: 100, Count: true}))
	put(db.Alarms().Events(ctx, 0, 100))
	resolutions, err := db.Resolutions().Resolutions(ctx, 2)
	require.NoError(t, err)
	require.Len(t, resolutions, 1)
	put(*resolutions[0].Notes, nil)
	put(resolutions[0].RecordedBy, nil)
	put(db.AlarmRules().Rules(ctx))
	put(db.AlarmRules().RuleStates(ctx))
	put(db.Silences().Silences(ctx, time.Time{}))
	records, total, err := db.AlertHistory().Records(ctx, history.Filter{}, 0, 100)
	require.EqualValues(t, 3, total)
	put(records, err)
	put(db.Outbox().Cursor(ctx))
	dead, total, err := db.Outbox().DeadLetters(ctx, "", 0, 10)
	require.EqualValues(t, 1, total)
	put(dead, err)
}

// goOn sees that numbers go on where the restored ones end.
func goOn(t testing.TB, db *storetest.DB) {
	t.Helper()
	ctx := t.Context()
	before, err := db.Alarms().Events(ctx, 0, 100)
	require.NoError(t, err)
	require.NoError(t, storetest.RaiseAlarms(ctx, db.Alarms(), 10, 1))
	after, err := db.Alarms().Events(ctx, 0, 100)
	require.NoError(t, err)
	require.Len(t, after, len(before)+1)
	last := after[len(before)]
	require.Equal(t, before[len(before)-1].Seq+1, last.Seq)
	require.EqualValues(t, 4, last.Occurrence.Code)
	r, err := db.Resolutions().AddResolution(ctx, alarms.Resolution{Code: 1})
	require.NoError(t, err)
	require.EqualValues(t, 2, r.ID)
	require.NoError(t, db.AlertHistory().ApplyRecords(ctx, history.Changes{Add: storetest.Records(100, 2)}))
	counts, err := db.AlertHistory().CountBySource(ctx, time.Time{}, time.Time{})
	require.NoError(t, err)
	require.Len(t, counts, 5)
	claimed, err := db.Outbox().Claim(ctx, outbox.Claim{Channel: "sms", Owner: "b", Now: storetest.When, LeaseUntil: storetest.When, Limit: 10})
	require.NoError(t, err)
	require.Len(t, claimed, 2)
}

func TestAwkwardTextsOfAlarmsAndAlertsAreKept(t *testing.T) {
	const text = "a\x00b\xffc"
	storetest.OnBoth(t, func(t *testing.T, open storetest.Opener) {
		db, ctx := open(t, storage.Options{}), t.Context()
		err := db.Alarms().Write(ctx, []alarms.Ref{{Key: text, Create: true}, {Key: text, Create: true}, alarms.ByID(text)}, func(next int64, found []alarms.RefResult) (alarms.Changes, error) {
			require.Same(t, found[0].Condition, found[1].Condition)
			o := storetest.Occurrence(0, next, found[0].Condition.Code, found[0].Condition.Key)
			o.Source, o.Message, o.Labels = text, text, map[string]string{text: text}
			found[0].Condition.Last = o
			return alarms.Changes{Conditions: []*alarms.Condition{found[0].Condition}, Occurrences: []*alarms.Occurrence{o},
				Events: []alarms.Event{{Seq: next, ID: "e", At: storetest.When, Kind: alarms.Raised, Occurrence: *o, By: text, Comment: text}}}, nil
		})
		require.NoError(t, err)
		c, err := db.Alarms().Condition(ctx, alarms.ByKey(text))
		require.NoError(t, err)
		require.Equal(t, "a\uFFFDb\uFFFDc", c.Last.Message)
		events, err := db.Alarms().Events(ctx, 0, 10)
		require.NoError(t, err)
		require.Len(t, events, 1)

		r := storetest.Records(0, 1)[0]
		r.Key.Alarm, r.Source, r.Title, r.Labels = text, text, text, map[string]string{text: text}
		for range 2 {
			require.NoError(t, db.AlertHistory().ApplyRecords(ctx, history.Changes{Add: []alerting.Record{r}, Complete: []history.Completion{{Key: r.Key, At: storetest.When}}}))
		}
		related, err := db.AlertHistory().RelatedRecords(ctx, []alerting.RecordKey{r.Key})
		require.NoError(t, err)
		require.Len(t, related.Records, 1)
		_, total, err := db.AlertHistory().Records(ctx, history.Filter{Source: text}, 0, 1)
		require.NoError(t, err)
		require.EqualValues(t, 1, total)
	})
}
