package main_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/metadata"

	"github.com/otkit/otkit/bridgehost"
	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/openapi/client"
	platformv1 "github.com/otkit/otkit/proto/platform/v1"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/simdriver"
	"github.com/otkit/otkit/transport/bridgelink"
	"github.com/otkit/otkit/transport/server"
)

// What the benchmarks of bridges share.

// bridgeForSpeed builds the other program.
var bridgeForSpeed = sync.OnceValues(func() (string, error) {
	path := filepath.Join(binaries, "bridge-plain")
	if out, err := exec.Command("go", "build", "-o", path, "../bridge").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

// bridgeRig is an engine with a bridge, each with its data directory, over their restarts.
type bridgeRig struct {
	b                     *testing.B
	enginePath, engineDir string
	bridgePath, bridgeDir string
	engine, bridge        *engine   // that run
	engines               []*engine // that have run
	session               *session
	quiet                 []func() // end bridges in this process
}

func newBridgeRig(b *testing.B) *bridgeRig {
	b.Helper()
	r := &bridgeRig{b: b, engineDir: b.TempDir(), bridgeDir: b.TempDir()}
	var err error
	r.enginePath, err = builtForSpeed()
	require.NoError(b, err)
	r.bridgePath, err = bridgeForSpeed()
	require.NoError(b, err)
	return r
}

// startEngine starts the engine, at its old port after the first time.
func (r *bridgeRig) startEngine() {
	r.b.Helper()
	args := []string{"-data", r.engineDir}
	if r.engine != nil {
		args = append(args, "-listen", r.engine.addr)
	}
	r.engine = launch(r.b, r.enginePath, slices.Concat(known, []string{"Discovery__Mdns=false"}), args...)
	r.engine.ready()
	r.engines = append(r.engines, r.engine)
	r.session = r.engine.admin()
}

// plantOf returns settings of a simulation.
func plantOf(count int, interval time.Duration) string {
	return fmt.Sprintf(`{"DeviceCount": 1, "TagsPerDevice": %d, "UpdateIntervalMs": %d, "Scenario": "RandomWalk"}`, count, interval.Milliseconds())
}

// startBridge starts the bridge with a simulation, at its old port after the first time.
func (r *bridgeRig) startBridge(plant string) {
	r.b.Helper()
	driver := file(r.b, "driver_settings.json", fmt.Sprintf(`{"Driver": {"Id": "plc", "Type": "Simulation", "Settings": %s}}`, plant))
	args := []string{"-driver", driver, "-data", r.bridgeDir}
	if r.bridge != nil {
		args = append(args, "-listen", r.bridge.addr)
	}
	r.bridge = launch(r.b, r.bridgePath, []string{"Bridge__Id=bridge-1", "Discovery__Mdns=false", "OfflineBuffer__MaxSizeMb=1000"}, args...)
	r.bridge.ready()
}

// bind binds the bridge and returns how long that took.
func (r *bridgeRig) bind() time.Duration {
	r.b.Helper()
	start := time.Now()
	answer, err := r.session.BindBridgeWithResponse(r.b.Context(), client.BindBridgeRequest{BridgeID: "bridge-1", BridgeURL: r.bridge.url})
	require.NoError(r.b, err)
	require.NotNil(r.b, answer.JSON200, "%s %s", answer.Status(), answer.Body)
	return time.Since(start)
}

// metric returns the value of a metric without labels, or the sum over all labels.
func (e *engine) metric(name string) (total float64) {
	e.t.Helper()
	for _, v := range e.metrics(name, "") {
		total += v
	}
	return total
}

// metrics returns the values of a metric by a label, each the sum over all others.
func (e *engine) metrics(name, label string) map[string]float64 {
	e.t.Helper()
	answer, err := http.Get(e.url + "/metrics")
	require.NoError(e.t, err)
	defer func() { _ = answer.Body.Close() }()
	values, of := map[string]float64{}, regexp.MustCompile(`[{,]`+label+`="([^"]*)"`)
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		if m := metricLine.FindStringSubmatch(lines.Text()); m != nil && m[1] == name {
			v, err := strconv.ParseFloat(m[3], 64)
			require.NoError(e.t, err)
			key := ""
			if l := of.FindStringSubmatch(m[2]); l != nil {
				key = l[1]
			}
			values[key] += v
		}
	}
	require.NotEmpty(e.t, values, "no metric %s", name)
	return values
}

var metricLine = regexp.MustCompile(`^(\w+)(\{.*\})? (\S+)$`)

// names returns names of tags, spread over all.
func names(total, n int) (list []string) {
	for i := range n {
		list = append(list, "plc.device1.tag"+strconv.Itoa(1+i*total/n))
	}
	return list
}

// allGood waits until some tags, spread over all, have values.
func (r *bridgeRig) allGood(total int) {
	r.b.Helper()
	sample := names(total, min(total, 500))
	eventually(r.b, "the tags are not Good", func() bool {
		answer, err := r.session.grpc.ReadTags(r.session.rpc(), &platformv1.ReadTagsRequest{TagNames: sample})
		require.NoError(r.b, err)
		return len(answer.GetErrors()) == 0 && !slices.ContainsFunc(answer.GetTags(), func(t *platformv1.Tag) bool { return !strings.EqualFold(t.GetQuality(), "Good") })
	})
}

// change is what a subscriber got.
type change struct{ taken, got time.Time }

func (c change) age() time.Duration { return c.got.Sub(c.taken) }

// follow subscribes to tags until ctx ends. done returns the changes that came.
func (r *bridgeRig) follow(ctx context.Context, list []string) (done func() []change) {
	r.b.Helper()
	ctx, cancel := context.WithCancel(ctx)
	none := int32(0)
	stream, err := r.session.grpc.StreamTagChanges(metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+r.session.token), &platformv1.StreamTagChangesRequest{TagNames: list, ThrottleMs: &none})
	require.NoError(r.b, err)
	var got []change
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			m, err := stream.Recv()
			now := time.Now()
			if err != nil {
				return
			}
			for _, c := range m.GetChanges() {
				got = append(got, change{c.GetTimestamp().AsTime(), now})
			}
		}
	})
	return func() []change {
		cancel()
		wg.Wait()
		return got
	}
}

