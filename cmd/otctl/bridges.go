package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"time"

	"github.com/otkit/otkit/openapi/client"
)

func bridgeCommands() []command {
	return []command{scanCommand(), listBridgesCommand(), bindCommand(),
		{name: "bridges unbind", args: "BRIDGE-ID", about: "Release a bridge; its history and shell stay", least: 1, most: 1, takes: []string{"bridge"},
			run: func(ctx context.Context, c *cli, args []string) error {
				conn, err := c.connect()
				if err != nil {
					return err
				}
				_, err = receive(conn.UnbindBridge(ctx, args[0]))
				return unsure(err)
			}}}
}

// scan looks for bridges, which takes as long as it is told to.
func (c *cli) scan(ctx context.Context, conn *connection, seconds int, all bool) ([]client.BridgeInfo, []byte, error) {
	free := !all
	show := c.progress("looking for bridges", 0)
	done := show.clock(time.Duration(seconds) * time.Second)
	defer done()
	return get[[]client.BridgeInfo](conn.ScanBridges(ctx, &client.ScanBridgesParams{TimeoutSeconds: &seconds, ExcludeBound: &free}))
}

func scanCommand() command {
	var (
		seconds int
		all     bool
	)
	return command{name: "bridges scan", about: "Look for bridges on the engine's network",
		flags: func(f *flag.FlagSet) {
			f.IntVar(&seconds, "seconds", 5, "how long to look, 1 to 30")
			f.BoolVar(&all, "all", false, "also bridges that are bound")
		},
		run: func(ctx context.Context, c *cli, _ []string) error {
			conn, err := c.connect()
			if err != nil {
				return err
			}
			found, raw, err := c.scan(ctx, conn, seconds, all)
			if err != nil {
				return err
			}
			return c.show(raw, func() [][]string {
				rows := [][]string{{"ID", "STATUS", "DRIVER", "TAGS", "URL", "NAME", "LOCATION", "VERSION"}}
				for _, b := range found {
					rows = append(rows, []string{b.BridgeID, string(b.Status), b.DriverType, fmt.Sprint(b.TagCount), b.BaseURL, b.Name, b.Location, b.Version})
				}
				return rows
			})
		}}
}

func listBridgesCommand() command {
	return command{name: "bridges list", about: "List bound bridges", run: func(ctx context.Context, c *cli, _ []string) error {
		conn, err := c.connect()
		if err != nil {
			return err
		}
		bound, raw, err := get[[]client.BridgeBindingStatus](conn.ListBindings(ctx))
		if err != nil {
			return err
		}
		return c.show(raw, func() [][]string {
			rows := [][]string{{"ID", "ONLINE", "LINK", "DRIVER", "TAGS", "WAITING", "LOST SAMPLES", "HEARTBEAT", "URL"}}
			for _, b := range bound {
				link := "closed"
				if b.IsLinkOpen {
					link = "open"
				}
				rows = append(rows, []string{b.BridgeID, yesNo(b.IsOnline), link, b.DriverID, fmt.Sprint(b.TagCount), waiting(b), fmt.Sprint(b.LostSamples), localPtr(b.LastHeartbeatAt), b.BaseURL})
			}
			return rows
		})
	}}
}

// waiting returns what waits at a bridge, and since when.
func waiting(b client.BridgeBindingStatus) string {
	w := b.Buffer
	switch {
	case w.At.IsZero():
		return ""
	case w.Waiting > 0 && !w.OldestAt.IsZero():
		return fmt.Sprintf("%d since %s", w.Waiting, local(w.OldestAt))
	}
	return fmt.Sprint(w.Waiting)
}

func bindCommand() command {
	var secret bool
	return command{name: "bridges bind", args: "BRIDGE-ID [URL]", about: "Bind a bridge; without its URL it is looked for", least: 1, most: 2, takes: []string{""},
		flags: func(f *flag.FlagSet) {
			f.BoolVar(&secret, "secret-stdin", false, "read the bridge's bind secret from the standard input")
		},
		run: func(ctx context.Context, c *cli, args []string) error {
			conn, err := c.connect()
			if err != nil {
				return err
			}
			request := client.BindBridgeRequest{BridgeID: args[0]}
			if secret {
				if request.BindSecret, err = interruptible(ctx, func() (string, error) { return line(bufio.NewReader(c.in)) }); err != nil {
					return fmt.Errorf("read the secret: %w", err)
				}
			}
			if len(args) > 1 {
				request.BridgeURL = args[1]
			} else if request.BridgeURL, err = c.lookFor(ctx, conn, args[0]); err != nil {
				return err
			}
			bound, raw, err := change[client.BindBridgeResult](conn.BindBridge(ctx, request))
			if err != nil {
				return err
			}
			return c.show(raw, func() [][]string {
				b := bound.Binding
				return [][]string{{"ID", "DRIVER TYPE", "TAGS", "ONLINE", "URL"}, {b.BridgeID, b.DriverType, fmt.Sprint(len(bound.Manifest.Tags)), yesNo(b.IsOnline), b.BaseURL}}
			})
		}}
}

func (c *cli) lookFor(ctx context.Context, conn *connection, id string) (string, error) {
	found, _, err := c.scan(ctx, conn, 5, true)
	if err != nil {
		return "", err
	}
	for _, b := range found {
		if b.BridgeID == id {
			return b.BaseURL, nil
		}
	}
	return "", failf(exitNotFound, "the bridge %s was not found on the network; give its URL", id)
}
