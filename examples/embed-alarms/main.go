// How do I use tags, alarm rules and a channel of my own in one program? A simulated pressure swings around a limit;
// a rule raises an alarm, and the channel prints a line for it. With -db alarms, rules and messages are in a database
// and survive a restart:
//
//	go run ./examples/embed-alarms -db /tmp/plant
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/otkit/otkit/alerting"
)

// printer is a channel: it writes a line for each message.
type printer struct{ out io.Writer }

// Name implements alerting.Channel. Routes use it.
func (*printer) Name() string { return "printer" }

// Send implements alerting.Channel.
func (p *printer) Send(_ context.Context, n alerting.Notification) error {
	if _, err := fmt.Fprintln(p.out, n.Title); err != nil {
		return alerting.Retryable(err, 0) // not written: try again
	}
	return nil
}

func main() {
	dir := flag.String("db", "", "`directory` of the database; without it everything is in memory")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *dir, &printer{out: os.Stdout}); err != nil {
		log.Fatal(err)
	}
}

// run watches the pressure until ctx ends.
func run(ctx context.Context, dir string, channel alerting.Channel) (err error) {
	s, err := open(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(context.WithoutCancel(ctx))) }()
	p, err := newPlant(ctx, s, channel)
	if err != nil {
		return err
	}
	<-ctx.Done()
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return p.close(ending)
}
