package alarmsapi

import (
	"context"

	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/transport/audited"
)

// Audited describes changes of alarms and rules to the audit log. The state of an alarm before an act is in its journal.
func Audited(service *rules.Service) map[string]audited.Description {
	before := func(ctx context.Context, c audited.Call) any {
		rule, err := service.Get(ctx, c.Param("id"))
		if err != nil {
			return nil
		}
		return rule
	}
	one := func(c audited.Call) []string { return []string{c.Param("alarm_id")} }
	many := func(c audited.Call) []string {
		var body struct{ AlarmIDs []string }
		c.Decode(&body)
		return body.AlarmIDs
	}
	return map[string]audited.Description{
		"addAlarmRule":      {Detail: true},
		"replaceAlarmRule":  {Before: before},
		"removeAlarmRule":   {Before: before},
		"acknowledgeAlarm":  {Objects: one},
		"commentAlarm":      {Objects: one, Detail: true},
		"acknowledgeAlarms": {Objects: many, Detail: true},
	}
}
