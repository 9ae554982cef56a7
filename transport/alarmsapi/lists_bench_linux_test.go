package alarmsapi

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/internal/dbbench"
	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/transport/alarmsapi/internal/gen"
)

// raiseMany raises alarms, one each 100 ms.
func raiseMany(b *testing.B, s *alarms.Service, first, count int) {
	b.Helper()
	const size = 5000
	for n := first; n < first+count; n += size {
		list := make([]alarms.Alarm, min(size, first+count-n))
		for i := range list {
			list[i] = alarms.Alarm{Key: fmt.Sprintf("app:press/%d", n+i), Source: fmt.Sprintf("line3.press%d", (n+i)%1000), SourceType: "Sensor",
				Message: "line3.press.temperature is 91.5, above 80", Severity: alarms.Severity((n + i) % 4),
				At: dbbench.Start.Add(time.Duration(n+i) * 100 * time.Millisecond), Labels: map[string]string{"group": "1", "line": strconv.Itoa((n + i) % 10)}}
		}
		_, err := s.RaiseMany(b.Context(), list)
		require.NoError(b, err)
	}
}

// BenchmarkAlarmCounts measures the counts and pages by priority, with 20,000 active alarms and as many that are over.
func BenchmarkAlarmCounts(b *testing.B) {
	dbbench.EachDatabase(b, func(b *testing.B, db *storetest.DB, cpu func() time.Duration, ready func()) {
		s, err := alarms.New(b.Context(), db.Alarms(), alarms.Options{})
		require.NoError(b, err)
		defer s.Close(context.Background())
		api := &handlers{service: s}
		const active = 20_000
		raiseMany(b, s, 0, 2*active)
		for n := 0; n < active; n += 5000 {
			over := make([]alarms.Signal, 5000)
			for i := range over {
				over[i] = alarms.Signal{Key: fmt.Sprintf("app:press/%d", n+i), Reset: true}
			}
			_, err := s.Apply(b.Context(), over)
			require.NoError(b, err)
		}
		ready()
		dbbench.Measure(b, "counts", cpu, func() error {
			r, err := api.GetAlarmCounts(context.Background(), gen.GetAlarmCountsRequestObject{})
			if err == nil && r.(gen.GetAlarmCounts200JSONResponse).Severities.Critical.Unacknowledged != active/2 {
				err = fmt.Errorf("%+v", r)
			}
			return err
		})
		size := 50
		for _, order := range []string{"newest", "priority"} {
			for _, at := range dbbench.Pages(active) {
				for _, text := range []string{"", "temperature"} {
					dbbench.Measure(b, order+text+"/"+at.Name, cpu, func() error {
						_, err := api.ListAlarms(context.Background(), gen.ListAlarmsRequestObject{Params: gen.ListAlarmsParams{Page: &at.Page, PageSize: &size, Sort: order, Text: text}})
						return err
					})
				}
			}
		}
	})
}

// BenchmarkAlarmPages measures pages of 50 active alarms.
func BenchmarkAlarmPages(b *testing.B) {
	dbbench.EachDatabase(b, func(b *testing.B, db *storetest.DB, cpu func() time.Duration, ready func()) {
		s, err := alarms.New(b.Context(), db.Alarms(), alarms.Options{})
		require.NoError(b, err)
		defer s.Close(context.Background())
		api := &handlers{service: s}
		have := 0
		for _, active := range []int{1000, 100_000} {
			raiseMany(b, s, have, active-have)
			have = active
			ready()
			for _, at := range dbbench.Pages(active) {
				size := 50
				dbbench.Measure(b, fmt.Sprintf("active=%d/%s", active, at.Name), cpu, func() error {
					r, err := api.ListAlarms(context.Background(), gen.ListAlarmsRequestObject{Params: gen.ListAlarmsParams{Page: &at.Page, PageSize: &size}})
					if err == nil && r.(gen.ListAlarms200JSONResponse).TotalCount != active {
						err = fmt.Errorf("%d alarms", r.(gen.ListAlarms200JSONResponse).TotalCount)
					}
					return err
				})
				dbbench.Measure(b, fmt.Sprintf("search=%d/%s", active, at.Name), cpu, func() error {
					page := (at.Page + 9) / 10 // one alarm in ten has the label
					_, err := api.ListAlarms(context.Background(), gen.ListAlarmsRequestObject{Params: gen.ListAlarmsParams{
						Page: &page, PageSize: &size, Text: "temperature", Label: []string{"line=3"}}})
					return err
				})
				dbbench.Measure(b, fmt.Sprintf("history=%d/%s", active, at.Name), cpu, func() error {
					_, err := api.GetAlarmHistory(context.Background(), gen.GetAlarmHistoryRequestObject{Params: gen.GetAlarmHistoryParams{
						Page: &at.Page, PageSize: &size, Start: dbbench.Start, End: dbbench.Start.Add(24 * time.Hour)}})
					return err
				})
			}
		}
	})
}

// BenchmarkAlarmRulePages measures pages of 50 out of 10,000 rules.
func BenchmarkAlarmRulePages(b *testing.B) {
	const count = 10_000
	dbbench.EachDatabase(b, func(b *testing.B, db *storetest.DB, cpu func() time.Duration, ready func()) {
		for i := range count {
			err := db.AlarmRules().AddRule(b.Context(), rules.Rule{ID: fmt.Sprintf("rule-%05d", i), Name: "press is hot", Tag: fmt.Sprintf("line3.press%d", i),
				Kind: rules.High, Limit: 80, Deadband: 2, OnDelay: time.Second, Severity: alarms.Error, Message: "{tag} is {value}", Enabled: true})
			require.NoError(b, err)
		}
		s, err := alarms.New(b.Context(), db.Alarms(), alarms.Options{})
		require.NoError(b, err)
		defer s.Close(context.Background())
		r, err := rules.New(b.Context(), db.AlarmRules(), s, rules.Options{})
		require.NoError(b, err)
		defer func() { require.NoError(b, r.Close(context.Background())) }()
		api := &handlers{service: s, rules: r}
		ready()
		for _, at := range dbbench.Pages(count) {
			size := 50
			dbbench.Measure(b, at.Name, cpu, func() error {
				_, err := api.ListAlarmRules(context.Background(), gen.ListAlarmRulesRequestObject{Params: gen.ListAlarmRulesParams{Page: &at.Page, PageSize: &size}})
				return err
			})
		}
	})
}
