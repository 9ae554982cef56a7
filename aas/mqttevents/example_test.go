package mqttevents_test

import (
	"context"
	"fmt"
	"github.com/otkit/otkit/aas/mqttevents"
	"github.com/otkit/otkit/aas/repository"
)

func Example() {
	service, err := repository.New(repository.NewMemory(), repository.Options{})
	if err != nil {
		panic(err)
	}
	publisher, err := mqttevents.Connect(service, mqttevents.Options{
		URL: "mqtt://127.0.0.1:1", QoS: mqttevents.DefaultQoS, NewID: func() string { return "use a UUID here" },
	})
	if err != nil {
		panic(err)
	}
	defer func() { _ = publisher.Close(context.Background()) }()
	fmt.Println("a broker that is away is tried again")
	// Output: a broker that is away is tried again
}
