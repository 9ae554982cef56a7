package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/npmtest"
	"github.com/otkit/otkit/internal/realtest"
	"github.com/otkit/otkit/openapi/client"
)

// The benchmarks of the console: an engine, a browser and who raises alarms are processes of their own. One iteration is one round of a
// scenario of test/bench.cjs.

// BenchmarkConsoleStart tells how long the first paint takes: behind the sign-in, with a session, and with a session and an empty cache.
func BenchmarkConsoleStart(b *testing.B) {
	for _, count := range []int{30, 20_000} {
		b.Run(fmt.Sprintf("alarms=%d", count), func(b *testing.B) {
			e := launchPlant(b, steady(10_000))
			e.raise(count)
			reportMedians(b, newBrowser(b, e, "start").rounds(b))
		})
	}
}

// BenchmarkConsoleLoad tells what the console costs the browser at 10,000 tags that are polled at 1 Hz, while alarms are raised: at rest,
// and while it is scrolled.
func BenchmarkConsoleLoad(b *testing.B) {
	for _, load := range []struct{ standing, perSecond int }{{30, 0}, {30, 200}, {20_000, 10}} {
		b.Run(fmt.Sprintf("standing=%d/alarms=%d", load.standing, load.perSecond), func(b *testing.B) {
			e := launchPlant(b, steady(10_000))
			e.raise(load.standing)
			defer e.flood(load.perSecond)()
			reportMedians(b, newBrowser(b, e, "load").rounds(b))
		})
	}
}

// BenchmarkConsoleMemory tells whether the memory of the console grows: under 10,000 tags at 1 Hz and 200 alarms a second, one iteration a
// minute; and in a shift that is twenty times as fast, one iteration twenty minutes of it. Run it with -benchtime 20x or more.
func BenchmarkConsoleMemory(b *testing.B) {
	b.Run("load", func(b *testing.B) {
		e := launchPlant(b, steady(10_000))
		e.raise(30)
		defer e.flood(200)()
		reportGrowth(b, newBrowser(b, e, "memory").rounds(b))
	})
	b.Run("shift", func(b *testing.B) { // 1,000 tags at 20 Hz, those in sight among them, 200 alarms a minute
		e := launchPlant(b, simulation("a", 1000, 50*time.Millisecond)+simulation("b", 9000, time.Second), "Auth__AccessTokenMinutes=3")
		e.raise(30)
		defer e.flood(3)()
		reportGrowth(b, newBrowser(b, e, "shift").rounds(b))
	})
}

// BenchmarkConsoleClicks tells how long a click takes until what it is for is painted, in a small plant and in a large one.
func BenchmarkConsoleClicks(b *testing.B) {
	for _, plant := range []struct{ tags, alarms, shells int }{{100, 30, 300}, {10_000, 20_000, 100_000}} {
		b.Run(fmt.Sprintf("alarms=%d/shells=%d", plant.alarms, plant.shells), func(b *testing.B) {
			e := launchPlant(b, steady(plant.tags))
			e.raise(plant.alarms)
			e.addShells(plant.shells)
			reportMedians(b, newBrowser(b, e, "clicks").rounds(b))
		})
	}
}

// simulation is the setting of a driver.
func simulation(id string, tags int, interval time.Duration) string {
	return fmt.Sprintf("  - {id: %s, type: Simulation, pollIntervalMs: %d, settings: {TagsPerDevice: %d, UpdateIntervalMs: %[2]d, Scenario: RandomWalk}}\n", id, interval.Milliseconds(), tags)
}

// steady is a plant of tags that are polled at 1 Hz.
func steady(tags int) string { return simulation("plant", tags, time.Second) }

// launchPlant starts an engine with drivers.
func launchPlant(b *testing.B, drivers string, env ...string) *engine {
	b.Helper()
	chromiumOf(b) // rather than an engine for nothing
	path, err := builtForSpeed()
	require.NoError(b, err)
	log, err := os.Create(filepath.Join(b.TempDir(), "log")) // as a service manager has it
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, log.Close()) })
	env = slices.Concat(known, []string{"Alerting__MaxActive=100000", "Discovery__Mdns=false"}, env)
	e := prepare(b, path, env, "-config", file(b, "engine.yaml", "drivers:\n"+drivers), "-data", b.TempDir())
	e.cmd.Stderr = log
	e.run()
	e.ready()
	return e
}

var severities = []string{"info", "warning", "warning", "critical"}

