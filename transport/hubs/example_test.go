package hubs_test

import (
	"context"
	"fmt"
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting/silences"
	"github.com/otkit/otkit/transport/hubs"
)

// printer is a hub with one client, which prints.
type printer chan string

func (printer) Clients() int                               { return 1 }
func (printer) WaitForRoom(context.Context, time.Duration) {}
func (p printer) Broadcast(method string, args ...any) error {
	p <- fmt.Sprint(method, " ", args[0])
	return nil
}

func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	service, err := alarms.New(ctx, alarms.NewMemory(), alarms.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer service.Close(ctx)
	quiet, err := silences.New(silences.NewMemory(), silences.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	client := make(printer)
	dashboard, err := hubs.NewDashboard(client, service, quiet, hubs.DashboardOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	go dashboard.Run(ctx)
	for i := 0; ; i++ { // until it follows the journal: it shows what is raised from then on
		if _, err = service.Raise(ctx, alarms.Alarm{Key: fmt.Sprint("pump ", i), Source: "pump", Message: "The pump is hot", Severity: alarms.Critical}); err != nil {
			fmt.Println(err)
			return
		}
		select {
		case message := <-client:
			fmt.Println(message)
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
	// Output: ReceiveAlarm The pump is hot
}
