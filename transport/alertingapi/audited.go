package alertingapi

import (
	"context"

	"github.com/otkit/otkit/alerting/silences"
	"github.com/otkit/otkit/transport/audited"
)

// Audited describes changes of silences to the audit log.
func Audited(service *silences.Service) map[string]audited.Description {
	before := func(ctx context.Context, c audited.Call) any {
		list, err := service.List(ctx)
		if err != nil {
			return nil
		}
		for _, s := range list {
			if s.ID == c.Param("id") {
				return silenceOf(s)
			}
		}
		return nil
	}
	return map[string]audited.Description{
		"addSilence":    {Detail: true},
		"changeSilence": {Before: before},
		"removeSilence": {Before: before},
	}
}
