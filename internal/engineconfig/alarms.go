package engineconfig

import (
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/driveralarms"
	"github.com/otkit/otkit/internal/settings"
)

// Alarms is about alarms.
type Alarms struct {
	MaxAge        time.Duration `key:"maxAge" default:"9600h" rule:"720h.." doc:"Retention of cleared alarms and their events."`
	DriverOffline DriverOffline `key:"driverOffline"`
	Analytics     Analytics     `key:"analytics"`
}

// DriverOffline configures the alarms of drivers.
type DriverOffline struct {
	Enabled  bool          `key:"enabled" default:"true" doc:"Raise an alarm for each driver that is offline."`
	Delay    time.Duration `key:"delay" default:"30s" rule:"1s.." doc:"How long a driver must be offline before the alarm."`
	Severity string        `key:"severity" default:"Error" rule:"Info|Warning|Error|Critical" doc:"Severity of the alarm."`
}

// Analytics holds the limits of /api/v1/alarms/analytics.
type Analytics struct {
	Operators      int           `key:"operators" default:"1" rule:"1.." doc:"Operators who share the alarms."`
	RateAcceptable float64       `key:"rateAcceptable" default:"6" rule:">0" doc:"Acceptable alarms per operator and hour."`
	RateMax        float64       `key:"rateMax" default:"12" doc:"Manageable alarms per operator and hour, at least rateAcceptable."`
	FloodWindow    time.Duration `key:"floodWindow" default:"10m" rule:">0" doc:"Time over which alarms are counted for floods."`
	FloodStart     int           `key:"floodStart" default:"10" rule:"1.." doc:"A flood begins with more alarms than these per operator in the window."`
	FloodEnd       int           `key:"floodEnd" default:"5" doc:"A flood ends with fewer alarms than these, 1 to floodStart."`
	ChatterCount   int           `key:"chatterCount" default:"3" rule:"2.." doc:"A condition chatters if it is raised this often in the chatter window."`
	ChatterWindow  time.Duration `key:"chatterWindow" default:"1m" rule:">0" doc:"Time over which that is counted."`
	StaleAfter     time.Duration `key:"staleAfter" default:"24h" rule:">0" doc:"An alarm that is active for longer is stale."`
	Top            int           `key:"top" default:"10" rule:"1..100" doc:"Most frequent conditions that are listed."`
}

// Validate implements settings.Validator.
func (a Analytics) Validate(p *settings.Problems) {
	p.Must(a.RateMax >= a.RateAcceptable, "rateMax", "must not be below rateAcceptable")
	p.Must(a.FloodEnd >= 1 && a.FloodEnd <= a.FloodStart, "floodEnd", "must be 1 to floodStart")
}

func (d DriverOffline) options() driveralarms.Options {
	severity, _ := alarms.ParseSeverity(d.Severity) // validated
	return driveralarms.Options{Disabled: !d.Enabled, Delay: d.Delay, Severity: &severity}
}
