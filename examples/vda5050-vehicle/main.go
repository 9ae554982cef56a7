// This program is a vehicle that speaks VDA 5050 version 2.1 over MQTT, for trying out a fleet without one:
//
//	go run ./examples/vda5050-vehicle -broker mqtt://127.0.0.1:1883 -serial agv-1
//
// It drives straight to the last node of an order, picks up and drops with a wait, and knows the instant actions cancelOrder,
// startPause, stopPause, stateRequest and factsheetRequest. With -count it is several vehicles, side by side, each with a connection of its own:
// -count 1000 -every 100ms -serial agv-1 is agv-1 to agv-1000, which together send 10,000 messages a second.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/url"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/eclipse/paho.golang/autopaho"
	"github.com/eclipse/paho.golang/paho"
	"golang.org/x/sync/errgroup"
)

func main() {
	broker := flag.String("broker", "mqtt://127.0.0.1:1883", "`URL` of the broker")
	manufacturer := flag.String("manufacturer", "otkit", "first part of its topics")
	serial := flag.String("serial", "agv-1", "second part of its topics; further vehicles count up from it")
	count := flag.Int("count", 1, "`number` of vehicles")
	every := flag.Duration("every", time.Second, "`interval` between two states of a vehicle that does nothing, at least 100ms")
	place := flag.String("map", "hall", "name of its map")
	x := flag.Float64("x", 0, "where it stands, in metres; further vehicles stand 2 m apart, 100 in a row")
	y := flag.Float64("y", 0, "where it stands, in metres")
	speed := flag.Float64("speed", 1, "its highest speed in m/s")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	vehicles, ctx := errgroup.WithContext(ctx)
	for i := range *count {
		v := newVehicle(position{X: *x + float64(i%100*2), Y: *y + float64(i/100*2), MapID: *place, Initialized: true}, *speed, *every)
		vehicles.Go(func() error { return run(ctx, *broker, *manufacturer, number(*serial, i), v) })
		time.Sleep(time.Millisecond) // so that they do not all send at the same moment
	}
	if err := vehicles.Wait(); err != nil {
		log.Fatal(err)
	}
}

// number returns the serial number of the vehicle i: after agv-09 comes agv-10.
func number(first string, i int) string {
	if i == 0 {
		return first
	}
	name := strings.TrimRight(first, "0123456789")
	n, _ := strconv.Atoi(first[len(name):]) // 0 without digits
	return fmt.Sprintf("%s%0*d", name, len(first)-len(name), n+i)
}

// run connects the vehicle and moves it until ctx ends.
func run(ctx context.Context, broker, manufacturer, serial string, v *vehicle) error {
	u, err := url.Parse(broker)
	if err != nil {
		return err
	}
	link := &link{base: fmt.Sprintf("uagv/v2/%s/%s/", manufacturer, serial), manufacturer: manufacturer, serial: serial, headers: map[string]int{}}
	messages := make(chan *paho.Publish, 100)
	will, err := link.encode("connection", &connection{State: "CONNECTIONBROKEN"})
	if err != nil {
		return err
	}
	ups := make(chan struct{}, 1)
	var hears atomic.Bool // orders: before, a state would invite one that gets lost
	link.conn, err = autopaho.NewConnection(context.Background(), autopaho.ClientConfig{ServerUrls: []*url.URL{u}, KeepAlive: 5, CleanStartOnInitialConnection: true,
		WillMessage:      &paho.WillMessage{Topic: link.base + "connection", Payload: will, QoS: 1, Retain: true},
		ReconnectBackoff: autopaho.NewConstantBackoff(500 * time.Millisecond),
		OnConnectionUp:   func(*autopaho.ConnectionManager, *paho.Connack) { ups <- struct{}{} },
		OnConnectionDown: func() bool { hears.Store(false); return true },
		ClientConfig: paho.ClientConfig{ClientID: manufacturer + "-" + serial, OnPublishReceived: []func(paho.PublishReceived) (bool, error){
			func(p paho.PublishReceived) (bool, error) { messages <- p.Packet; return true, nil }}}})
	if err != nil {
		return err
	}
	ticker := time.NewTicker(step)
	defer ticker.Stop()
	for {
		err = nil
		changed := false
		select {
		case <-ctx.Done():
			leaving, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			err := link.publish(leaving, "connection", &connection{State: "OFFLINE"}, 1, true)
			_ = link.conn.Disconnect(leaving) // the program ends in any case
			return err
		case <-ups:
			if err = link.greet(ctx); err == nil {
				hears.Store(true)
				err = link.publish(ctx, "connection", &connection{State: "ONLINE"}, 1, true)
			}
			changed = true
		case m := <-messages:
			if err, changed = v.handle(m.Topic[len(link.base):], m.Payload), true; v.asked {
				err = errors.Join(err, link.publish(ctx, "factsheet", v.factsheet(), 0, true))
			}
		case <-ticker.C:
			changed = v.move()
		}
		if err == nil && hears.Load() && (changed || time.Since(v.reported) > v.every-step/2) {
			v.reported = time.Now()
			err = link.publish(ctx, "state", &v.state, 0, false)
		}
		if err != nil {
			log.Print(err)
		}
	}
}

// link is the connection of a vehicle.
type link struct {
	base, manufacturer, serial string
	headers                    map[string]int
	conn                       *autopaho.ConnectionManager
}

func (l *link) greet(ctx context.Context) error {
	_, err := l.conn.Subscribe(ctx, &paho.Subscribe{Subscriptions: []paho.SubscribeOptions{{Topic: l.base + "order"}, {Topic: l.base + "instantActions"}}})
	return err
}

func (l *link) encode(name string, m interface{ setHeader(header) }) ([]byte, error) {
	m.setHeader(header{HeaderID: l.headers[name], Timestamp: time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), Version: "2.1.0",
		Manufacturer: l.manufacturer, SerialNumber: l.serial})
	l.headers[name]++
	return json.Marshal(m)
}

func (l *link) publish(ctx context.Context, name string, m interface{ setHeader(header) }, qos byte, retain bool) error {
	data, err := l.encode(name, m)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_, err = l.conn.Publish(ctx, &paho.Publish{Topic: l.base + name, Payload: data, QoS: qos, Retain: retain})
	return err
}
