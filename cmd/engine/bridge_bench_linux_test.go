package main_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/openapi/client"
)

// BenchmarkBridgeLive tells how long the samples of a bridge take from their source time until a subscriber of the engine has them, which is
// after they were stored, and what both programs need for it. The time of a simulated sample is that of its step, so that the age has
// up to one interval that no program causes: ms-min has most of it. One iteration is 20 seconds. Run it with -benchtime 1x.
func BenchmarkBridgeLive(b *testing.B) {
	for _, c := range []struct {
		tags     int
		interval time.Duration
	}{{1_000, 10 * time.Millisecond}, {10_000, 100 * time.Millisecond}, {100_000, time.Second}, {8, time.Second}} {
		b.Run(fmt.Sprintf("tags=%d/interval=%s", c.tags, c.interval), func(b *testing.B) {
			for b.Loop() {
				r := newBridgeRig(b)
				r.startEngine()
				r.startBridge(plantOf(c.tags, c.interval))
				r.bind()
				r.allGood(c.tags)
				time.Sleep(5 * time.Second)
				measureLive(b, r, c.tags)
				r.bridge.stop()
				r.engine.stop()
			}
		})
	}
}

func measureLive(b *testing.B, r *bridgeRig, tags int) {
	b.Helper()
	const measure = 20 * time.Second
	done := r.follow(b.Context(), names(tags, min(tags, 100)))
	start, stored := time.Now(), r.engine.metric("otkit_bridge_samples_stored_total")
	engineCPU, bridgeCPU := r.engine.schedulerCPU(), r.bridge.schedulerCPU()
	time.Sleep(measure)
	took := time.Since(start)
	b.ReportMetric(100*float64(r.engine.schedulerCPU()-engineCPU)/float64(took), "%core-engine")
	b.ReportMetric(100*float64(r.bridge.schedulerCPU()-bridgeCPU)/float64(took), "%core-bridge")
	b.ReportMetric((r.engine.metric("otkit_bridge_samples_stored_total")-stored)/took.Seconds(), "samples/s")
	b.ReportMetric(r.engine.statusMB("VmRSS"), "MB-engine")
	b.ReportMetric(r.bridge.statusMB("VmRSS"), "MB-bridge")
	b.ReportMetric(r.bridge.metric("otkit_bridge_buffer_entries"), "waiting")
	b.ReportMetric(0, "ns/op")
	var list []change
	for _, c := range done() {
		if c.taken.After(start) { // the first ones are the values of before
			list = append(list, c)
		}
	}
	require.NotEmpty(b, list)
	reportAges(b, "stored", list, change.age)
}

// BenchmarkBridgeDrain tells how long a bridge with a backlog of 1,000,000 samples takes to deliver it while its plant goes on with 5,000 a
// second, and how old the values are meanwhile that a subscriber of the engine gets. The samples of every tag are counted at the end. Run it
// with -benchtime 1x.
func BenchmarkBridgeDrain(b *testing.B) {
	const tags, backlog = 8_000, 1_000_000
	for b.Loop() {
		r := newBridgeRig(b)
		r.startEngine()
		r.startBridge(plantOf(tags, 100*time.Millisecond)) // fills the buffer soon
		r.bind()
		r.allGood(tags)
		r.engine.stop()
		eventually(b, "the buffer does not fill", func() bool { return r.bridge.metric("otkit_bridge_buffer_entries") > backlog })
		r.bridge.stop()
		r.startBridge(plantOf(tags, time.Second))
		measureDrain(b, r, tags)
		countSamples(b, r, tags)
		r.engine.stop()
	}
}

func measureDrain(b *testing.B, r *bridgeRig, tags int) {
	b.Helper()
	waiting := r.bridge.metric("otkit_bridge_buffer_entries")
	r.startEngine()
	cpus := r.cpus()
	eventually(b, "no link", func() bool { return r.bridge.metric("otkit_bridge_link_connected") == 1 })
	start, last := time.Now(), r.bridge.metric("otkit_bridge_acknowledged_sequence")+r.bridge.metric("otkit_bridge_buffer_entries")
	done := r.follow(b.Context(), names(tags, 100))
	eventually(b, "the buffer is not drained", func() bool { return r.bridge.metric("otkit_bridge_acknowledged_sequence") >= last })
	took := time.Since(start)
	list := done()
	used := r.cpus()
	b.ReportMetric(took.Seconds(), "s")
	b.ReportMetric(waiting, "samples")
	b.ReportMetric((used[0] - cpus[0]).Seconds(), "cpu-s-engine")
	b.ReportMetric((used[1] - cpus[1]).Seconds(), "cpu-s-bridge")
	b.ReportMetric(r.engine.statusMB("VmHWM"), "MB-peak-engine")
	b.ReportMetric(r.bridge.statusMB("VmHWM"), "MB-peak-bridge")
	b.ReportMetric(0, "ns/op")
	list = slices.DeleteFunc(list, func(c change) bool { return c.taken.Before(start) }) // current when the subscriber came
	reportAges(b, "subscriber", list, change.age)
}