// reportAges reports the ages of changes in milliseconds.
func reportAges(b *testing.B, name string, list []change, ages func(change) time.Duration) {
	b.Helper()
	require.NotEmpty(b, list)
	all := make([]time.Duration, len(list))
	for i, c := range list {
		all[i] = ages(c)
	}
	slices.Sort(all)
	for _, p := range []int{50, 99} {
		b.ReportMetric(float64(all[len(all)*p/100])/1e6, fmt.Sprintf("ms-p%d-%s", p, name))
	}
	b.ReportMetric(float64(all[0])/1e6, "ms-min-"+name)
	b.ReportMetric(float64(all[len(all)-1])/1e6, "ms-max-"+name)
}

// cpus returns the processor times of the engine and the bridge.
func (r *bridgeRig) cpus() [2]time.Duration {
	r.b.Helper()
	return [2]time.Duration{r.engine.schedulerCPU(), r.bridge.schedulerCPU()}
}

// bindQuiet starts a bridge in this process whose tag does not change, and binds it.
func (r *bridgeRig) bindQuiet(id string) {
	r.b.Helper()
	driver, err := simdriver.New(simdriver.Options{DeviceCount: 1, TagsPerDevice: 1, UpdateInterval: time.Hour})
	require.NoError(r.b, err)
	list, err := driver.Browse(r.b.Context())
	require.NoError(r.b, err)
	for i := range list {
		list[i].Name = id + "." + list[i].Name
	}
	one, err := bridgehost.New(r.b.Context(), bridgehost.Options{
		ID: id, DataDir: filepath.Join(r.bridgeDir, id), Server: server.Options{Listen: "127.0.0.1:0"},
		Driver: bridgehost.Driver{ID: id, Type: simdriver.TypeName, Driver: driver, Options: tags.DriverOptions{Tags: list}},
		Link: bridgehost.LinkOptions{Dial: func(ctx context.Context, url string, pins []string) (link.BridgeConn, error) {
			return bridgelink.Dial(ctx, bridgelink.DialOptions{URL: url, Pins: pins})
		}},
	})
	require.NoError(r.b, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- one.Run(ctx, 10*time.Second) }()
	r.quiet = append(r.quiet, func() {
		cancel()
		require.NoError(r.b, <-ended)
	})
	answer, err := r.session.BindBridgeWithResponse(r.b.Context(), client.BindBridgeRequest{BridgeID: id, BridgeURL: "http://" + one.Addr().String()})
	require.NoError(r.b, err)
	require.NotNil(r.b, answer.JSON200, "%s %s", answer.Status(), answer.Body)
}

func (r *bridgeRig) stopQuiet() {
	for _, stop := range r.quiet {
		stop()
	}
	r.quiet = nil
}
