package main_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/realtest"
)

// One engine serves all: its start takes seconds, and most of what the commands do is theirs alone.
func TestEveryCommandAtAnEngine(t *testing.T) {
	e := startEngine(t)
	u := newUser(t, e.addr)
	u.fails(3, "not signed in to http://"+e.addr, "tags", "list")
	u.login()
	t.Run("sessions", func(t *testing.T) { sessionsAreKept(t, u) })
	t.Run("tags", func(t *testing.T) { tagsAreUsed(t, u) })
	t.Run("names", func(t *testing.T) { namesMayHaveAnything(t, u) })
	t.Run("alarms", func(t *testing.T) { alarmsAreUsed(t, u) })
	t.Run("rules", func(t *testing.T) { rulesAreManaged(t, u) })
	t.Run("shells", func(t *testing.T) { shellsAreMoved(t, u) })
	t.Run("plant", func(t *testing.T) { plantIsUsed(t, u) })
	t.Run("engines", func(t *testing.T) { enginesAreShown(t, u) })
	t.Run("predictions", func(t *testing.T) { predictionsAreTold(t, u) })
	t.Run("completion", func(t *testing.T) { namesAreCompleted(t, u) })
	u.ok("logout")
	u.fails(3, "not signed in", "tags", "list")
	u.ok("logout")
}

func sessionsAreKept(t *testing.T, u *user) {
	path := filepath.Join(u.dir, "sessions.json")
	if runtime.GOOS != "windows" {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	}
	require.Contains(t, u.ok("servers", "list"), "admin  yes")
	// A token that is about to end is renewed, once, by whichever of several processes is first.
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var saved struct {
		Current  string                    `json:"current"`
		Sessions map[string]map[string]any `json:"sessions"`
	}
	require.NoError(t, json.Unmarshal(text, &saved))
	saved.Sessions[saved.Current]["expiresAt"] = time.Now()
	before := saved.Sessions[saved.Current]["refreshToken"]
	text, err = json.Marshal(saved)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, text, 0o600))
	results := make([]result, 6)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() { results[i] = u.run("tags", "get", "sim.setpoint") })
	}
	wg.Wait()
	for _, r := range results {
		require.Equal(t, 0, r.code, r.err)
	}
	text, err = os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &saved))
	require.NotEqual(t, before, saved.Sessions[saved.Current]["refreshToken"])
	r := u.runWith("wrong\n", "login", "-user", "admin", "-password-stdin")
	require.Equal(t, 3, r.code)
	u.fails(4, "no session", "servers", "use", "https://elsewhere:1")
	u.ok("servers", "use", saved.Current)
}

