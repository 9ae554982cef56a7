package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"strings"

	"github.com/otkit/otkit/openapi/client"
)

func driverCommands() []command {
	var points int
	return []command{
		{name: "drivers list", about: "Show how each driver is doing", run: func(ctx context.Context, c *cli, _ []string) error {
			conn, err := c.connect()
			if err != nil {
				return err
			}
			list, raw, err := get[[]client.DriverStatus](conn.ListDrivers(ctx))
			if err != nil {
				return err
			}
			return c.show(raw, func() [][]string {
				rows := [][]string{{"ID", "TYPE", "STATE", "ENGINE", "TAGS", "SAMPLES/S", "ROUND TRIP", "CYCLES", "ERROR"}}
				for _, d := range list {
					rows = append(rows, []string{d.DriverID, d.Type, string(d.State), cmp.Or(d.Engine, "-"), fmt.Sprint(d.TagCount), number(d.SamplesPerSecond), number(d.RoundTripMeanMs) + " ms", cycles(d), d.LastError})
				}
				return rows
			})
		}},
		{name: "drivers test", args: "ID", about: "Try the device of a driver beside the running one", least: 1, most: 1, takes: []string{"driver"},
			flags: func(f *flag.FlagSet) { f.IntVar(&points, "points", 20, "read at most `N` points, up to 200") },
			run:   func(ctx context.Context, c *cli, args []string) error { return c.testDriver(ctx, args[0], points) }},
	}
}

// cycles shows the polling cycles that are reached, and those that are wanted.
func cycles(d client.DriverStatus) string {
	list := make([]string, 0, len(d.Cycles))
	for _, cycle := range d.Cycles {
		list = append(list, number(cycle.ReachedMs)+"/"+number(cycle.IntervalMs)+" ms")
	}
	return strings.Join(list, ", ")
}

func (c *cli) testDriver(ctx context.Context, id string, points int) error {
	conn, err := c.connect()
	if err != nil {
		return err
	}
	trial, raw, err := get[client.DriverTrial](conn.TestDriver(ctx, id, &client.TestDriverParams{Points: points}))
	if err != nil {
		return err
	}
	err = c.show(raw, func() [][]string {
		rows := [][]string{{"POINT", "ADDRESS", "VALUE", "QUALITY", "ERROR"}}
		for _, p := range trial.Points {
			rows = append(rows, []string{p.Name, p.Address, valueText(p.Value), string(p.Quality), p.Error})
		}
		return rows
	})
	switch {
	case err != nil:
		return err
	case !trial.Connected:
		reason := trial.Error
		if trial.InUseBy != "" {
			reason += "; the driver " + trial.InUseBy + " uses the device"
		}
		return fmt.Errorf("no connection to the device of %s: %s", id, reason)
	case !trial.Ok:
		return fmt.Errorf("not every point of %s was read", id)
	}
	return nil
}
