package predictivealarms

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/predictive/monitor"
)

// Options configure a [Monitor]. The zero value works.
type Options struct {
	Logger *slog.Logger     // default: discards
	Now    func() time.Time // default: time.Now

	Disabled bool // raise no alarms, and clear those that are active
	// Severities are those of the alarms. Default: Warning for each kind.
	Severities map[monitor.Kind]alarms.Severity
	// AbsentAfter is how long a target of an active alarm may have no result after a start. Then it is taken for one that is no longer
	// monitored. Default: 1 hour, four intervals of a monitor.
	AbsentAfter time.Duration
	// Period returns how far apart the results of a target are at present; see monitor.Monitor.Period. A target is not taken for one that is no
	// longer monitored before four of them have passed. Default: only AbsentAfter counts.
	Period func() time.Duration

	// Engine names this engine if several use one store. It then leaves the alarms of engines of other names alone. Default: no other
	// engine uses the store.
	Engine string
}

func (o *Options) complete() error {
	if o.AbsentAfter < 0 {
		return fmt.Errorf("predictivealarms: Options.AbsentAfter must not be negative, not %v", o.AbsentAfter)
	}
	o.AbsentAfter = cmp.Or(o.AbsentAfter, time.Hour)
	severities := map[monitor.Kind]alarms.Severity{monitor.Failure: alarms.Warning, monitor.RUL: alarms.Warning, monitor.Anomaly: alarms.Warning}
	for kind, severity := range o.Severities {
		if _, known := severities[kind]; !known || !severity.Valid() {
			return errors.New("predictivealarms: Options.Severities must have severities of the kinds failure, rul and anomaly")
		}
		severities[kind] = severity
	}
	o.Severities = severities
	if o.Period == nil {
		o.Period = func() time.Duration { return 0 }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return nil
}