// countSamples compares the numbers of the bridge with what the engine has in its history.
func countSamples(b *testing.B, r *bridgeRig, tags int) {
	b.Helper()
	r.bridge.stop()
	r.startBridge(plantOf(tags, time.Hour)) // delivers what is left, and one value of each tag
	eventually(b, "not all is delivered", func() bool {
		return r.bridge.metric("otkit_bridge_link_connected") == 1 && r.bridge.metric("otkit_bridge_buffer_entries") == 0
	})
	events, stored := map[string]bool{}, 0
	for _, e := range r.engines {
		for _, m := range eventLine.FindAllString(e.log.String(), -1) { // one that came again was logged again
			events[m] = true
		}
	}
	for _, name := range names(tags, tags) {
		points := r.session.history(name, time.Now().Add(-time.Hour), time.Now(), 10_000)
		require.True(b, slices.IsSortedFunc(points, func(x, y client.HistoryPoint) int { return x.Timestamp.Compare(y.Timestamp) }))
		stored += len(points)
	}
	require.Equal(b, int(r.bridge.metric("otkit_bridge_acknowledged_sequence")), stored+len(events), "%d events", len(events))
	require.Zero(b, r.engine.metric("otkit_bridge_samples_lost_total"))
}

var eventLine = regexp.MustCompile(`msg="event of a bridge" .*`)

// BenchmarkBridgeIdle tells what a bridge takes that has been bound and whose eight tags change every second. Run it with -benchtime 1x.
func BenchmarkBridgeIdle(b *testing.B) {
	const measure = 30 * time.Second
	for b.Loop() {
		r := newBridgeRig(b)
		r.startEngine()
		r.startBridge(plantOf(8, time.Second))
		r.bind()
		r.allGood(8)
		time.Sleep(5 * time.Second)
		before := r.cpus()
		time.Sleep(measure)
		b.ReportMetric(100*float64(r.cpus()[1]-before[1])/float64(measure), "%core")
		b.ReportMetric(r.bridge.statusMB("VmRSS"), "MB-resident")
		b.ReportMetric(r.bridge.statusMB("RssAnon"), "MB-anonymous")
		b.ReportMetric(r.bridge.statusMB("VmHWM"), "MB-peak")
		b.ReportMetric(0, "ns/op")
		r.bridge.stop()
		r.engine.stop()
	}
}

// BenchmarkBridgeFleet tells what 50 bound bridges whose tags do not change cost the engine: heartbeats, pings and memory. The bridges are
// in this process. Run it with -benchtime 1x.
func BenchmarkBridgeFleet(b *testing.B) {
	const bridges, measure = 50, 60 * time.Second
	for b.Loop() {
		r := newBridgeRig(b)
		r.startEngine()
		time.Sleep(5 * time.Second)
		share := func() float64 {
			before := r.engine.schedulerCPU()
			time.Sleep(measure)
			return 100 * float64(r.engine.schedulerCPU()-before) / float64(measure)
		}
		without, memory := share(), r.engine.statusMB("VmRSS")
		for i := range bridges {
			r.bindQuiet("quiet-" + strconv.Itoa(i))
		}
		eventually(b, "not all links are open", func() bool { return r.engine.metric("otkit_bridge_link_open") == bridges })
		time.Sleep(5 * time.Second)
		b.ReportMetric(share()-without, "%core-engine")
		b.ReportMetric(without, "%core-without")
		b.ReportMetric(memory, "MB-resident-without")
		b.ReportMetric(r.engine.statusMB("VmRSS"), "MB-resident-engine")
		b.ReportMetric(0, "ns/op")
		r.stopQuiet()
		r.engine.stop()
	}
}

// BenchmarkBridgeTags tells what a bridge with 100,000 tags takes, which change every ten seconds: to be bound, until the engine has all values, and when the
// engine comes back. Run it with -benchtime 1x.
func BenchmarkBridgeTags(b *testing.B) {
	const tags = 100_000
	for b.Loop() {
		r := newBridgeRig(b)
		r.startEngine()
		memory := r.engine.statusMB("RssAnon")
		r.startBridge(plantOf(tags, 10*time.Second))
		time.Sleep(5 * time.Second) // the first values are read
		start, before := time.Now(), r.cpus()
		b.ReportMetric(r.bind().Seconds(), "s-bind")
		bound := r.cpus()
		b.ReportMetric((bound[0] - before[0]).Seconds(), "cpu-s-bind-engine")
		b.ReportMetric((bound[1] - before[1]).Seconds(), "cpu-s-bind-bridge")
		r.allGood(tags)
		b.ReportMetric(time.Since(start).Seconds(), "s-values")
		time.Sleep(30 * time.Second)
		b.ReportMetric(r.engine.statusMB("RssAnon")-memory, "MB-engine")
		b.ReportMetric(r.bridge.statusMB("VmRSS"), "MB-resident-bridge")
		r.engine.stop()
		start, before = time.Now(), [2]time.Duration{0, r.bridge.schedulerCPU()}
		r.startEngine()
		b.ReportMetric(time.Since(start).Seconds(), "s-restart")
		start = time.Now()
		r.allGood(tags)
		b.ReportMetric(time.Since(start).Seconds(), "s-reconnect")
		again := r.cpus()
		b.ReportMetric(again[0].Seconds(), "cpu-s-restart-engine")
		b.ReportMetric((again[1] - before[1]).Seconds(), "cpu-s-reconnect-bridge")
		b.ReportMetric(0, "ns/op")
		r.bridge.stop()
		r.engine.stop()
	}
}