// unit is an alert of one of many units.
func unit(n int, at time.Time) client.WebhookAlert {
	a := alert(severities[n%len(severities)], fmt.Sprintf("unit-%05d", n), "Pressure of the unit is above its limit")
	a.StartsAt = at.UTC()
	return a
}

// raise raises alarms that stay.
func (e *engine) raise(count int) {
	e.t.Helper()
	at := time.Now().Add(-time.Hour)
	for from := 0; from < count; from += 1000 {
		var list []client.WebhookAlert
		for n := from; n < min(from+1000, count); n++ {
			list = append(list, unit(n, at.Add(time.Duration(n)*time.Millisecond)))
		}
		e.told(list...)
	}
}

// flood raises alarms until it is stopped. Each returns after ten seconds and is acknowledged then, so that as many stay in the list.
func (e *engine) flood(perSecond int) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	if perSecond > 0 {
		wg.Go(func() {
			const life, units = 10, 10_000
			var (
				batches [][]client.WebhookAlert
				admin   *session
			)
			tick := time.NewTicker(time.Second)
			defer tick.Stop()
			for next := 0; ; {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
				}
				var batch []client.WebhookAlert
				for range perSecond {
					batch = append(batch, unit(30_000+next%units, time.Now()))
					next++
				}
				if batches = append(batches, batch); next%(60*perSecond) == perSecond {
					admin = e.admin() // before the token ends
				}
				for part := range slices.Chunk(batch, max(1, perSecond/10)) { // not all in one transaction
					e.told(part...)
				}
				if len(batches) > life {
					ended := batches[0]
					batches = batches[1:]
					for i := range ended {
						ended[i].Status, ended[i].EndsAt = "resolved", time.Now().UTC()
					}
					e.told(ended...)
					if err := acknowledgeReturned(ctx, admin); err != nil && ctx.Err() == nil {
						e.t.Error(err)
						return
					}
				}
			}
		})
	}
	return func() {
		cancel()
		wg.Wait()
	}
}

func acknowledgeReturned(ctx context.Context, s *session) error {
	size := 500
	list, err := s.ListAlarmsWithResponse(ctx, &client.ListAlarmsParams{State: "returned-unacknowledged", PageSize: &size})
	if err != nil || list.JSON200 == nil {
		return fmt.Errorf("list of returned alarms: %w", err)
	}
	var ids []string
	for _, a := range list.JSON200.Alarms {
		ids = append(ids, a.ID)
	}
	if len(ids) == 0 {
		return nil
	}
	answer, err := s.AcknowledgeAlarmsWithResponse(ctx, client.AcknowledgeAlarmsRequest{AlarmIds: ids})
	if err == nil && answer.JSON200 == nil {
		err = fmt.Errorf("%s %s", answer.Status(), answer.Body)
	}
	return err
}