func tagsAreUsed(t *testing.T, u *user) {
	require.Regexp(t, `(?m)^NAME +VALUE +UNIT`, u.ok("tags", "list", "sim.*"))
	require.NotContains(t, u.ok("tags", "list", "sim.*"), "pump1.")
	var list struct {
		Tags       []struct{ Name string }
		TotalCount int
	}
	require.NoError(t, json.Unmarshal([]byte(u.ok("tags", "list", "-o", "json", "-driver", "pump1")), &list))
	require.Len(t, list.Tags, list.TotalCount)
	require.Equal(t, "pump1.current", list.Tags[0].Name)
	require.Contains(t, u.ok("tags", "set", "sim.setpoint", "42.5", "-confirm"), "Confirmed")
	require.Equal(t, "42.5\n", u.ok("tags", "get", "-value", "sim.setpoint"))
	u.fails(5, "outside 20..95", "tags", "set", "sim.setpoint", "-5")
	u.fails(5, "read-only", "tags", "set", "sim.temperature", "5")
	u.fails(4, "nope", "tags", "set", "nope", "5")
	u.fails(4, "nope", "tags", "get", "sim.setpoint", "nope")
	u.fails(2, "usage", "tags", "get")
	u.fails(2, "-o xml", "tags", "list", "-o", "xml")
	var queued struct{ WriteID string }
	require.NoError(t, json.Unmarshal([]byte(u.ok("-o", "json", "tags", "set", "sim.recipe", "two words 50%", "-no-wait")), &queued))
	require.Contains(t, u.ok("tags", "outcome", queued.WriteID, "-wait", "30s"), "two words 50%")
	require.Equal(t, "two words 50%\n", u.ok("tags", "get", "-value", "sim.recipe"))
	u.fails(6, "unknown", "tags", "outcome", "nope")
	require.Regexp(t, `TIME +TAG +VALUE +BY +STATE +WRITE ID +ERROR\n.* sim.recipe +two words 50% +admin +Written +`+queued.WriteID+` +-\n.* sim.setpoint +42.5 +admin +Confirmed `, u.ok("tags", "writes"))
	var writes struct {
		Writes     []struct{ WriteID, TagName string }
		TotalCount int
	}
	require.NoError(t, json.Unmarshal([]byte(u.ok("tags", "writes", "-o", "json", "-driver", "sim", "-tag", "sim.recipe", "-user", "admin", "-since", "1h", "-outcome", "Written, Unknown", "-limit", "0")), &writes))
	require.Equal(t, 1, writes.TotalCount)
	require.Equal(t, queued.WriteID, writes.Writes[0].WriteID)
	require.Equal(t, 1, strings.Count(u.ok("tags", "writes", "-user", "nobody"), "\n"))
	require.Equal(t, 1, strings.Count(u.ok("tags", "writes", "-user", "nobody", "-limit", "0"), "\n"))
	u.fails(5, "state", "tags", "writes", "-outcome", "Done")
	u.fails(2, "-since", "tags", "writes", "-since", "1h", "-until", "2h")
	require.Equal(t, 3, strings.Count(u.ok("tags", "watch", "sim.*", "-count", "3"), "\n"))
	for _, line := range strings.Split(strings.TrimSpace(u.ok("tags", "watch", "-o", "json", "sim.temperature", "-count", "2")), "\n") {
		require.True(t, json.Valid([]byte(line)), line)
	}
	require.Contains(t, u.ok("tags", "history", "sim.temperature", "-start", "1h", "-points", "5"), "Good")
	require.Regexp(t, `START +MIN +AVERAGE.*\n.*:(00|20|40):00\.000 `, u.ok("tags", "history", "sim.temperature", "-start", "1h", "-interval", "20m"))
	require.Contains(t, u.ok("tags", "export", "sim.temperature", "-start", "1h"), "tag,timestamp,value")
	u.ok("tags", "export", "sim.temperature", "-file", "samples.csv")
	u.fails(5, "exists", "tags", "export", "sim.temperature", "-file", "samples.csv")
	text := u.ok("config", "tags", "export", "-")
	require.Contains(t, text, "sim.setpoint")
	require.NoError(t, os.WriteFile(filepath.Join(u.dir, "tags.csv"), []byte(strings.Replace(text, "Set temperature", "Wanted temperature", 1)), 0o600))
	require.Regexp(t, `change +sim.setpoint +description +Set .* Wanted`, u.ok("config", "tags", "import", "tags.csv", "-dry-run"))
	require.Regexp(t, `done +\d+ +1 `, u.ok("config", "tags", "import", "tags.csv")+" ")
	require.NoError(t, os.WriteFile(filepath.Join(u.dir, "bad.csv"), []byte("tagId,dataType\nx,Nothing\n"), 0o600))
	r := u.run("config", "tags", "import", "bad.csv")
	require.Equal(t, 5, r.code, r.err)
	u.fails(1, "missing.csv", "config", "tags", "import", "missing.csv")
}

