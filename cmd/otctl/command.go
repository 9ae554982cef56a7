package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/otkit/otkit/internal/suggest"
	release "github.com/otkit/otkit/internal/version"
)

// command is one that otctl has.
type command struct {
	name  string // its words, such as "tags get"
	args  string // its arguments, for the usage
	about string
	least int // number of arguments
	most  int // negative for any number
	flags func(*flag.FlagSet)
	run   func(ctx context.Context, c *cli, args []string) error
	empty bool     // an argument behind the first one may be empty
	takes []string // what its arguments are, for the completion; the last one is for all that follow
}

// commands lists all of them, in the order of the help.
func commands() []command {
	return slices.Concat(loginCommands(), tagCommands(), alarmCommands(), ruleCommands(), alertCommands(), shellCommands(), bridgeCommands(),
		driverCommands(), engineCommands(), deviceCommands(), predictCommands(), configCommands(), ownCommands())
}

func ownCommands() []command {
	return []command{
		{name: "completion", args: "bash|zsh|fish", about: "Print a script that completes commands, flags and names", least: 1, most: 1, takes: []string{"=bash zsh fish"},
			run: func(_ context.Context, c *cli, args []string) error { return c.completionScript(args[0]) }},
		{name: "version", about: "Print the version", run: func(_ context.Context, c *cli, _ []string) error {
			raw, err := json.Marshal(map[string]string{"version": release.String()})
			if err != nil {
				return err
			}
			return c.show(raw, func() [][]string { return [][]string{{release.String()}} })
		}},
		{name: "help", args: "[COMMAND]", about: "List the commands", most: -1, run: func(_ context.Context, c *cli, args []string) error {
			return c.help(c.out, strings.Join(args, " "))
		}},
	}
}

// errPrinted is an error that has been printed with the usage.
var errPrinted = errors.New("usage was printed")

// dispatch finds the command that the first words name, and runs it.
func (c *cli) dispatch(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == "__complete" {
		return c.complete(ctx, args[1:])
	}
	globals := c.flagSet("otctl")
	if err := globals.Parse(args); err != nil {
		return c.explain(err, func(w io.Writer) error { return c.help(w, "") })
	}
	words := globals.Args()
	if len(words) == 0 {
		_ = c.help(c.errOut, "")
		return errPrinted
	}
	all := commands()
	found, rest, ok := find(all, words)
	if !ok {
		return c.unknown(all, words)
	}
	f := c.flagSet(found.name)
	if found.flags != nil {
		found.flags(f)
	}
	rest, err := positional(f, rest)
	if err != nil {
		return c.explain(err, func(w io.Writer) error { return c.usage(w, found) })
	}
	if len(rest) < found.least || found.most >= 0 && len(rest) > found.most {
		return usagef("usage: otctl %s", strings.TrimSpace(found.name+" [flags] "+found.args))
	}
	if i := slices.Index(rest, ""); i >= 0 && (i == 0 || !found.empty) { // such as a variable of the shell that is not set
		return usagef("argument %d is empty; usage: otctl %s", i+1, strings.TrimSpace(found.name+" [flags] "+found.args))
	}
	if c.output != "table" && c.output != "json" {
		return usagef("-o %s: table and json are known", c.output)
	}
	return found.run(ctx, c, rest)
}

// explain prints the usage: to the output for who asked for it, and behind the error for who made a mistake.
func (c *cli) explain(err error, usage func(io.Writer) error) error {
	if errors.Is(err, flag.ErrHelp) {
		return usage(c.out)
	}
	_ = usage(c.errOut)
	return errPrinted
}

// find returns the command with the most words in common.
func find(all []command, words []string) (found command, rest []string, ok bool) {
	for n := min(3, len(words)); n > 0; n-- {
		name := strings.Join(words[:n], " ")
		for _, one := range all {
			if one.name == name {
				return one, words[n:], true
			}
		}
	}
	return found, nil, false
}

