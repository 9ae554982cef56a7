package alertsource

import (
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/internal/canon"
)

// The most that an alarm takes; see package alarms. Records are found by source and type.
const (
	alarmSource = 512
	alarmType   = 128
	alarmText   = 4096
	alarmLabels = 100
	alarmBytes  = 16 << 10 // bytes of all labels
)

// bound cuts what is too long for a record. The key is of the labels as they were sent.
func (a *alert) bound() {
	a.labels = a.boundPairs("labels", a.labels)
	a.annotations = a.boundPairs("annotations", a.annotations)
	a.title = a.boundText("title", a.title)
	a.description = a.boundText("description", a.description)
}

func (a *alert) boundText(member, text string) string {
	if len(text) > alerting.MaxRecordText {
		a.truncated = append(a.truncated, member)
	}
	return canon.Cut(text, alerting.MaxRecordText)
}

func (a *alert) boundPairs(member string, pairs map[string]string) map[string]string {
	whole := len(pairs) <= alerting.MaxPairs
	for name, value := range pairs {
		whole = whole && len(name) <= alerting.MaxPairName && len(value) <= alerting.MaxPairValue
	}
	if whole {
		return pairs
	}
	a.truncated = append(a.truncated, member)
	return canon.Pairs{Count: alerting.MaxPairs, Name: alerting.MaxPairName, Value: alerting.MaxPairValue, Total: alerting.MaxPairs * (alerting.MaxPairName + alerting.MaxPairValue)}.Bound(pairs)
}
