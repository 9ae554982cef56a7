package main_test

import (
	"net/http"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/npmtest"
	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/internal/realtest"
)

func chromiumOf(t testing.TB) string {
	t.Helper()
	return realtest.Need(t, "chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")
}

// drive runs a script of the console's tests in a browser, with more arguments behind those that each has.
func (e *engine) drive(name string, more ...string) {
	e.t.Helper()
	chromium := chromiumOf(e.t)
	packages := npmtest.Need(e.t, "playwright-core@1.65.1", "axe-core@4.14.1")
	script := filepath.Join(repository, "transport", "console", "web", "test", name)
	out, err := npmtest.Command(e.t, packages, script, append([]string{chromium, e.url, "admin", password}, more...)...).CombinedOutput()
	require.NoError(e.t, err, string(out))
}

// drive runs a script of the console's tests in a browser, with an engine of the demo.
func drive(t *testing.T, name string) {
	t.Helper()
	chromiumOf(t) // rather than an engine for nothing
	e := start(t, known, "-demo", "-data", t.TempDir())
	e.admin().good("sim.running")
	e.drive(name)
}

// Somebody signs in, sees values change, writes one, acknowledges an alarm and opens seven tabs; every view is read by a checker
// of accessibility.
func TestTheConsoleInABrowser(t *testing.T) {
	t.Parallel()
	chromiumOf(t)
	e := start(t, with(known, []string{"Server__Name=Plant North"}), "-demo", "-data", t.TempDir())
	e.admin().good("sim.running")
	e.drive("console.cjs")
}

// Browsers send cookies to all ports of a host.
func TestTwoEnginesOfOneHostInOneBrowser(t *testing.T) {
	t.Parallel()
	chromiumOf(t)
	e, other := start(t, known, "-data", t.TempDir()), start(t, known, "-data", t.TempDir())
	e.drive("engines.cjs", other.url)
}

// An admin sees what no engine of a plant does and why, and drains one; a viewer cannot.
func TestTheEnginesOfAPlantInABrowser(t *testing.T) {
	t.Parallel()
	chromiumOf(t)
	env, data := with(known, []string{"Storage__Driver=postgres", "Storage__Dsn=" + pgtest.DSN(t)}), t.TempDir()
	e := start(t, env, "-data", data)
	start(t, env, "-data", t.TempDir())
	run(t, env, password, "users", "add", "-data", data, "-role", "Viewer", "vera").ok(t)
	e.drive("cluster.cjs", "vera")
}

// An admin adds and removes a user and finds it in the audit log.
func TestTheAdminOfTheConsoleInABrowser(t *testing.T) {
	t.Parallel()
	drive(t, "admin.cjs")
}

// An operator silences messages and ends a silence.
func TestTheAlertsOfTheConsoleInABrowser(t *testing.T) {
	t.Parallel()
	drive(t, "alerts.cjs")
}

// Somebody looks at remaining lives and trains a model again.
func TestThePredictionsOfTheConsoleInABrowser(t *testing.T) {
	t.Parallel()
	chromiumOf(t)
	e := start(t, with(known, []string{withPumps}), "-demo", "-data", t.TempDir())
	eventually(t, "the first models are not trained", func() bool {
		failure, _ := e.answer(http.MethodGet, "metrics/FailurePrediction", "")
		life, _ := e.answer(http.MethodGet, "metrics/RUL", "")
		return failure == http.StatusOK && life == http.StatusOK
	})
	e.drive("predictions.cjs")
}

// Somebody looks at a shell with live values, downloads it and uploads it again.
func TestTheShellsOfTheConsoleInABrowser(t *testing.T) {
	t.Parallel()
	drive(t, "shells.cjs")
}

// An operator commands and stops devices, and reads why a command is refused.
func TestTheDevicesOfTheConsoleInABrowser(t *testing.T) {
	t.Parallel()
	drive(t, "devices.cjs")
}

// An admin adds an alarm rule, sees its alarm, changes and removes it.
func TestTheRulesOfTheConsoleInABrowser(t *testing.T) {
	t.Parallel()
	drive(t, "rules.cjs")
}

// An admin tries a Modbus device, adds its driver, changes and removes it.
func TestTheDriversOfTheConsoleInABrowser(t *testing.T) {
	t.Parallel()
	chromiumOf(t)
	device := newOwnPLC(t)
	device.on(t)
	t.Cleanup(func() { device.off(t) })
	e := start(t, known, "-demo", "-data", t.TempDir())
	e.drive("drivers.cjs", strconv.Itoa(device.port()))
}

// An admin edits the configuration of tags in a grid and by a spreadsheet.
func TestTheConfigurationOfTheConsoleInABrowser(t *testing.T) {
	t.Parallel()
	drive(t, "configuration.cjs")
}

// An operator works by the keyboard alone.
func TestTheKeyboardInTheConsole(t *testing.T) {
	t.Parallel()
	drive(t, "keyboard.cjs")
}

// A trend shows a value for as long as it holds.
func TestTheTrendOfTheConsoleInABrowser(t *testing.T) {
	t.Parallel()
	drive(t, "trend.cjs")
}

// Lists stand still while somebody reads them, and no longer.
func TestTheListsOfTheConsoleInABrowser(t *testing.T) {
	t.Parallel()
	drive(t, "lists.cjs")
}
