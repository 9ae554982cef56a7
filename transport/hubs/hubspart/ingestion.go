package hubspart

import (
	"context"
	"time"
)

// ingestionStats is what the demonstration hub sends every second.
type ingestionStats struct {
	TagsPerSecond float64   `json:"tagsPerSecond"`
	TotalSamples  uint64    `json:"totalSamples"`
	Drivers       int       `json:"drivers"`
	Timestamp     time.Time `json:"timestamp"`
}

// pushIngestion sends to the demonstration hub how much is read, every second until ctx ends.
func (h *Hubs) pushIngestion(ctx context.Context) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if h.demo.Clients() == 0 {
			continue
		}
		stats := ingestionStats{Timestamp: h.opts.Now().UTC()}
		for _, d := range h.tags.Engine().Drivers() {
			stats.TagsPerSecond += d.SamplesPerSec
			stats.TotalSamples += d.Samples
			stats.Drivers++
		}
		_ = h.demo.Broadcast("OnIngestionStats", stats) // it encodes
	}
}
