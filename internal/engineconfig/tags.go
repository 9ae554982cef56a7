package engineconfig

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/internal/drivertypes"
	"github.com/otkit/otkit/internal/settings"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/driverconfig"
	managed "github.com/otkit/otkit/tags/drivers"
	"github.com/otkit/otkit/transport/tagsapi/tagspart"
)

// Tags is about the tag engine.
type Tags struct {
	ModelPath       string        `key:"modelPath" env:"PLATFORM_MODEL_PATH" doc:"Model file of the tag configuration; empty for config/equipment_model.json in the data directory, or for none with PostgreSQL."`
	History         History       `key:"history"`
	WriteLogMaxAge  time.Duration `key:"writeLogMaxAge" default:"744h" rule:">0" doc:"Retention of the outcomes of writes."`
	MaxConfigured   int           `key:"maxConfigured" default:"200000" rule:"1..10000000" doc:"Most tags that the configuration may have."`
	MaxImportBytes  int64         `key:"maxImportBytes" default:"134217728" rule:"1024..1073741824" doc:"Size in bytes of a file of the tag configuration that can be imported."`
	MaxDrivers      int           `key:"maxDrivers" default:"1000" rule:"1..100000" doc:"Most drivers that are created by calls."`
	MaxDerived      int           `key:"maxDerived" default:"50000" rule:"1..1000000" doc:"Most derived tags, those of templates included."`
	MaxWithoutToken int           `key:"maxWithoutToken" default:"10000" rule:"1..|-1 for no limit" doc:"Tags in the configuration up to which a caller without a token may add one; beyond it the answer is 409."`
}

// History is the history of tag values.
type History struct {
	Enabled    bool          `key:"enabled" default:"true" doc:"Store the history of tag values."`
	MaxAge     time.Duration `key:"maxAge" default:"744h" rule:">0|<0 for no limit" doc:"Retention of samples."`
	MaxBytes   int64         `key:"maxBytes" default:"1073741824" rule:">0|<0 for no limit" doc:"Size in bytes beyond which the oldest samples are removed."`
	FlushEvery time.Duration `key:"flushEvery" default:"1s" rule:">0..1m" doc:"Longest time that a sample waits to be stored."`
}

// Driver is one device. Zero selects the default of the driver or of the engine.
type Driver struct {
	ID             string          `key:"id" rule:"required" unique:"true" doc:"Id of the driver, the prefix of its tags' names."`
	Type           string          `key:"type" rule:"required" doc:"Type of driver, such as Modbus or Simulation."`
	IPAddress      string          `key:"ipAddress" doc:"Address or host name of the device, for types that have one."`
	Port           int             `key:"port" rule:"1..65535|0 for the type's default" doc:"Port of the device."`
	PollIntervalMs int             `key:"pollIntervalMs" rule:"0..86400000" doc:"Polling interval of tags without one of their own, in milliseconds; 0 for 1000."`
	TimeoutMs      int             `key:"timeoutMs" rule:"0..86400000" doc:"Longest time of one exchange with the device, in milliseconds; 0 for 5000."`
	BackoffMaxMs   int             `key:"backoffMaxMs" rule:"0..86400000" doc:"Longest delay between attempts to connect, which grows from attempt to attempt, in milliseconds; 0 for 10000."`
	Requires       json.RawMessage `key:"requires" doc:"Labels that an engine must have to run the driver, where several share the plant: an object of texts, such as {hall: north}; see cluster.labels."`
	Settings       json.RawMessage `key:"settings" doc:"Settings that the type of driver defines, tags included."`
}

// Validate implements settings.Validator.
func (d Driver) Validate(p *settings.Problems) {
	p.Must(!strings.ContainsFunc(d.ID, func(r rune) bool { return r == '/' || unicode.IsControl(r) }), "id", "must not contain / or control characters")
	if _, err := d.requires(); err != nil {
		p.Add("requires", err.Error())
	}
}

// The limits of requires, which are those of package drivers.
const (
	maxRequires = 16
	maxRequired = 128
)

func (d Driver) requires() (map[string]string, error) {
	labels, err := textMap(d.Requires, maxRequires)
	for name, value := range labels {
		if name == "" || len(name) > maxRequired || len(value) > maxRequired {
			return nil, fmt.Errorf("must have names of 1 to %d bytes and values of at most %[1]d", maxRequired)
		}
	}
	return labels, err
}

// ModelPath returns the path of the model file.
func (e Engine) ModelPath() string {
	if e.Tags.ModelPath != "" {
		return e.Tags.ModelPath
	}
	return filepath.Join(e.Storage.DataDir, "config", "equipment_model.json")
}

// drivers makes the drivers whose settings are valid.
func drivers(list []Driver, log *slog.Logger, p *settings.Problems) []tagspart.Driver {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	factories := drivertypes.Polling() // nobody pushes values to the engine itself
	var all []tagspart.Driver
	for i, d := range list {
		path := fmt.Sprintf("drivers[%d]", i)
		if p.Has(path) {
			continue
		}
		driver, known, err := factories.Build(driverconfig.Settings{ID: d.ID, Type: d.Type, IPAddress: d.IPAddress, Port: d.Port, Settings: d.Settings}, log)
		if err != nil {
			driverProblems(p, path, d.ID, err)
			continue
		}
		requires, _ := d.requires() // validated
		all = append(all, tagspart.Driver{ID: d.ID, Driver: driver, Options: tags.DriverOptions{
			Type: d.Type, PollInterval: ms(d.PollIntervalMs), Timeout: ms(d.TimeoutMs), MaxBackoff: ms(d.BackoffMaxMs), Tags: known},
			Definition: managed.Definition{ID: d.ID, Type: d.Type, Enabled: true, Requires: requires, IPAddress: d.IPAddress, Port: d.Port, PollInterval: ms(d.PollIntervalMs), Timeout: ms(d.TimeoutMs),
				MaxBackoff: ms(d.BackoffMaxMs), Settings: d.Settings}})
	}
	return all
}

// driverProblems adds the problems of a driver. Their paths continue in its free-form settings.
func driverProblems(p *settings.Problems, path, id string, err error) {
	e, ok := fault.From(err)
	if !ok || len(e.Fields) == 0 {
		p.Add(path, "(driver "+id+"): "+err.Error())
		return
	}
	for _, f := range e.Fields {
		p.Add(path+"."+f.Field, f.Message+" (driver "+id+")")
	}
}

func (h History) options() tagspart.HistoryOptions {
	return tagspart.HistoryOptions{Disabled: !h.Enabled, MaxAge: h.MaxAge, MaxBytes: h.MaxBytes, FlushEvery: h.FlushEvery}
}
