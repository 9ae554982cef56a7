// How do I follow tags over gRPC? With the client that is generated from the protos: log in over REST
// for a token, then stream changes in batches.
//
//	OTKIT_PASSWORD=... go run ./examples/client-grpc
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	platformv1 "github.com/otkit/otkit/proto/platform/v1"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	addr := cmp.Or(os.Getenv("OTKIT_ADDR"), "localhost:5001")
	if err := run(ctx, addr, cmp.Or(os.Getenv("OTKIT_USER"), "admin"), os.Getenv("OTKIT_PASSWORD"), 10); err != nil {
		log.Fatal(err)
	}
}

// run prints so many messages of the stream.
func run(ctx context.Context, addr, user, password string, messages int) error {
	token, err := login(ctx, addr, user, password)
	if err != nil {
		return err
	}
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
	stream, err := platformv1.NewPlatformApiClient(conn).StreamTagChanges(ctx, &platformv1.StreamTagChangesRequest{
		NamePatterns: []string{"sim.%"}, ThrottleMs: proto(500),
	})
	if err != nil {
		return err
	}
	for range messages {
		message, err := stream.Recv()
		if err != nil {
			return err
		}
		for _, c := range message.GetChanges() {
			fmt.Println(c.GetTagName(), c.GetNewValue(), c.GetQuality())
		}
	}
	return nil
}

func proto(n int32) *int32 { return &n }

func login(ctx context.Context, addr, user, password string) (string, error) {
	body, err := json.Marshal(map[string]string{"username": user, "password": password})
	if err != nil {
		return "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr+"/api/v1/auth/login", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	var tokens struct{ AccessToken string }
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("login: %s", answer.Status)
	}
	err = json.NewDecoder(answer.Body).Decode(&tokens)
	return tokens.AccessToken, err
}
