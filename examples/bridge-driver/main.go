// How do I run a bridge with a driver of my own? Implement tags.Driver and give it to bridgehost.New: this one is a press whose speed
// the engine can set. Run it, then find and bind it from an engine as docs/discovery.md shows.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/otkit/otkit/bridgehost"
	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/discovery/bridge"
	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/discovery/mdns"
	"github.com/otkit/otkit/storage/bufferstore"
	"github.com/otkit/otkit/storage/sqlite"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/bridgelink"
	"github.com/otkit/otkit/transport/server"
)

// press is a machine that counts its strokes. A real driver speaks with the machine here.
type press struct {
	mu        sync.Mutex
	connected bool
	strokes   float64
	speed     float64 // strokes a minute
	moved     time.Time
}

func (p *press) Connect(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.connected, p.moved = ctx.Err() == nil, time.Now()
	return ctx.Err()
}

func (p *press) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.connected = false
	return nil
}

func (p *press) Read(ctx context.Context, points []tags.Point, out []tags.Reading) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.connected || ctx.Err() != nil {
		return errors.Join(ctx.Err(), tags.ErrNotConnected)
	}
	now := time.Now()
	p.strokes += p.speed * now.Sub(p.moved).Minutes()
	p.moved = now
	for i, point := range points {
		switch point.Address {
		case "strokes":
			out[i] = tags.Reading{Value: tags.IntValue(int64(p.strokes)), Quality: tags.Good}
		case "force":
			out[i] = tags.Reading{Value: tags.FloatValue(80 * math.Abs(math.Sin(math.Pi*p.strokes))), Quality: tags.Good}
		case "speed":
			out[i] = tags.Reading{Value: tags.FloatValue(p.speed), Quality: tags.Good}
		default:
			out[i].Err = fmt.Errorf("%w: %s", tags.ErrNoSuchAddress, point.Address)
		}
	}
	return nil
}

func (p *press) Write(ctx context.Context, items []tags.WriteItem, errs []error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.connected || ctx.Err() != nil {
		return errors.Join(ctx.Err(), tags.ErrNotConnected)
	}
	for i, item := range items {
		speed, ok := item.Value.Float()
		if item.Point.Address != "speed" || !ok {
			errs[i] = fmt.Errorf("%w: %s takes no such write", tags.ErrDevice, item.Point.Address)
			continue
		}
		p.speed = speed
	}
	return nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	listen := flag.String("listen", ":5100", "address `ADDR` to listen on")
	dir := flag.String("data", "press-data", "data directory `DIR`")
	flag.Parse()
	if err := run(ctx, *dir, *listen, func(b *bridgehost.Bridge) { fmt.Print(b.Welcome()) }); err != nil {
		log.Fatal(err)
	}
}

// run runs the bridge until ctx ends, and calls ready when it is made.
func run(ctx context.Context, dir, listen string, ready func(*bridgehost.Bridge)) error {
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	// What the engine does not have yet is in a file, and survives the end of the process.
	buffer, err := bufferstore.Open(ctx, sqlite.Files{}, bufferstore.Options{Path: filepath.Join(dir, "buffer.db"), Logger: logger})
	if err != nil {
		return err
	}
	defer buffer.Close(context.WithoutCancel(ctx))
	b, err := bridgehost.New(ctx, options(dir, listen, buffer, logger))
	if err != nil {
		return err
	}
	ready(b)
	return b.Run(ctx, 30*time.Second)
}

func options(dir, listen string, buffer bridge.Buffer, logger *slog.Logger) bridgehost.Options {
	return bridgehost.Options{
		DataDir: dir,
		Server:  server.Options{Listen: listen, Logger: logger},
		Driver: bridgehost.Driver{ID: "press", Type: "Press", Driver: &press{speed: 30},
			Options: tags.DriverOptions{PollInterval: 100 * time.Millisecond, Tags: []tags.Tag{
				{Name: "press.strokes", Address: "strokes", DataType: tags.Int},
				{Name: "press.force", Address: "force", DataType: tags.Float, Unit: "kN"},
				{Name: "press.speed", Address: "speed", DataType: tags.Float, Unit: "1/min", Access: tags.ReadWrite, Min: tags.Ptr(0), Max: tags.Ptr(120)},
			}}},
		Link: bridgehost.LinkOptions{Dial: func(ctx context.Context, url string, pins []string) (link.BridgeConn, error) {
			return bridgelink.Dial(ctx, bridgelink.DialOptions{URL: url, Pins: pins})
		}},
		Buffer: bridgehost.BufferOptions{Buffer: buffer, OnDisk: true},
		Advertise: func(id string, port int, text []string) (bridgehost.Advertisement, error) {
			return mdns.Advertise(mdns.Service{Instance: id, Type: discovery.BridgeService, Port: port, Text: text}, mdns.Options{Logger: logger})
		},
	}
}
