// Command bridge is the reference bridge: it reads the device beside it, and delivers every sample to its engine.
//
//	bridge [-config DIR-OR-FILE] [-driver FILE] [-data DIR] [-listen ADDR]
//	bridge users add|passwd|list|remove ...
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
	"sync/atomic"

	"github.com/otkit/otkit/internal/bridgeconfig"
	"github.com/otkit/otkit/internal/program"
	"github.com/otkit/otkit/internal/settings"
	release "github.com/otkit/otkit/internal/version"
	"github.com/otkit/otkit/transport/oneport"
)

const usage = `usage: bridge [-config DIR-OR-FILE] [-driver FILE] [-data DIR] [-listen ADDR]
       bridge users add|passwd|list|remove ...
       bridge config print|check [flags]
       bridge version
`

func main() {
	os.Exit(program.ExitCode("bridge", run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr), os.Stderr))
}

// command is one call of the program.
type command struct {
	out, errOut io.Writer
	flags       map[string]any
	loaded      bridgeconfig.Loaded

	certificates atomic.Pointer[oneport.CertificateFiles] // of the running bridge; nil without TLS
}

// run is main without the process.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) error {
	if slices.Equal(args, []string{"version"}) {
		_, err := fmt.Fprintln(out, release.String())
		return err
	}
	c, verb := &command{out: out, errOut: errOut, flags: map[string]any{}}, ""
	if len(args) > 0 && args[0] == "users" {
		return bridgeconfig.Users(ctx, args[1:], in, out, errOut)
	}
	if slices.Equal(args, []string{"help"}) {
		args = []string{"-h"}
	}
	if len(args) > 0 && args[0] == "config" {
		if len(args) < 2 || args[1] != "print" && args[1] != "check" {
			return errors.New("config needs print or check; bridge -h shows how it is called")
		}
		verb, args = args[1], args[2:]
	}
	if err := c.read(args); err != nil {
		return err
	}
	l := c.loaded
	if verb == "check" {
		l.Build(l.Problems, "bridge", release.String(), l.Log.New(errOut, nil))
	}
	switch err := l.Problems.Err(); {
	case err != nil:
		return err
	case verb == "print":
		return settings.Print(out, l.Bridge, l.Origins)
	case verb == "check":
		_, err := fmt.Fprintln(out, "settings are valid")
		return err
	}
	return c.serve(ctx)
}

// read reads the flags and the settings.
func (c *command) read(args []string) (err error) {
	f := flag.NewFlagSet("bridge", flag.ContinueOnError)
	f.SetOutput(c.errOut)
	config := f.String("config", "", "`FILE` with settings, or folder with an appsettings.json, a driver_settings.json or both")
	driver := f.String("driver", "", "`FILE` with the settings of the driver (default: a simulation)")
	f.Func("data", "data directory `DIR` (default ./bridge-data)", c.set("storage.dataDir"))
	f.Func("listen", "address `ADDR` to listen on, such as :5100", c.set("server.listen"))
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
	c.loaded, err = bridgeconfig.Load(*config, *driver, c.flags, c.errOut)
	return err
}

// set returns what sets a setting by a flag.
func (c *command) set(key string) func(string) error {
	return func(v string) error { c.flags[key] = v; return nil }
}
