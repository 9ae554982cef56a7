package bridgelink_test

import (
	"context"
	"fmt"
	"net"

	"google.golang.org/grpc"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/transport/bridgelink"
)

// greeter is a hub that welcomes every bridge; linked.Hub is one that serves them.
type greeter struct{}

func (greeter) Serve(_ context.Context, c link.EngineConn) error {
	f, err := c.Recv()
	if err != nil {
		return err
	}
	fmt.Println("bridge", f.Hello.BridgeID)
	return c.Send(link.FromEngine{Welcome: &link.Welcome{EngineID: "engine-1"}})
}

func Example() {
	server, err := bridgelink.NewServer(greeter{})
	if err != nil {
		fmt.Println(err)
		return
	}
	g := grpc.NewServer()
	defer g.Stop()
	server.Register(g)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	go func() { _ = g.Serve(l) }()

	conn, err := bridgelink.Dial(context.Background(), bridgelink.DialOptions{URL: "http://" + l.Addr().String()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = conn.Close() }()
	_ = conn.Send(link.FromBridge{Hello: &link.Hello{Protocol: link.Protocol, BridgeID: "press-1"}})
	f, err := conn.Recv()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("engine", f.Welcome.EngineID)
	// Output:
	// bridge press-1
	// engine engine-1
}
