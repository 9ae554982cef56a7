package dispatch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/internal/canon"
)

// maxTests bounds the recipients that a test notifies at the same time.
const maxTests = 8

// Test sends a message to every recipient of a channel now, without routes, outbox and rate limits. If the channel does not exist, Test
// returns [alerting.ErrChannelNotFound]; if it fails, [alerting.ErrChannelFailed] with the error of each recipient.
func (d *Dispatcher) Test(ctx context.Context, channel string) error {
	c := d.channels[channel]
	if c == nil {
		return alerting.ErrChannelNotFound.On("channel", channel)
	}
	ctx, cancel := context.WithTimeout(ctx, d.o.SendTimeout)
	defer cancel()
	recipients := recipientsOf(c)
	errs := make([]error, len(recipients))
	slots := make(chan struct{}, maxTests)
	var all sync.WaitGroup
	for i, r := range recipients {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			if err := d.testOne(ctx, c, r); err != nil && r != "" {
				errs[i] = fmt.Errorf("recipient %s: %w", r, err)
			} else {
				errs[i] = err
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return alerting.ErrChannelFailed.Because("%s", strings.ReplaceAll(err.Error(), "\n", "; ")).Wrap(err)
	}
	return nil
}

func (d *Dispatcher) testOne(ctx context.Context, c alerting.Channel, recipient string) error {
	if err := ctx.Err(); err != nil {
		return err // the others took all the time
	}
	id := d.o.NewID()
	return sendTo(ctx, c, alerting.Notification{
		ID: id, EventID: id, Channel: c.Name(), Recipient: recipient, Severity: alarms.Info, Source: "otkit", SourceType: "Equipment",
		Message: "Test message", Title: "Test message", Body: "This is a test of the channel " + c.Name() + ".", At: canon.Time(d.o.Now()),
	})
}
