// How do I try an engine with many bridges? This program is 50 simulated bridges in one process, each with its own port. With -engine it
// has an engine bind them all.
//
//	go run ./examples/bridge-fleet -engine http://localhost:5001 -password PASSWORD
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/otkit/otkit/bridgehost"
	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/discovery/mdns"
	"github.com/otkit/otkit/openapi/client"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/simdriver"
	"github.com/otkit/otkit/transport/bridgelink"
	"github.com/otkit/otkit/transport/server"
)

type options struct {
	bridges, tags int
	dir, host     string
	engine        string // URL; empty: nobody binds the bridges
	password      string // of the engine's admin
	announce      bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var o options
	flag.IntVar(&o.bridges, "n", 50, "number of bridges")
	flag.IntVar(&o.tags, "tags", 20, "tags of each bridge, which change every second")
	flag.StringVar(&o.dir, "data", "fleet-data", "data directory `DIR`")
	flag.StringVar(&o.host, "host", "127.0.0.1", "address to listen on")
	flag.StringVar(&o.engine, "engine", "", "`URL` of an engine that binds the bridges")
	flag.StringVar(&o.password, "password", "", "password of the engine's admin")
	flag.BoolVar(&o.announce, "announce", false, "announce the bridges by mDNS")
	flag.Parse()
	if err := run(ctx, o, func([]*bridgehost.Bridge) {}); err != nil {
		log.Fatal(err)
	}
}

// run runs the bridges until ctx ends, and calls ready when they serve and, with an engine, are bound.
func run(ctx context.Context, o options, ready func([]*bridgehost.Bridge)) error {
	fleet, ctx := errgroup.WithContext(ctx)
	var bridges []*bridgehost.Bridge
	for i := range o.bridges {
		b, err := newBridge(ctx, o, i+1)
		if err != nil {
			log.Printf("bridge %d: %v", i+1, err)
			return fleet.Wait()
		}
		bridges = append(bridges, b)
		fleet.Go(func() error { return b.Run(ctx, 10*time.Second) })
	}
	fleet.Go(func() error {
		if o.engine != "" {
			if err := bindAll(ctx, o, bridges); err != nil {
				return err
			}
		}
		fmt.Printf("%d bridges with %d tags each\n", len(bridges), o.tags)
		ready(bridges)
		return nil
	})
	return fleet.Wait()
}

func newBridge(ctx context.Context, o options, number int) (*bridgehost.Bridge, error) {
	id := fmt.Sprintf("sim-%03d", number)
	driver, err := simdriver.New(simdriver.Options{DeviceCount: 1, TagsPerDevice: o.tags, Seed: uint64(number)}) //nolint:gosec // not negative
	if err != nil {
		return nil, err
	}
	list, err := driver.Browse(ctx)
	if err != nil {
		return nil, err
	}
	for i := range list {
		list[i].Name = id + "." + list[i].Name
	}
	bo := bridgehost.Options{
		ID: id, DataDir: filepath.Join(o.dir, id), Location: "Hall " + strconv.Itoa(1+number/10),
		Server: server.Options{Listen: net.JoinHostPort(o.host, "0"), Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))},
		Driver: bridgehost.Driver{ID: id, Type: simdriver.TypeName, Driver: driver, Options: tags.DriverOptions{Tags: list}},
		Link: bridgehost.LinkOptions{Dial: func(ctx context.Context, url string, pins []string) (link.BridgeConn, error) {
			return bridgelink.Dial(ctx, bridgelink.DialOptions{URL: url, Pins: pins})
		}},
	}
	if o.announce {
		bo.Advertise = func(id string, port int, text []string) (bridgehost.Advertisement, error) {
			return mdns.Advertise(mdns.Service{Instance: id, Type: discovery.BridgeService, Port: port, Text: text}, mdns.Options{})
		}
	}
	return bridgehost.New(ctx, bo)
}

// bindAll has the engine bind the bridges that are free.
func bindAll(ctx context.Context, o options, bridges []*bridgehost.Bridge) error {
	api, err := client.NewClientWithResponses(o.engine)
	if err != nil {
		return err
	}
	login, err := api.LoginWithResponse(ctx, client.LoginRequest{Username: "admin", Password: o.password})
	if err != nil {
		return err
	}
	if login.JSON200 == nil {
		return fmt.Errorf("log in at %s: %s", o.engine, login.Body)
	}
	token := func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+login.JSON200.AccessToken)
		return nil
	}
	for _, b := range bridges {
		if b.Host().Status().Status != link.StatusFree {
			continue // it was bound before this start
		}
		answer, err := api.BindBridgeWithResponse(ctx, client.BindBridgeRequest{BridgeID: b.ID(), BridgeURL: "http://" + b.Addr().String()}, token)
		if err != nil {
			return err
		}
		if answer.JSON200 == nil {
			return fmt.Errorf("bind %s: %s", b.ID(), answer.Body)
		}
	}
	return nil
}
