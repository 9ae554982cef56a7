package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/otkit/otkit/openapi/client"
)

func engineCommands() []command {
	var undo bool
	var wait time.Duration
	return []command{
		{name: "engines list", about: "List the engines of the plant, and the work that none of them does", run: func(ctx context.Context, c *cli, _ []string) error {
			return c.listEngines(ctx)
		}},
		{name: "engines get", args: "NAME", about: "List what an engine does, and what it cannot do", least: 1, most: 1, takes: []string{"engine"},
			run: func(ctx context.Context, c *cli, args []string) error { return c.getEngine(ctx, args[0]) }},
		{name: "engines drain", args: "NAME", about: "Have an engine give its work to the others", least: 1, most: 1, takes: []string{"engine"},
			flags: func(f *flag.FlagSet) {
				f.BoolVar(&undo, "undo", false, "have it take its share of the work again")
				f.DurationVar(&wait, "wait", 30*time.Second, "how `LONG` to wait until it is done; 0 for not at all")
			},
			run: func(ctx context.Context, c *cli, args []string) error { return c.drainEngine(ctx, args[0], undo, wait) }},
	}
}

func (c *cli) listEngines(ctx context.Context) error {
	conn, err := c.connect()
	if err != nil {
		return err
	}
	list, raw, err := get[client.EngineList](conn.ListEngines(ctx))
	if err != nil {
		return err
	}
	c.warnOfEngines(&list) // what people must see comes first
	return c.show(raw, func() [][]string {
		rows := [][]string{{"NAME", "STATE", "DOES", "CANNOT DO", "LAST HEARD", "AGE OF VALUES", "ANSWERED", "HOST", "VERSION", "SINCE", "ID"}}
		for _, e := range list.Engines {
			heard, age, answered := "-", "-", "-"
			if e.Self {
				answered = "yes"
			}
			if list.Bus.Kind != "" { // else it is alone
				heard = seconds(e.LagMs)
			}
			if e.ValueLagMs != nil {
				age = seconds(*e.ValueLagMs)
			}
			rows = append(rows, []string{e.Name, engineState(&e), amounts(e.Owned), fmt.Sprint(e.UnableCount), heard, age, answered, e.Host, e.Version, local(e.StartedAt), e.ID})
		}
		return rows
	})
}

// warnOfEngines says on the standard error what the engines lack.
func (c *cli) warnOfEngines(list *client.EngineList) {
	if !list.Database.Up {
		fmt.Fprintln(c.errOut, "the database does not answer the engine: what is shown may be old")
	}
	if b := list.Bus; b.Kind != "" && !b.Up {
		fmt.Fprintf(c.errOut, "the bus (%s) is down: %s\n", b.Kind, b.Error)
	}
	for _, w := range list.Unassigned {
		var reasons []string
		for _, r := range w.Reasons {
			reasons = append(reasons, r.EngineName+": "+r.Reason)
		}
		if len(reasons) < len(list.Engines) {
			reasons = append(reasons, "an engine is about to take it over")
		}
		fmt.Fprintf(c.errOut, "no engine does %s %s: %s\n", w.Kind, w.ID, strings.Join(reasons, "; "))
	}
	if more := list.UnassignedCount - len(list.Unassigned); more > 0 {
		fmt.Fprintf(c.errOut, "and %d more\n", more)
	}
}

func (c *cli) getEngine(ctx context.Context, name string) error {
	conn, err := c.connect()
	if err != nil {
		return err
	}
	id, err := findEngine(ctx, conn, name)
	if err != nil {
		return err
	}
	e, raw, err := get[client.EngineStatus](conn.GetEngineStatus(ctx, id))
	if err != nil {
		return err
	}
	return c.show(raw, func() [][]string {
		rows := [][]string{{"KIND", "ID", "EPOCH", "CANNOT BECAUSE"}}
		for _, w := range e.Works {
			rows = append(rows, []string{w.Kind, w.ID, fmt.Sprint(w.Epoch), ""})
		}
		for _, u := range e.Unable {
			rows = append(rows, []string{u.Kind, u.ID, "", u.Reason})
		}
		return rows
	})
}

func (c *cli) drainEngine(ctx context.Context, name string, undo bool, wait time.Duration) error {
	conn, err := c.connect()
	if err != nil {
		return err
	}
	id, err := findEngine(ctx, conn, name)
	if err != nil {
		return err
	}
	call := conn.DrainEngine
	if undo {
		call = conn.UndrainEngine
	}
	if _, err := receive(call(ctx, id)); err != nil {
		return unsure(err)
	}
	return c.awaitDrain(ctx, conn, id, !undo, wait)
}

// awaitDrain waits until an engine is as it was told, and prints that.
func (c *cli) awaitDrain(ctx context.Context, conn *connection, id string, drain bool, wait time.Duration) error {
	for deadline := time.Now().Add(wait); ; {
		e, raw, err := get[client.EngineStatus](conn.GetEngineStatus(ctx, id))
		if err != nil {
			return err
		}
		text, done := drainProgress(&e, drain)
		switch {
		case done || wait <= 0:
			return c.show(raw, func() [][]string { return [][]string{{text}} })
		case time.Now().After(deadline):
			return failf(exitUnknown, "%s after %s; it goes on", text, wait)
		}
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// drainProgress says how far an engine is with being drained, or with taking work again.
func drainProgress(e *client.EngineStatus, drain bool) (text string, done bool) {
	switch {
	case !drain && e.Draining:
		return "the engine " + e.Name + " is about to take its share of the work", false
	case !drain:
		return "the engine " + e.Name + " takes its share of the work", true
	case e.Draining && len(e.Owned) == 0:
		return "the engine " + e.Name + " is drained", true
	case len(e.Owned) == 0:
		return "the engine " + e.Name + " hands over its work", false
	}
	return "the engine " + e.Name + " hands over its work and still does " + amounts(e.Owned), false
}

// findEngine returns the id of an engine by its name or id.
func findEngine(ctx context.Context, conn *connection, name string) (string, error) {
	list, _, err := get[client.EngineList](conn.ListEngines(ctx))
	if err != nil {
		return "", err
	}
	var ids []string
	for _, e := range list.Engines {
		if e.ID == name {
			return name, nil
		}
		if e.Name == name {
			ids = append(ids, e.ID)
		}
	}
	switch len(ids) {
	case 0:
		return "", failf(exitNotFound, "there is no engine %q", name)
	case 1:
		return ids[0], nil
	}
	return "", fmt.Errorf("several engines have the name %q; use an ID: %s", name, strings.Join(ids, ", "))
}

func engineState(e *client.EngineStatus) string {
	switch {
	case e.Draining && len(e.Owned) > 0:
		return "draining"
	case e.Draining:
		return "drained"
	}
	return "active"
}

// amounts says how much work of which kinds there is.
func amounts(owned map[string]int) string {
	list := make([]string, 0, len(owned))
	for _, kind := range slices.Sorted(maps.Keys(owned)) {
		list = append(list, fmt.Sprintf("%s %d", kind, owned[kind]))
	}
	return strings.Join(list, ", ")
}

func seconds(ms float64) string { return number(ms/1000) + " s" }
