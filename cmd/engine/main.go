// Command engine is the reference engine: tags, alarms, shells and devices of a plant behind one port.
//
//	engine [-config FILE] [-data DIR] [-listen ADDR] [-demo]
//	engine users add|passwd|list|remove ...
//	engine config print|check [-config FILE]
//	engine migrate [-config FILE] [-data DIR]
//	engine drain [-config FILE] [-data DIR] [-undo] [-wait 30s]
//	engine backup|restore [-config FILE] [-data DIR] FILE
//	engine aas import|export [-config FILE] [-data DIR] FILE
//
// Every setting can also come from the environment; docs/engine-settings.md lists them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	_ "time/tzdata" // intervals of history are aligned to time zones; the system may have none

	"github.com/otkit/otkit/internal/datadir"
	"github.com/otkit/otkit/internal/engineconfig"
	"github.com/otkit/otkit/internal/program"
	"github.com/otkit/otkit/internal/settings"
	release "github.com/otkit/otkit/internal/version"
	"github.com/otkit/otkit/storage"
)

const help = `engine [-config FILE] [-data DIR] [-listen ADDR] [-demo]   run the engine
engine users add|passwd|list|remove                        manage accounts
engine config print|check                                  show or check the settings
engine migrate                                             migrate the tables to this version, and end
engine drain                                               give the work of this engine to others of its plant
engine backup FILE                                         save everything, also while the engine runs
engine restore FILE                                        fill an empty database from a backup
engine aas import|export                                   import or export shells and submodels
engine version                                             print the version
Run "engine COMMAND -h" for flags.
`

// version is what is told of the program everywhere.
var version = release.String()

func main() {
	os.Exit(program.ExitCode("engine", run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr), os.Stderr))
}

// run is main without the process: the commands by name, and the server if there is no name.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) error {
	c := command{in: in, out: out, errOut: errOut}
	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	switch name {
	case "users":
		return c.users(ctx, args[1:])
	case "config":
		return c.config(args[1:])
	case "migrate":
		return c.migrate(ctx, args[1:])
	case "drain":
		return c.drain(ctx, args[1:])
	case "backup":
		return c.backup(ctx, args[1:])
	case "restore":
		return c.restore(ctx, args[1:])
	case "aas":
		return c.shells(ctx, args[1:])
	case "help":
		_, err := fmt.Fprint(out, help)
		return err
	case "version":
		_, err := fmt.Fprintln(out, version)
		return err
	}
	return c.serve(ctx, args)
}

// command is shared by the commands: where they read and write, and the flags that select the settings.
type command struct {
	in          io.Reader
	out, errOut io.Writer

	configFile, dataDir, listen string
	origins                     settings.Origins
}

// flags returns a flag set with the flags that every command has.
func (c *command) flags(name, usage string) *flag.FlagSet {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(c.errOut)
	c.addFlags(f)
	f.Usage = func() {
		fmt.Fprintln(c.errOut, "usage: engine "+usage)
		f.PrintDefaults()
	}
	return f
}

func (c *command) addFlags(f *flag.FlagSet) {
	f.StringVar(&c.configFile, "config", "", "settings `FILE`, YAML or JSON")
	f.StringVar(&c.dataDir, "data", "", "data directory `DIR` (default ./data)")
}

// openExisting opens the database of an engine that may be running, perhaps of another version: its tables are left as they are.
func openExisting(ctx context.Context, s engineconfig.Engine) (*storage.DB, error) {
	if err := datadir.CheckComplete(s.Storage.DataDir); err != nil {
		return nil, err
	}
	if s.Storage.Driver == "sqlite" {
		if err := datadir.CheckDatabase(s.Storage.DataDir); err != nil {
			return nil, err
		}
	}
	return s.Storage.Open(ctx, storage.Options{NoMigrate: true}, 0, schemas()...)
}

// openOrCreate opens the database of an engine that may be running, and creates one if there is none.
func openOrCreate(ctx context.Context, s engineconfig.Engine) (*storage.DB, error) {
	db, err := openExisting(ctx, s)
	if errors.Is(err, datadir.ErrNoDatabase) || errors.Is(err, storage.ErrNoTables) {
		return s.Storage.Open(ctx, storage.Options{NoMaintenance: true}, 0, schemas()...)
	}
	return db, err
}