func namesMayHaveAnything(t *testing.T, u *user) {
	const name = "sim.100% A/B, two\x1b[31m"
	item := `[{"tagId":"sim.100% A/B, two","driverId":"sim","address":"device1.tag1","dataType":"Float"}]`
	require.NoError(t, os.WriteFile(filepath.Join(u.dir, "odd.json"), []byte(item), 0o600))
	u.ok("config", "tags", "import", "odd.json")
	plain := strings.TrimSuffix(name, "\x1b[31m")
	require.Contains(t, u.ok("tags", "get", plain), plain)
	require.Contains(t, u.ok("tags", "list", "sim.100%*"), plain)
	require.Contains(t, u.ok("tags", "watch", plain, "-count", "1"), plain)
	require.Contains(t, u.ok("tags", "watch", "sim.100% A/B, t?o", "-count", "1"), plain)
	require.Contains(t, u.ok("__complete", "tags", "get", "sim.100%"), plain)
	r := u.run("tags", "get", name)
	require.Equal(t, 4, r.code)
	require.NotContains(t, r.err, "\x1b", "a name must not control the terminal")
	u.ok("tags", "set", "sim.recipe", "red\x1b[31m")
	require.Contains(t, u.ok("tags", "get", "sim.recipe"), `red\u001b[31m`)
	require.NotContains(t, u.ok("tags", "get", "sim.recipe", "-o", "json"), "\x1b")
}

func alarmsAreUsed(t *testing.T, u *user) {
	var list struct {
		Alarms []struct {
			ID   string
			Code json.Number
		}
	}
	eventually(t, "the demo has no alarms", func() bool {
		require.NoError(t, json.Unmarshal([]byte(u.ok("alarms", "list", "-state", "all", "-unacknowledged", "-o", "json")), &list))
		return len(list.Alarms) > 2
	})
	first := list.Alarms[0].Code.String()
	u.ok("alarms", "shelve", first, "-for", "1h")
	require.Regexp(t, ` shelved +\S+ +`+first+` `, u.ok("alarms", "list", "-state", "shelved"))
	u.ok("alarms", "unshelve", first)
	require.NotContains(t, u.ok("alarms", "list", "-state", "all"), " shelved ")
	alarmsAreWatched(t, u, list.Alarms[2].ID)
	require.Contains(t, u.ok("alarms", "list", "-state", "all"), list.Alarms[0].ID)
	require.Contains(t, u.ok("alarms", "watch", "-count", "1"), "\n")
	require.Equal(t, 2, strings.Count(u.ok("alarms", "ack", list.Alarms[0].ID, list.Alarms[1].ID, list.Alarms[0].ID, "-comment", "seen"), " acknowledged"))
	u.fails(5, "1 of 1", "alarms", "ack", list.Alarms[0].ID)
	u.fails(4, "1 of 1", "alarms", "ack", "nope")
	u.fails(2, "-all", "alarms", "ack")
	u.ok("alarms", "ack", "-all", "-severity", "Info")
	code := list.Alarms[0].Code.String()
	require.Contains(t, u.ok("alarms", "shelve", code, "-for", "2h"), "Shelved")
	u.ok("alarms", "unshelve", code)
	u.fails(4, "", "alarms", "shelve", "999999")
	u.fails(2, "no number", "alarms", "shelve", "x")
	u.ok("alerts", "list", "-limit", "2")
	var silence struct{ SilenceID string }
	require.NoError(t, json.Unmarshal([]byte(u.ok("silences", "add", "tank*", "-reason", "works", "-for", "30m", "-o", "json")), &silence))
	require.Contains(t, u.ok("silences", "list"), silence.SilenceID)
	u.ok("silences", "remove", silence.SilenceID)
	require.NotContains(t, u.ok("silences", "list", "-all"), silence.SilenceID)
}

