package enginealarms_test

import (
	"context"
	"fmt"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/enginealarms"
	"github.com/otkit/otkit/cluster"
)

// hall has two engines, one of which is lost. In an application, a cluster.Member tells.
type hall struct{}

func (hall) Alive() []string { return []string{"e1"} }

func (hall) Lost() []cluster.Loss {
	return []cluster.Loss{{Session: cluster.Session{ID: "run-7", Engine: "e2", Name: "two", Host: "press-hall"}}}
}

func (hall) Forget(context.Context, string) error { return nil }

func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	service, err := alarms.New(ctx, alarms.NewMemory(), alarms.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = service.Close(context.Background()) }()
	raised, err := service.Subscribe(alarms.SubscribeOptions{})
	if err != nil {
		panic(err)
	}
	defer raised.Close()
	monitor, err := enginealarms.New(hall{}, service, enginealarms.Options{})
	if err != nil {
		panic(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		monitor.Run(ctx)
	}()
	events, err := raised.Next(ctx, 1)
	if err != nil {
		panic(err)
	}
	fmt.Println(events[0].Kind, events[0].Occurrence.Message)
	cancel()
	<-done
	// Output: Raised Engine two on press-hall is lost: it was killed, hangs or does not reach the database
}
