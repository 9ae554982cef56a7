// Command bridge is the reference bridge: it reads the device beside it, and delivers every sample to its engine.
//
//	bridge [-config DIR-OR-FILE] [-driver FILE] [-data DIR] [-listen ADDR]
//	bridge config print|check ...
//	bridge version
//
// Every setting can also come from the environment; docs/bridge-settings.md lists them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/otkit/otkit/internal/bridgeconfig"
	"github.com/otkit/otkit/internal/program"
	"github.com/otkit/otkit/internal/settings"
	release "github.com/otkit/otkit/internal/version"
)

const usage = `usage: bridge [-config DIR-OR-FILE] [-driver FILE] [-data DIR] [-listen ADDR]
       bridge config print|check [flags]
       bridge version
`

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout, os.Stderr); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			os.Exit(2)
		}
		fmt.Fprintln(os.Stderr, "bridge:", program.OneLine(err))
		os.Exit(1)
	}
}

// command is one call of the program.
type command struct {
	out, errOut io.Writer
	settings    bridgeconfig.Bridge
	files       []string
	flags       map[string]any
	problems    *settings.Problems
	origins     settings.Origins
}

// run is main without the process.
func run(ctx context.Context, args []string, out, errOut io.Writer) error {
	if slices.Equal(args, []string{"version"}) {
		_, err := fmt.Fprintln(out, release.String())
		return err
	}
	c, verb := &command{out: out, errOut: errOut}, ""
	if len(args) > 1 && args[0] == "config" && (args[1] == "print" || args[1] == "check") {
		verb, args = args[1], args[2:]
	}
	err := c.read(args)
	if err == nil && verb == "check" {
		c.settings.Build(c.problems, "bridge", release.String(), c.settings.Log.New(errOut, nil))
	}
	if err == nil {
		err = c.problems.Err()
	}
	switch {
	case err != nil:
		return err
	case verb == "print":
		return settings.Print(out, c.settings, c.origins)
	case verb == "check":
		_, err := fmt.Fprintln(out, "settings are valid")
		return err
	}
	return c.serve(ctx)
}

// read reads the flags and the settings.
func (c *command) read(args []string) error {
	f := flag.NewFlagSet("bridge", flag.ContinueOnError)
	f.SetOutput(c.errOut)
	config := f.String("config", "", "`FILE` with settings, or folder with an appsettings.json, a driver_settings.json or both")
	driver := f.String("driver", "", "`FILE` with the settings of the driver (default: a simulation)")
	c.flags = map[string]any{}
	set := func(key string) func(string) error { return func(v string) error { c.flags[key] = v; return nil } }
	f.Func("data", "data directory `DIR` (default ./bridge-data)", set("storage.dataDir"))
	f.Func("listen", "address `ADDR` to listen on, such as :5100", set("server.listen"))
	f.Usage = func() {
		fmt.Fprint(c.errOut, usage)
		f.PrintDefaults()
	}
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("unknown command %q; bridge -h shows how it is called", f.Arg(0))
	}
	var err error
	if c.files, err = bridgeconfig.Files(*config, *driver); err != nil {
		return err
	}
	c.origins = make(settings.Origins)
	var warnings []settings.Warning
	if c.settings, c.problems, warnings, err = bridgeconfig.Read(c.files, os.Environ(), c.flags, c.origins); err != nil {
		return err
	}
	for _, w := range warnings {
		fmt.Fprintln(c.errOut, "warning:", w)
	}
	return nil
}