func rulesAreManaged(t *testing.T, u *user) {
	added := u.ok("rules", "add", "sim.temperature", "high", "150.5", "-id", "hot", "-severity", "Critical", "-deadband", "2", "-on-delay", "5s", "-instructions", "Close V7")
	require.Regexp(t, `(?m)^hot +sim\.temperature +High +150\.5 +Critical`, added)
	u.ok("rules", "add", "sim.temperature", "Stale", "-id", "old")
	require.Regexp(t, `(?m)^old +sim\.temperature +Stale +- +Warning`, u.ok("rules", "list", "-tag", "sim.temperature"))
	type listedRule struct {
		ID                  string
		Instructions        string
		Deadband, OnDelayMs float64
	}
	var list struct{ Rules []listedRule }
	require.NoError(t, json.Unmarshal([]byte(u.ok("rules", "list", "-tag", "sim.temperature", "-o", "json")), &list))
	for _, r := range list.Rules {
		if r.ID == "hot" {
			require.Equal(t, "Close V7", r.Instructions)
			require.Equal(t, []float64{2, 5000}, []float64{r.Deadband, r.OnDelayMs})
		}
	}
	u.fails(5, "hot", "rules", "add", "sim.temperature", "High", "1", "-id", "hot")
	u.fails(2, "a number is expected", "rules", "add", "sim.temperature", "High", "warm")
	u.fails(2, "argument 1 is empty", "rules", "remove", "")
	u.fails(2, "argument 2 is empty", "tags", "get", "sim.temperature", "")
	env := u.env
	u.env = append(slices.Clone(env), "OTCTL_TOKEN=ended")
	require.Contains(t, u.run("tags", "list").err, "does not accept the token in OTCTL_TOKEN")
	u.env = env
	require.Contains(t, u.run("rules", "add", "sim.temprature", "Stale", "-id", "mistyped").err, "no tag sim.temprature")
	u.ok("rules", "remove", "mistyped")
	u.fails(2, "need a limit", "rules", "add", "sim.temperature", "High")
	u.fails(2, "are known", "rules", "add", "sim.temperature", "Deviation", "3")
	u.fails(2, "are known", "rules", "add", "sim.temperature", "High", "3", "-severity", "Grave")
	changed := u.ok("rules", "change", "hot", "-limit", "140", "-severity", "Error", "-on-delay", "2s", "-enabled=false")
	require.Regexp(t, `(?m)^hot +sim\.temperature +High +140 +Error +Disabled$`, changed)
	require.NoError(t, json.Unmarshal([]byte(u.ok("rules", "list", "-tag", "sim.temperature", "-o", "json")), &list))
	require.Equal(t, "Close V7", list.Rules[slices.IndexFunc(list.Rules, func(r listedRule) bool { return r.ID == "hot" })].Instructions, "what is not given stays")
	u.fails(2, "nothing to change", "rules", "change", "hot")
	u.fails(4, "ALARM_RULE_NOT_FOUND", "rules", "change", "none", "-limit", "1")
	require.Equal(t, 2, u.run("rules", "change", "hot", "-limit", "warm").code)
	ruleIsChangedByTwo(t, u)
	u.ok("rules", "remove", "hot")
	u.ok("rules", "remove", "old")
	require.NotContains(t, u.ok("rules", "list", "-tag", "sim.temperature"), "hot")
	u.fails(4, "", "rules", "remove", "hot")
}

// ruleIsChangedByTwo changes a rule while another change of it is on its way to the engine: that one is refused.
func ruleIsChangedByTwo(t *testing.T, u *user) {
	saved, err := os.ReadFile(filepath.Join(u.dir, "sessions.json"))
	require.NoError(t, err)
	var sessions struct{ Current string }
	require.NoError(t, json.Unmarshal(saved, &sessions))
	target, err := url.Parse(sessions.Current)
	require.NoError(t, err)
	between := httputil.NewSingleHostReverseProxy(target)
	meanwhile := make(chan result, 1)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			meanwhile <- u.run("rules", "change", "hot", "-limit", "145")
		}
		between.ServeHTTP(w, r)
	}))
	defer proxy.Close()
	slow := newUser(t, proxy.URL)
	slow.login()
	slow.fails(5, "the alarm rule has been changed meanwhile (VERSION_CHANGED); nothing was done", "rules", "change", "hot", "-limit", "120")
	require.Equal(t, 0, (<-meanwhile).code)
	require.Regexp(t, `(?m)^hot +sim\.temperature +High +145 `, u.ok("rules", "list", "-tag", "sim.temperature"))
}

