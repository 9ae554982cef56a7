package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/otkit/otkit/openapi/client"
)

func deviceCommands() []command {
	return []command{
		{name: "devices list", about: "List devices", run: func(ctx context.Context, c *cli, _ []string) error {
			conn, err := c.connect()
			if err != nil {
				return err
			}
			list, raw, err := get[[]client.Device](conn.ListDevices(ctx))
			if err != nil {
				return err
			}
			return c.show(raw, func() [][]string {
				rows := [][]string{{"ID", "STATE", "EMERGENCY STOP", "LAST SEEN", "NAME"}}
				for _, d := range list {
					rows = append(rows, []string{d.DeviceID, string(d.CurrentState), yesNo(d.EmergencyStopLatched), local(d.LastSeen), d.Name})
				}
				return rows
			})
		}},
		commandDeviceCommand(), deviceOutcomeCommand(), listDeviceCommandsCommand(), deviceZonesCommand(),
	}
}

func deviceZonesCommand() command {
	var area string
	return command{name: "devices zones", about: "List the zones by which commands are judged",
		flags: func(f *flag.FlagSet) { f.StringVar(&area, "map", "", "only zones of this `MAP`") },
		run: func(ctx context.Context, c *cli, _ []string) error {
			conn, err := c.connect()
			if err != nil {
				return err
			}
			list, raw, err := get[client.DeviceZones](conn.ListDeviceZones(ctx, &client.ListDeviceZonesParams{Map: area}))
			if err != nil {
				return err
			}
			return c.show(raw, func() [][]string {
				rows := [][]string{{"MAP", "NAME", "KIND", "MAX SPEED", "CORNERS"}}
				for _, z := range list.Zones {
					limit, corners := "", 0
					if z.MaxSpeed > 0 {
						limit = strconv.FormatFloat(z.MaxSpeed, 'g', -1, 64) + " m/s"
					}
					for _, ring := range z.Rings {
						corners += len(ring)
					}
					rows = append(rows, []string{z.Map, z.Name, string(z.Kind), limit, strconv.Itoa(corners)})
				}
				return rows
			})
		}}
}

func commandDeviceCommand() command {
	var (
		id       string
		priority int
		wait     time.Duration
	)
	return command{name: "devices command", args: "DEVICE COMMAND [NAME=VALUE...]", about: "Give a device a command and tell the outcome", least: 2, most: -1,
		takes: []string{"device", "=MoveTo PickUp Release EmergencyStop ResetEmergencyStop", ""},
		flags: func(f *flag.FlagSet) {
			f.StringVar(&id, "id", "", "`ID` of the command (default: a random one)")
			f.IntVar(&priority, "priority", 0, "of two commands that wait, the higher one is first")
			f.DurationVar(&wait, "wait", 2*time.Minute, "how long to wait for the outcome")
		},
		run: func(ctx context.Context, c *cli, args []string) error {
			parameters, err := parametersOf(args[2:])
			if err != nil {
				return err
			}
			conn, err := c.connect()
			if err != nil {
				return err
			}
			asked := client.DeviceCommand{CommandID: cmp.Or(id, uuid.NewString()), DeviceID: args[0], CommandType: args[1], Parameters: parameters, Priority: priority}
			r, raw, err := change[client.CommandResult](conn.SubmitDeviceCommand(withSilence(ctx, wait+30*time.Second), args[0], asked))
			if err != nil {
				if c.codeOf(err) == exitUnknown || ctx.Err() != nil {
					return failf(exitUnknown, "%w; see otctl devices outcome %s %s", err, args[0], asked.CommandID)
				}
				return err
			}
			if r.State == client.CommandQueued || r.State == client.CommandRunning {
				return c.commandOutcome(ctx, conn, args[0], asked.CommandID, wait)
			}
			err = c.show(raw, func() [][]string { return resultRows(r) })
			return errors.Join(commandError(args[0], r), err)
		}}
}

