// Command engine is the reference engine: tags, alarms, shells and devices of a plant behind one port.
//
//	engine [-config FILE] [-data DIR] [-listen ADDR] [-demo]
//	engine users add|passwd|list|remove ...
//	engine config print|check [-config FILE]
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
	"os/signal"
	"strings"
	"syscall"

	"github.com/otkit/otkit/internal/settings"
)

const help = `engine [-config FILE] [-data DIR] [-listen ADDR] [-demo]   run the engine
engine users add|passwd|list|remove                        manage accounts
engine config print|check                                  show or check the settings
engine backup FILE                                         save everything, also while the engine runs
engine restore FILE                                        fill an empty database from a backup
engine aas import|export                                   bring shells and submodels in or out
engine version                                             tell the version
Each command tells its flags with -h.
`

// version is set by the linker in releases.
var version = "dev"

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "engine:", oneLine(err))
			os.Exit(1)
		}
		os.Exit(2)
	}
}

// oneLine gives an error the form of a log line; joined errors and those of the PostgreSQL driver have
// several.
func oneLine(err error) string {
	return strings.NewReplacer("\n\t", " ", "\n", "; ").Replace(err.Error())
}

// run is main without the process: the commands by name, and the server where there is none.
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

// command is what the commands share: where they read and write, and the flags that say which
// settings are meant.
type command struct {
	in          io.Reader
	out, errOut io.Writer

	configFile, dataDir, listen string
	origins                     settings.Origins
}

// flags gives a flag set with the flags that every command has.
func (c *command) flags(name, usage string) *flag.FlagSet {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(c.errOut)
	f.StringVar(&c.configFile, "config", "", "settings `FILE`, YAML or JSON")
	f.StringVar(&c.dataDir, "data", "", "data `DIR`ectory (default ./data)")
	f.Usage = func() {
		fmt.Fprintln(c.errOut, "usage: engine "+usage)
		f.PrintDefaults()
	}
	return f
}

// untilSignal gives a context that the first SIGINT or SIGTERM ends. The second one ends the process.
func untilSignal(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		defer signal.Stop(signals)
		select {
		case <-signals:
			cancel()
		case <-done:
			return
		}
		select {
		case <-signals:
			os.Exit(1)
		case <-done:
		}
	}()
	return ctx, func() {
		close(done)
		cancel()
	}
}