func shellsAreMoved(t *testing.T, u *user) {
	const pump = "https://demo.otkit.example/aas/PumpP102"
	require.Contains(t, u.ok("aas", "list"), pump)
	require.Contains(t, u.ok("aas", "get", pump), "TechnicalData")
	require.True(t, json.Valid([]byte(u.ok("aas", "get", pump, "-submodels", "-o", "json"))))
	u.fails(4, "", "aas", "get", "nope")
	u.ok("aas", "export", pump, "-file", "pump.aasx")
	u.fails(5, "exists", "aas", "export", pump, "-file", "pump.aasx")
	require.Regexp(t, `(?m)^0 +[1-9]\d* `, u.ok("aas", "import", "pump.aasx", "-replace"))
	r := u.run("aas", "import", "pump.aasx")
	require.Equal(t, 5, r.code, r.err)
	u.ok("aas", "export", pump, "-file", "pump.json")
	text, err := os.ReadFile(filepath.Join(u.dir, "pump.json"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(u.dir, "other.json"), []byte(strings.ReplaceAll(string(text), "PumpP102", "PumpP103")), 0o600))
	require.Regexp(t, `(?m)^[1-9]\d* +0 `, u.ok("aas", "import", "other.json"))
	require.Contains(t, u.ok("aas", "list"), "PumpP103")
	require.True(t, json.Valid([]byte(u.ok("aas", "export", "-file", "-"))))
	u.fails(2, ".aasx", "aas", "import", "tags.csv")
}

func plantIsUsed(t *testing.T, u *user) {
	require.Regexp(t, `sim +Simulation +Online`, u.ok("drivers", "list"))
	u.fails(4, "", "drivers", "test", "nope")
	u.fails(1, "built by the program", "drivers", "test", "pump1")
	require.Contains(t, u.ok("devices", "list"), "sim-arm-1")
	require.Contains(t, u.ok("devices", "zones"), "keepOut")
	require.NotContains(t, u.ok("devices", "zones", "-map", "none"), "keepOut")
	u.fails(5, "geofence", "devices", "command", "sim-amr-1", "MoveTo", "x=1000", "y=-2")
	require.Contains(t, u.ok("devices", "commands", "sim-amr-1"), "geofence")
	r := u.run("devices", "command", "sim-arm-1", "EmergencyStop", "-id", "stop-1")
	require.Equal(t, 0, r.code, r.err)
	require.Contains(t, u.ok("devices", "outcome", "sim-arm-1", "stop-1"), "Succeeded")
	u.fails(4, "", "devices", "outcome", "sim-arm-1", "nope")
	u.ok("devices", "command", "sim-arm-1", "ResetEmergencyStop")
	u.ok("bridges", "scan", "-seconds", "1")
	u.ok("bridges", "list")
	u.fails(4, "nope", "bridges", "unbind", "nope")
	u.fails(4, "not found on the network", "bridges", "bind", "nope")
	u.fails(1, "BRIDGE_CONNECTION_FAILED", "bridges", "bind", "nope", "http://127.0.0.1:1")
	bridgesAreBound(t, u)
}