// parametersOf reads NAME=VALUE. A value that is JSON, such as a number, is taken as that; all others are texts.
func parametersOf(args []string) (map[string]any, error) {
	if len(args) == 0 {
		return nil, nil
	}
	parameters := make(map[string]any, len(args))
	for _, arg := range args {
		name, text, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return nil, usagef("parameter %q: NAME=VALUE is expected", arg)
		}
		var value any
		if json.Unmarshal([]byte(text), &value) != nil {
			value = text
		}
		parameters[name] = value
	}
	return parameters, nil
}

func resultRows(r client.CommandResult) [][]string {
	message := ""
	if r.Message != nil {
		message = *r.Message
	}
	return [][]string{{"COMMAND", "STATE", "COMPLETED", "MESSAGE"}, {r.CommandID, string(r.State), localPtr(r.CompletedAt), message}}
}

// commandError returns the error that stands for the exit code of an outcome.
func commandError(device string, r client.CommandResult) error {
	switch r.State {
	case client.CommandSucceeded:
		return nil
	case client.CommandFailed:
		return failf(exitFailed, "%s did not carry out the command", device)
	case client.CommandRefused, client.CommandCanceled:
		return failf(exitRefused, "the command was %s", strings.ToLower(string(r.State)))
	case client.CommandQueued, client.CommandRunning:
		return failf(exitUnknown, "the command has not ended yet: otctl devices outcome %s %s", device, r.CommandID)
	}
	return failf(exitUnknown, "it is not known what %s did (%s)", device, r.State)
}

func deviceOutcomeCommand() command {
	var wait time.Duration
	return command{name: "devices outcome", args: "DEVICE COMMAND-ID", about: "Tell what became of a command", least: 2, most: 2, takes: []string{"device", ""},
		flags: func(f *flag.FlagSet) { f.DurationVar(&wait, "wait", 0, "how long to wait for the outcome") },
		run: func(ctx context.Context, c *cli, args []string) error {
			conn, err := c.connect()
			if err != nil {
				return err
			}
			return c.commandOutcome(ctx, conn, args[0], args[1], wait)
		}}
}

// commandOutcome waits until a command has ended, and prints its outcome.
func (c *cli) commandOutcome(ctx context.Context, conn *connection, device, id string, wait time.Duration) error {
	var (
		record client.DeviceCommandRecord
		raw    []byte
		err    error
	)
	show := c.progress("waiting for "+device, 0)
	defer show.end()
	for tries, end := 0, time.Now().Add(wait); ; tries++ {
		record, raw, err = get[client.DeviceCommandRecord](conn.GetDeviceCommand(ctx, device, id))
		ended := err == nil && record.State != client.CommandQueued && record.State != client.CommandRunning
		if ended || time.Now().After(end) || c.codeOf(err) > exitFailed {
			break
		}
		show.draw(-1, string(record.State))
		if stopped := pause(ctx, tries); stopped != nil {
			return failf(exitUnknown, "interrupted; the command goes on: otctl devices outcome %s %s", device, id)
		}
	}
	show.end()
	if err != nil {
		return err
	}
	err = c.show(raw, func() [][]string { return resultRows(record.Result) })
	return errors.Join(commandError(device, record.Result), err)
}

func listDeviceCommandsCommand() command {
	var limit int
	return command{name: "devices commands", args: "DEVICE", about: "List the last commands of a device", least: 1, most: 1, takes: []string{"device"},
		flags: func(f *flag.FlagSet) { f.IntVar(&limit, "limit", 20, "list at most `N` commands, up to 500") },
		run: func(ctx context.Context, c *cli, args []string) error {
			conn, err := c.connect()
			if err != nil {
				return err
			}
			page, raw, err := get[client.DeviceCommandPage](conn.ListDeviceCommands(ctx, args[0], &client.ListDeviceCommandsParams{Limit: &limit}))
			if err != nil {
				return err
			}
			return c.show(raw, func() [][]string {
				rows := [][]string{{"TIME", "COMMAND", "STATE", "BY", "ID", "MESSAGE"}}
				for _, d := range page.Commands {
					message := ""
					if d.Result.Message != nil {
						message = *d.Result.Message
					}
					rows = append(rows, []string{local(d.IssuedAt), d.CommandType, string(d.State), d.IssuedBy, d.CommandID, message})
				}
				return rows
			})
		}}
}
