package alarmspart

import (
	"context"
	"fmt"
	"time"

	"github.com/otkit/otkit/transport/health"
)

// checkRules is Degraded if rules are not evaluated or their alarms are not stored.
func (a *Alarms) checkRules(context.Context) health.Result {
	switch stats := a.rules.Stats(); {
	case stats.Err != nil: // the reason is in the log
		return health.Result{Status: health.Degraded, Description: "the alarms of rules wait, since the store cannot be used"}
	case stats.Unreadable > 0:
		return health.Result{Status: health.Degraded, Description: fmt.Sprintf("%d alarm rules cannot be read; the log names them", stats.Unreadable)}
	default:
		return health.Result{Status: health.Healthy, Description: fmt.Sprintf("%d alarm rules enabled", stats.Rules)}
	}
}

// checkJournal is Degraded while alarms are listed from memory.
func (a *Alarms) checkJournal(context.Context) health.Result {
	count, since := a.service.Unjournaled()
	if count == 0 {
		return health.Result{Status: health.Healthy, Description: "alarms are journaled"}
	}
	return health.Result{Status: health.Degraded,
		Description: fmt.Sprintf("%d alarms are not journaled since %s, since the storage cannot be written; they are listed from memory", count, since.Format(time.RFC3339)),
		Data:        map[string]any{"unjournaled": count, "since": since}}
}