// unknown explains which command may be meant.
func (c *cli) unknown(all []command, words []string) error {
	names := make([]string, 0, len(all))
	group, help := strings.Join(words, " "), false
	if n := len(words) - 1; isHelp(words[n]) {
		group, help = strings.Join(words[:n], " "), true
	}
	for _, one := range all {
		if strings.HasPrefix(one.name, group+" ") {
			err := errPrinted
			if help {
				err = flag.ErrHelp
			}
			return c.explain(err, func(w io.Writer) error { return c.help(w, group) })
		}
		names = append(names, one.name)
	}
	asked := strings.Join(words[:min(2, len(words))], " ")
	if near, ok := suggest.Nearest(asked, names); ok {
		return usagef("unknown command %q; is %q meant?", asked, near)
	}
	return usagef(`unknown command %q; "otctl help" lists them`, asked)
}

func isHelp(word string) bool { return word == "-h" || word == "-help" || word == "--help" }

// flagSet returns a set with the flags that every command has. It prints errors, and no usage.
func (c *cli) flagSet(name string) *flag.FlagSet {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(c.errOut)
	f.Usage = func() {}
	f.StringVar(&c.server, "server", cmp.Or(c.server, os.Getenv("OTCTL_SERVER")), "`URL` of the engine (OTCTL_SERVER; default: that of the last login, or http://localhost:5001)")
	f.StringVar(&c.output, "o", cmp.Or(c.output, "table"), "output `FORMAT`: table or json, which is that of the API")
	f.StringVar(&c.caFile, "ca-file", cmp.Or(c.caFile, os.Getenv("OTCTL_CA_FILE")), "`FILE` with the certificates to trust (OTCTL_CA_FILE; default: that of the login, or the system's)")
	return f
}

// positional parses flags that may stand between arguments. What looks like a negative number is an argument, and so is all
// behind "--".
func positional(f *flag.FlagSet, args []string) (rest []string, err error) {
	for len(args) > 0 {
		switch arg := args[0]; {
		case arg == "--":
			return append(rest, args[1:]...), nil
		case len(arg) < 2 || arg[0] != '-' || negative(arg):
			rest, args = append(rest, arg), args[1:]
		default:
			n := 1
			if takesValue(f, arg) && len(args) > 1 {
				n = 2
			}
			if err := f.Parse(args[:n]); err != nil {
				return nil, err
			}
			args = args[n:]
		}
	}
	return rest, nil
}

func negative(arg string) bool {
	return len(arg) > 1 && arg[0] == '-' && (arg[1] == '.' || '0' <= arg[1] && arg[1] <= '9')
}

// takesValue reports whether the value of a flag is in the next argument.
func takesValue(f *flag.FlagSet, arg string) bool {
	name := strings.TrimLeft(arg, "-")
	if strings.Contains(name, "=") {
		return false
	}
	known := f.Lookup(name)
	if known == nil {
		return false
	}
	b, ok := known.Value.(interface{ IsBoolFlag() bool })
	return !ok || !b.IsBoolFlag()
}

func (c *cli) usage(w io.Writer, one command) error {
	_, err := fmt.Fprintf(w, "%s\nusage: otctl %s\n", one.about, strings.TrimSpace(one.name+" [flags] "+one.args))
	f := c.flagSet(one.name)
	f.SetOutput(w)
	if one.flags != nil {
		one.flags(f)
	}
	f.PrintDefaults()
	return err
}

// help lists the commands of a group, or all.
func (c *cli) help(w io.Writer, group string) error {
	var rows [][]string
	for _, one := range commands() {
		if group == "" || one.name == group || strings.HasPrefix(one.name, group+" ") {
			rows = append(rows, []string{strings.TrimSpace(one.name + " " + one.args), one.about})
		}
	}
	if len(rows) == 0 {
		return usagef(`unknown command %q; "otctl help" lists them`, group)
	}
	text := "usage: otctl COMMAND [flags] [arguments]\n\n" + layout(rows) + "\n\"otctl COMMAND -h\" lists flags.\n"
	_, err := io.WriteString(w, text)
	return err
}
