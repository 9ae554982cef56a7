package simexec_test

import (
	"context"
	"fmt"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/devices/simexec"
)

func Example() {
	robots, err := simexec.New(simexec.Options{Robots: []simexec.Robot{{ID: "arm-1", Kind: simexec.Arm, Map: "hall"}}})
	if err != nil {
		panic(err)
	}
	_, err = robots.Execute(context.Background(), devices.Order{Command: devices.Command{DeviceID: "arm-1", Type: devices.Release}})
	fmt.Println(err)
	// Output: the robot carries nothing
}
