package bridgeconfig

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/otkit/otkit/internal/serverconfig"
	"github.com/otkit/otkit/internal/settings"
)

// Bridge holds the settings of the bridge.
type Bridge struct {
	Server          Server           `key:"server" doc:"The port and its limits."`
	Bridge          Identity         `key:"bridge" doc:"What the bridge is called, and who may bind it."`
	Driver          Driver           `key:"driver" doc:"The device that the bridge reads: the content of driver_settings.json. Variables reach into settings: Driver__Settings__PollIntervalMs=500."`
	CloudConnection CloudConnection  `key:"cloudConnection" doc:"The link to the engine."`
	OfflineBuffer   OfflineBuffer    `key:"offlineBuffer" doc:"What is stored for the engine until it has it."`
	Ingest          Ingest           `key:"ingest" doc:"Data that devices send to POST /api/bridge/ingest/{driverId}. It needs a driver of the type Passive."`
	Auth            Auth             `key:"auth" doc:"Local accounts and tokens."`
	Audit           Audit            `key:"audit" doc:"The audit log."`
	License         License          `key:"license" doc:"Licenses, which are checked offline."`
	Discovery       Discovery        `key:"discovery" doc:"How engines find the bridge."`
	Metrics         Metrics          `key:"metrics" doc:"The page /metrics."`
	Log             serverconfig.Log `key:"log" doc:"The log, which is written to standard error."`
	Storage         Storage          `key:"storage" doc:"Where the bridge stores its data."`
}

// Defaults returns the settings of the bridge when nothing is set.
func Defaults() Bridge { return settings.Defaults[Bridge]() }

// edge is the value of server.profile for small machines.
const edge = "edge"

// ProfileDefaults returns the defaults of the profile that is set.
func (b Bridge) ProfileDefaults(d Bridge) Bridge {
	if b.Server.Profile == edge {
		d.OfflineBuffer.MaxSizeMb, d.OfflineBuffer.MessageTTLHours = 512, 48
	}
	return d
}

// Names of the settings files in a folder.
const (
	AppFile    = "appsettings.json"
	DriverFile = "driver_settings.json"
)

// Files returns the settings files of the flags -config, a file or a folder, and -driver, either of which may be empty. A folder has an
// appsettings.json, a driver_settings.json or both.
func Files(config, driver string) ([]string, error) {
	if !isFolder(config) { // reading it says what is wrong
		return []string{config, driver}, nil
	}
	app := filepath.Join(config, AppFile)
	found, err := exists(app)
	if err != nil {
		return nil, err
	}
	if driver == "" {
		driver = filepath.Join(config, DriverFile)
		hasDriver, err := exists(driver)
		if err != nil {
			return nil, err
		}
		if !hasDriver {
			driver = ""
		}
	}
	switch {
	case !found && driver == "":
		return nil, fmt.Errorf("the folder %s has neither %s nor %s", config, AppFile, DriverFile)
	case !found:
		app = ""
	}
	return []string{app, driver}, nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func exists(file string) (bool, error) {
	_, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Read reads the settings of the bridge from files, each stronger than the one before, the environment and flags by their keys. See
// [settings.Inspect].
func Read(files []string, environ []string, flags map[string]any, origins settings.Origins) (Bridge, *settings.Problems, []settings.Warning, error) {
	return settings.Inspect(Defaults(), settings.Options{More: files, Environ: environ, Flags: flags, Origins: origins})
}

// Loaded are settings and where they come from.
type Loaded struct {
	Bridge
	Files    []string
	Flags    map[string]any // by key
	Problems *settings.Problems
	Origins  settings.Origins
}

// Load reads the files of the flags -config and -driver, the environment and flags. It writes what is ignored to warnings.
func Load(config, driver string, flags map[string]any, warnings io.Writer) (Loaded, error) {
	files, err := Files(config, driver)
	if err != nil {
		return Loaded{}, err
	}
	l := Loaded{Files: files, Flags: flags, Origins: make(settings.Origins)}
	var ignored []settings.Warning
	l.Bridge, l.Problems, ignored, err = Read(files, os.Environ(), flags, l.Origins)
	for _, w := range ignored {
		fmt.Fprintln(warnings, "warning:", w)
	}
	return l, err
}
