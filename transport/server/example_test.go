package server_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/otkit/otkit/engine"
	"github.com/otkit/otkit/tags/simdriver"
	"github.com/otkit/otkit/transport/server"
	"github.com/otkit/otkit/transport/tagsapi/tagspart"
)

func Example() {
	dir, err := os.MkdirTemp("", "otkit")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	driver, err := simdriver.New(simdriver.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	engine, err := engine.New(ctx, engine.Options{
		DataDir: dir,
		Server:  server.Options{Listen: "127.0.0.1:0"},
		Tags:    tagspart.Options{Drivers: []tagspart.Driver{{ID: "line1", Driver: driver}}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	engine.Start()
	answer, err := http.Get("http://" + engine.Addr().String() + "/health/live")
	if err != nil {
		fmt.Println(err)
		return
	}
	answer.Body.Close()
	fmt.Println(answer.StatusCode, len(engine.InitialAdminPassword()) > 0)

	stop, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	fmt.Println(engine.Close(stop))
	// Output:
	// 200 true
	// <nil>
}
