package oneport_test

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/otkit/otkit/transport/oneport"
)

func Example() {
	port, err := oneport.Listen(oneport.Options{Addr: "127.0.0.1:0"})
	if err != nil {
		fmt.Println(err)
		return
	}
	web := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "hello")
	})}
	calls := grpc.NewServer(grpc.Creds(oneport.Credentials()))
	grpc_health_v1.RegisterHealthServer(calls, health.NewServer())
	go func() { _ = web.Serve(port.HTTP()) }()
	go func() { _ = calls.Serve(port.GRPC()) }()
	go func() { _ = port.Serve(context.Background()) }()
	defer func() {
		_ = port.Close()
		calls.Stop()
		_ = web.Close()
	}()

	resp, err := http.Get("http://" + port.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	body, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	fmt.Println(string(body))

	conn, err := grpc.NewClient(port.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = conn.Close() }()
	answer, err := grpc_health_v1.NewHealthClient(conn).Check(context.Background(), &grpc_health_v1.HealthCheckRequest{})
	fmt.Println(answer.GetStatus(), err)
	// Output:
	// hello
	// SERVING <nil>
}
