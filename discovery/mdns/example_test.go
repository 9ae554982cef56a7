package mdns_test

import (
	"context"
	"fmt"
	"time"

	"github.com/otkit/otkit/discovery/mdns"
)

func Example() {
	advertisement, err := mdns.Advertise(mdns.Service{Instance: "press-7", Type: "_example._tcp", Port: 5002,
		Text: []string{"status=free"}}, mdns.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = advertisement.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	found, err := mdns.NewScanner(mdns.ScannerOptions{}).Scan(ctx, "_example._tcp")
	if err != nil {
		fmt.Println(err) // there is no network
		return
	}
	for _, f := range found {
		fmt.Println(f.Instance, f.URLs("http"), f.Text["status"])
	}
}
