// How do I call the engine over REST? With the client that is generated from the OpenAPI document:
// log in, read a tag, write a setpoint and see what became of the write.
//
//	OTKIT_PASSWORD=... go run ./examples/client-rest
package main

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/otkit/otkit/openapi/client"
)

func main() {
	url := cmp.Or(os.Getenv("OTKIT_URL"), "http://localhost:5001")
	if err := run(context.Background(), url, cmp.Or(os.Getenv("OTKIT_USER"), "admin"), os.Getenv("OTKIT_PASSWORD")); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, url, user, password string) error {
	api, err := client.NewClientWithResponses(url)
	if err != nil {
		return err
	}
	login, err := api.LoginWithResponse(ctx, client.LoginRequest{Username: user, Password: password})
	if err != nil {
		return err
	}
	if login.JSON200 == nil {
		return fmt.Errorf("login: %s", login.Status())
	}
	bearer := func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+login.JSON200.AccessToken)
		return nil
	}

	read, err := api.ReadTagWithResponse(ctx, "sim.temperature", bearer)
	if err != nil {
		return err
	}
	if read.JSON200 == nil {
		return fmt.Errorf("read: %s", read.Status())
	}
	tag := read.JSON200.Tag
	fmt.Println(tag.Name, tag.CurrentValue, tag.Unit, tag.Quality)

	value := "70.5"
	write, err := api.WriteTagWithResponse(ctx, "sim", "setpoint", nil, client.WriteRequest{Value: &value, Confirm: true}, bearer)
	if err != nil {
		return err
	}
	if write.JSON200 == nil {
		return fmt.Errorf("write: %s %s", write.Status(), write.Body)
	}
	for range 20 {
		outcome, err := api.GetWriteWithResponse(ctx, write.JSON200.WriteID, nil, bearer)
		if err != nil {
			return err
		}
		if outcome.JSON200 == nil {
			return fmt.Errorf("outcome: %s", outcome.Status())
		}
		if outcome.JSON200.State != client.Queued {
			fmt.Println("sim.setpoint", outcome.JSON200.Value, outcome.JSON200.State, outcome.JSON200.Error)
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("the write is still queued")
}