// addShells adds shells; the first and every hundredth have a submodel.
func (e *engine) addShells(count int) {
	e.t.Helper()
	token := e.admin().token
	transport := &http.Transport{MaxIdleConnsPerHost: 8}
	defer transport.CloseIdleConnections()
	add := func(path, text string) error {
		r, err := http.NewRequestWithContext(e.t.Context(), http.MethodPost, e.url+"/api/v3.1"+path, strings.NewReader(text))
		if err != nil {
			return err
		}
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		answer, err := transport.RoundTrip(r)
		if err != nil {
			return err
		}
		defer func() { _ = answer.Body.Close() }()
		if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != http.StatusCreated {
			return fmt.Errorf("POST %s: %s %w", path, answer.Status, err)
		}
		return nil
	}
	var wg sync.WaitGroup
	for c := range 8 {
		wg.Go(func() {
			for i := c; i < count; i += 8 {
				submodel := fmt.Sprintf("urn:plant:submodel:%06d", i)
				err := add("/shells", fmt.Sprintf(`{"modelType":"AssetAdministrationShell","id":"urn:plant:shell:%06d","idShort":"Pump%06[1]d","description":[{"language":"en","text":"Pump %[1]d of the plant"}],
					"assetInformation":{"assetKind":"Instance","globalAssetId":"urn:plant:asset:%06[1]d"},"submodels":[{"type":"ModelReference","keys":[{"type":"Submodel","value":"%s"}]}]}`, i, submodel))
				if err == nil && i%100 == 0 {
					err = add("/submodels", fmt.Sprintf(`{"modelType":"Submodel","id":"%s","idShort":"TechnicalData","submodelElements":[%s]}`, submodel, elements(40)))
				}
				if err != nil {
					e.t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func elements(count int) string {
	list := make([]string, count)
	for i := range list {
		list[i] = fmt.Sprintf(`{"modelType":"Property","idShort":"Value%02d","valueType":"xs:double","value":"%[1]d"}`, i)
	}
	return strings.Join(list, ",")
}

// browserRun is a browser with a scenario.
type browserRun struct {
	in  io.Writer
	out *json.Decoder
}

func newBrowser(b *testing.B, e *engine, scenario string) *browserRun {
	b.Helper()
	packages := npmtest.Need(b, "playwright-core@1.65.1", "axe-core@4.14.1")
	script := filepath.Join(repository, "transport", "console", "web", "test", "bench.cjs")
	cmd := npmtest.Command(b, packages, script, chromiumOf(b), e.url, "admin", password, scenario)
	in, err := cmd.StdinPipe()
	require.NoError(b, err)
	out, err := cmd.StdoutPipe()
	require.NoError(b, err)
	cmd.Stderr = os.Stderr
	require.NoError(b, cmd.Start())
	b.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	return &browserRun{in, json.NewDecoder(out)}
}

// rounds returns the figures of a round for each iteration, by name.
func (r *browserRun) rounds(b *testing.B) map[string][]float64 {
	b.Helper()
	all := map[string][]float64{}
	for b.Loop() {
		_, err := io.WriteString(r.in, "\n")
		require.NoError(b, err)
		var figures map[string]float64
		require.NoError(b, r.out.Decode(&figures))
		for name, one := range figures {
			all[name] = append(all[name], one)
		}
		if testing.Verbose() {
			b.Log(figures)
		}
	}
	b.ReportMetric(0, "ns/op") // a round's length says nothing
	return all
}

func reportMedians(b *testing.B, figures map[string][]float64) {
	b.Helper()
	for name, list := range figures {
		b.ReportMetric(median(list), name)
	}
}

// reportGrowth reports the first, the last and the greatest figure of the rounds.
func reportGrowth(b *testing.B, figures map[string][]float64) {
	b.Helper()
	for name, list := range figures {
		b.ReportMetric(list[0], name+"-first")
		b.ReportMetric(list[len(list)-1], name+"-last")
		b.ReportMetric(slices.Max(list), name+"-max")
	}
}

// BenchmarkConsoles tells what consoles cost the engine, and how old changes are when they have them: 10,000 tags at 1 Hz of which each
// shows forty, and alarms. Consoles are connections to the hub that also ask for what the overview repeats. One iteration is twenty
// seconds. Run it with -benchtime 1x.
func BenchmarkConsoles(b *testing.B) {
	for _, perSecond := range []int{1, 200} {
		e := launchPlant(b, steady(10_000))
		e.raise(30)
		stop := e.flood(perSecond)
		for _, count := range []int{0, 1, 50} {
			b.Run(fmt.Sprintf("alarms=%d/consoles=%d", perSecond, count), func(b *testing.B) {
				for b.Loop() {
					measureConsoles(b, e, count)
				}
			})
		}
		stop()
		e.stop()
	}
}

func measureConsoles(b *testing.B, e *engine, count int) {
	b.Helper()
	const settle, measure = 10 * time.Second, 20 * time.Second
	token := e.admin().token
	ctx, cancel := context.WithTimeout(b.Context(), settle+measure)
	defer cancel()
	from := time.Now().Add(settle)
	consoles := make([]hubConsole, count)
	var wg sync.WaitGroup
	for i := range consoles {
		wg.Go(func() {
			if err := consoles[i].run(ctx, e, token, i, from); err != nil && ctx.Err() == nil {
				b.Error(err)
			}
		})
	}
	time.Sleep(time.Until(from))
	before := e.schedulerCPU()
	wg.Wait()
	<-ctx.Done()
	b.ReportMetric(100*(e.schedulerCPU()-before).Seconds()/measure.Seconds(), "%core")
	b.ReportMetric(e.statusMB("VmRSS"), "MB-resident")
	b.ReportMetric(0, "ns/op")
	var values, alarms []time.Duration
	for _, c := range consoles {
		values, alarms = slices.Concat(values, c.values), slices.Concat(alarms, c.alarms)
	}
	for name, ages := range map[string][]time.Duration{"value": values, "alarm": alarms} {
		if slices.Sort(ages); len(ages) > 0 {
			b.ReportMetric(float64(len(ages))/measure.Seconds(), name+"s/s")
			b.ReportMetric(ms(ages[len(ages)/2]), "ms-p50-"+name)
			b.ReportMetric(ms(ages[len(ages)*99/100]), "ms-p99-"+name)
			b.ReportMetric(ms(ages[0]), "ms-least-"+name)
		}
	}
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// hubConsole is what a console asks the engine for, and how old changes were when it had them.
type hubConsole struct{ values, alarms []time.Duration }

func (c *hubConsole) run(ctx context.Context, e *engine, token string, n int, from time.Time) error {
	socket, answer, err := websocket.Dial(ctx, e.url+"/hubs/console?access_token="+token, nil)
	if err != nil {
		return err
	}
	if answer.Body != nil {
		_ = answer.Body.Close()
	}
	defer func() { _ = socket.CloseNow() }()
	socket.SetReadLimit(-1)
	names := make([]string, 40)
	for i := range names {
		names[i] = fmt.Sprintf("plant.device1.tag%d", 1+(n*40+i)%10_000)
	}
	list, err := json.Marshal(names)
	if err != nil {
		return err
	}
	for _, message := range []string{`{"protocol":"json","version":1}`, `{"type":1,"invocationId":"1","target":"Alarms","arguments":[""]}`,
		`{"type":1,"invocationId":"2","target":"Tags","arguments":[` + string(list) + `,500]}`} {
		if err := socket.Write(ctx, websocket.MessageText, []byte(message+"\x1e")); err != nil {
			return err
		}
	}
	go poll(ctx, e, token)
	for {
		_, data, err := socket.Read(ctx)
		if err != nil {
			return err
		}
		if now := time.Now(); now.After(from) {
			c.take(data, now)
		}
	}
}

// take notes the ages of what a message has. Decoding it would cost more than the engine's part.
func (c *hubConsole) take(data []byte, now time.Time) {
	into, mark := &c.values, []byte(`"timestamp":"`)
	if bytes.Contains(data, []byte(`"target":"alarms"`)) {
		into, mark = &c.alarms, []byte(`"at":"`)
	}
	for {
		i := bytes.Index(data, mark)
		if i < 0 {
			return
		}
		data = data[i+len(mark):]
		if at, err := time.Parse(time.RFC3339Nano, string(data[:bytes.IndexByte(data, '"')])); err == nil {
			*into = append(*into, now.Sub(at))
		}
	}
}

// poll asks for what the overview repeats.
func poll(ctx context.Context, e *engine, token string) {
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	for n := 0; ; n++ {
		paths := []string{"/api/v1/drivers"}
		if n%3 == 0 {
			paths = append(paths, "/api/discovery/bindings", "/api/v1/devices")
		}
		if n%12 == 0 {
			paths = append(paths, "/api/v1/alarms/analytics", "/api/v1/alarms/trend")
		}
		for _, path := range paths {
			_ = roundTrip(http.DefaultTransport, token, http.MethodGet, e.url+path, nil) // ctx may have ended
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// BenchmarkOtctl tells how long commands take as a user has them, beside curl that asks for the same.
func BenchmarkOtctl(b *testing.B) {
	otctl := filepath.Join(b.TempDir(), "otctl")
	out, err := exec.Command("go", "build", "-o", otctl, "../otctl").CombinedOutput()
	require.NoError(b, err, "%s", out)
	e := launchPlant(b, steady(1000))
	s := e.admin()
	s.good("plant.device1.tag7")
	dir := b.TempDir()
	command := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(name, args...)
		cmd.Env = append(os.Environ(), "OTCTL_CONFIG_DIR="+dir, "OTCTL_SERVER="+e.url)
		return cmd
	}
	login := command(otctl, "login", "-user", "admin", "-password-stdin")
	login.Stdin = strings.NewReader(password + "\n")
	out, err = login.CombinedOutput()
	require.NoError(b, err, "%s", out)
	for _, one := range [][]string{{"version", otctl, "version"}, {"tags-get", otctl, "tags", "get", "plant.device1.tag7"},
		{"curl", realtest.Need(b, "curl"), "-sf", "-H", "Authorization: Bearer " + s.token, e.url + "/api/v1/tags/plant.device1.tag7"}} {
		b.Run(one[0], func(b *testing.B) {
			var walls, cpus []float64
			for b.Loop() {
				cmd, start := command(one[1], one[2:]...), time.Now()
				out, err := cmd.CombinedOutput()
				walls = append(walls, ms(time.Since(start)))
				require.NoError(b, err, "%s", out)
				cpus = append(cpus, ms(cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()))
			}
			b.ReportMetric(median(walls), "ms-p50")
			b.ReportMetric(walls[len(walls)*99/100], "ms-p99") // median has sorted them
			b.ReportMetric(median(cpus), "cpu-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}
