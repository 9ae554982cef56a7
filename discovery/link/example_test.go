package link_test

import (
	"fmt"

	"github.com/otkit/otkit/discovery/link"
)

func ExamplePipe() {
	bridge, engine := link.Pipe()
	go func() {
		_ = bridge.Send(link.FromBridge{Hello: &link.Hello{Protocol: link.Protocol, BridgeID: "press-1"}})
	}()
	f, err := engine.Recv()
	fmt.Println(f.Hello.BridgeID, err)
	link.CloseEngine(engine, link.ErrRefused)
	_, err = bridge.Recv()
	fmt.Println(err)
	// Output:
	// press-1 <nil>
	// the engine has no such binding
}
