package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/otkit/otkit/internal/settings"
)

// settings loads the engine's settings. Warnings go to warn, unless it is nil.
func (c *command) settings(warn io.Writer) (settings.Engine, error) {
	flags := map[string]any{}
	if c.listen != "" {
		flags["server.listen"] = c.listen
	}
	if c.dataDir != "" {
		flags["storage.dataDir"] = c.dataDir
	}
	c.origins = make(settings.Origins)
	s, warnings, err := settings.Load(settings.EngineDefaults(), settings.Options{File: c.configFile, Environ: os.Environ(), Flags: flags, Origins: c.origins})
	if err != nil {
		return s, err
	}
	if warn != nil {
		for _, w := range warnings {
			fmt.Fprintln(warn, "warning:", w)
		}
	}
	return s, nil
}

// modelPath gives the path of the tag configuration's model file.
func modelPath(s settings.Engine) string {
	if s.Tags.ModelPath != "" {
		return s.Tags.ModelPath
	}
	return filepath.Join(s.Storage.DataDir, "config", "equipment_model.json")
}

// config prints or checks the effective settings.
func (c *command) config(args []string) error {
	verb := ""
	if len(args) > 0 {
		verb, args = args[0], args[1:]
	}
	f := c.flags("config", "config print|check [-config FILE] [-data DIR] [-listen ADDR]")
	f.StringVar(&c.listen, "listen", "", "`ADDR`ess to listen on")
	if verb != "print" && verb != "check" {
		f.Usage()
		return flag.ErrHelp
	}
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return errors.New("config " + verb + " takes flags only")
	}
	s, err := c.settings(c.errOut)
	if err != nil {
		return err
	}
	if verb == "print" {
		return settings.Print(c.out, s, c.origins)
	}
	e := &environment{log: newLogger(s, c.errOut)}
	if _, err := buildDrivers(s, e.log); err != nil {
		return err
	}
	if _, err := c.options(s, e); err != nil {
		return err
	}
	if s.AAS.Events.URL != "" {
		if _, err := eventOptions(s.AAS.Events, e.log); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintln(c.out, "settings are valid")
	return err
}
