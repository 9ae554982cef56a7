package alarmsapi

import (
	"context"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/transport/alarmsapi/internal/gen"
)

// GetAlarmCounts implements GET /api/v1/alarms/counts.
func (a *handlers) GetAlarmCounts(ctx context.Context, _ gen.GetAlarmCountsRequestObject) (gen.GetAlarmCountsResponseObject, error) {
	o, err := a.service.Overview(ctx)
	if err != nil {
		return nil, err
	}
	answer := gen.GetAlarmCounts200JSONResponse{Flood: o.Flood}
	answer.Severities.Critical = stateCounts(o.Counts[alarms.Critical], o.Counts[alarms.Error])
	answer.Severities.Warning = stateCounts(o.Counts[alarms.Warning])
	answer.Severities.Info = stateCounts(o.Counts[alarms.Info])
	if o.Gravest != nil {
		gravest := infoOf(o.Gravest)
		answer.Gravest = &gravest
	}
	return answer, nil
}

func stateCounts(list ...map[alarms.State]int) gen.AlarmStateCounts {
	var c gen.AlarmStateCounts
	for _, counts := range list {
		c.Unacknowledged += counts[alarms.StateUnacknowledged]
		c.Acknowledged += counts[alarms.StateAcknowledged]
		c.ReturnedUnacknowledged += counts[alarms.StateReturnedUnacknowledged]
		c.Shelved += counts[alarms.StateShelved]
		c.SuppressedByDesign += counts[alarms.StateSuppressedByDesign]
		c.OutOfService += counts[alarms.StateOutOfService]
	}
	return c
}
