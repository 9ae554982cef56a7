package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/otkit/otkit/internal/engineconfig"
	"github.com/otkit/otkit/internal/program"
	"github.com/otkit/otkit/internal/settings"
	"github.com/otkit/otkit/storage/postgres"
	"github.com/otkit/otkit/transport/metrics"
)

// read reads the engine's settings and returns what is wrong with them. Warnings go to warn, unless it is nil.
func (c *command) read(warn io.Writer) (engineconfig.Engine, *settings.Problems, error) {
	flags := map[string]any{}
	if c.listen != "" {
		flags["server.listen"] = c.listen
	}
	if c.dataDir != "" {
		flags["storage.dataDir"] = c.dataDir
	}
	c.origins = make(settings.Origins)
	s, problems, warnings, err := engineconfig.Read(c.configFile, flags, c.origins)
	if err != nil || warn == nil {
		return s, problems, err
	}
	for _, w := range warnings {
		fmt.Fprintln(warn, "warning:", w)
	}
	if host := postgres.Insecure(s.Storage.DSN); s.Storage.Driver == "postgres" && host != "" {
		fmt.Fprintf(warn, "warning: storage.dsn has no sslmode: the connection to %s may not be encrypted; set sslmode=verify-full, or another mode explicitly\n", host)
	}
	return s, problems, nil
}

// settings returns the engine's settings, or an error with everything that is wrong with them.
func (c *command) settings(warn io.Writer) (engineconfig.Engine, error) {
	s, problems, err := c.read(warn)
	if err == nil {
		err = problems.Err()
	}
	return s, err
}

// config prints or checks the effective settings.
func (c *command) config(args []string) error {
	verb := ""
	if len(args) > 0 {
		verb, args = args[0], args[1:]
	}
	f := c.flags("config", "config print|check [-config FILE] [-data DIR] [-listen ADDR]")
	f.StringVar(&c.listen, "listen", "", "address `ADDR` to listen on")
	if verb != "print" && verb != "check" {
		f.Usage()
		return program.ErrUsage
	}
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return errors.New("config " + verb + " takes flags only")
	}
	s, problems, err := c.read(c.errOut)
	if err != nil {
		return err
	}
	if verb == "check" {
		s.Build(problems, version, s.Log.New(c.errOut, nil), metrics.New(metrics.Options{}))
	}
	if err := problems.Err(); err != nil {
		return err
	}
	if verb == "print" {
		return settings.Print(c.out, s, c.origins)
	}
	_, err = fmt.Fprintln(c.out, "settings are valid")
	return err
}
