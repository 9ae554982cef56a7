package signalr_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/coder/websocket"

	"github.com/otkit/otkit/transport/signalr"
)

func Example() {
	ctx := context.Background()
	hub, err := signalr.New(signalr.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	mux.Handle("/hubs/alarms", hub)
	mux.Handle("/hubs/alarms/negotiate", hub)
	server := httptest.NewServer(mux)
	defer server.Close()
	defer func() { _ = hub.Close(ctx) }()

	// In a browser: new signalR.HubConnectionBuilder().withUrl("/hubs/alarms").build().
	client, _, err := websocket.Dial(ctx, server.URL+"/hubs/alarms", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = client.CloseNow() }()
	read := func() {
		_, data, err := client.Read(ctx)
		fmt.Printf("%q %v\n", data, err)
	}
	_ = client.Write(ctx, websocket.MessageText, []byte(`{"protocol":"json","version":1}`+"\x1e"))
	read()
	if err := hub.Broadcast("ReceiveAlarm", "Boiler 3: pressure is high", "Critical", "2026-01-02T03:04:05Z"); err != nil {
		fmt.Println(err)
	}
	read()
	// Output:
	// "{}\x1e" <nil>
	// "{\"type\":1,\"target\":\"ReceiveAlarm\",\"arguments\":[\"Boiler 3: pressure is high\",\"Critical\",\"2026-01-02T03:04:05Z\"]}\x1e" <nil>
}
