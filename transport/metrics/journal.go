package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Journal is what the metrics ask about the journal of alarms. *alarms.Service is one.
type Journal interface {
	Unjournaled() (count int, since time.Time)
}

// AddJournal has the metrics tell how many alarms are not journaled. It can be called once.
func (m *Metrics) AddJournal(j Journal) error {
	return m.registry.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "otkit_alarms_unjournaled",
		Help: "Alarms that are listed from memory, since the storage cannot be written.",
	}, func() float64 {
		count, _ := j.Unjournaled()
		return float64(count)
	}))
}