func bridgesAreBound(t *testing.T, u *user) {
	address := fmt.Sprintf("127.0.0.1:%d", realtest.FreePort(t))
	bridge := exec.Command(program(t, "bridge"), "-data", t.TempDir(), "-listen", address)
	bridge.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TMPDIR=" + os.TempDir(), "Bridge__Id=press-7", "Bridge__BindSecret=open-sesame", "Discovery__Mdns=false"}
	require.NoError(t, bridge.Start())
	t.Cleanup(func() {
		_ = bridge.Process.Kill() // it may have ended
		_ = bridge.Wait()
	})
	eventually(t, "the bridge does not listen", func() bool {
		conn, err := net.Dial("tcp", address)
		return err == nil && conn.Close() == nil
	})
	bind := []string{"bridges", "bind", "press-7", "http://" + address, "-secret-stdin"}
	r := u.runWith("wrong\n", bind...)
	require.Equal(t, 1, r.code, r.out)
	require.Contains(t, r.err, "bind secret")
	r = u.runWith("open-sesame\n", bind...)
	require.Equal(t, 0, r.code, r.err)
	require.Regexp(t, `press-7 +Simulation +[1-9]`, r.out)
	require.NotContains(t, r.out+r.err, "sesame")
	require.Contains(t, u.ok("bridges", "list"), "press-7")
	require.Contains(t, u.ok("__complete", "bridges", "unbind", "pr"), "press-7\t")
	eventually(t, "the bridge has no tags", func() bool { return strings.Contains(u.ok("tags", "list", "-driver", "press-7"), "press-7.") })
	u.ok("bridges", "unbind", "press-7")
	require.NotContains(t, u.ok("bridges", "list"), "press-7")
}

// What is done to an alarm while somebody watches is seen when it is done.
func alarmsAreWatched(t *testing.T, u *user, id string) {
	cmd := u.command("alarms", "watch", "-o", "json")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	seen := map[string]string{}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var line struct {
			Kind, By, Comment, Position string
			Alarm                       struct{ ID string }
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &line))
		if line.Alarm.ID != id {
			continue
		}
		seen[line.Kind] = line.By + " " + line.Comment
		if line.Kind == "acknowledged" {
			require.NotEmpty(t, line.Position)
			break
		}
		u.ok("alarms", "ack", id, "-comment", "seen in the watch")
	}
	require.Equal(t, map[string]string{"open": " ", "acknowledged": "admin seen in the watch"}, seen)
}

func predictionsAreTold(t *testing.T, u *user) {
	require.Contains(t, u.ok("predict", "equipments"), "pump1.vibration")
	require.Contains(t, u.ok("predict", "train", "RUL"), "Succeeded")
	require.Contains(t, u.ok("predict", "rul", "pump1", "Bearing"), "pump1")
	require.Contains(t, u.ok("predict", "train", "FailurePrediction"), "Succeeded")
	require.Contains(t, u.ok("predict", "failure", "pump1", "pump1.vibration"), "24 h")
	require.Contains(t, u.ok("predict", "anomaly", "sim.temperature"), "sim.temperature")
	u.fails(5, "UNKNOWN_EQUIPMENT", "predict", "rul", "nope", "Bearing")
}

func namesAreCompleted(t *testing.T, u *user) {
	require.Equal(t, "get\tRead tags\n", u.ok("__complete", "tags", "ge"))
	require.Contains(t, u.ok("__complete", "tags", "get", "sim.se"), "sim.setpoint\t")
	require.NotContains(t, u.ok("__complete", "tags", "get", "sim_"), "sim")
	require.Contains(t, u.ok("__complete", "drivers", "test", ""), "pump1\t")
	require.Contains(t, u.ok("__complete", "tags", "list", "-driver", "pu"), "pump1\t")
	require.Contains(t, u.ok("__complete", "devices", "command", "sim-arm-1", "Em"), "EmergencyStop")
	require.Equal(t, "export\n", strings.SplitAfter(u.ok("__complete", "config", "tags", "e"), "\t")[0][:6]+"\n")
	require.Contains(t, u.ok("__complete", "tags", "list", "-"), "-limit\t")
	require.Empty(t, u.ok("__complete", "aas", "import", ""))
}
