package bridgeclient_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/otkit/otkit/discovery/bridgeclient"
)

func Example() {
	bridge := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"bridgeId": "press-1", "status": "free"}`)
	}))
	defer bridge.Close()
	client, err := bridgeclient.New(bridgeclient.Options{})
	if err != nil {
		panic(err)
	}
	defer client.Close()
	status, err := client.Status(context.Background(), bridge.URL)
	fmt.Println(status.BridgeID, status.Status, err)
	// Output: press-1 free <nil>
}
