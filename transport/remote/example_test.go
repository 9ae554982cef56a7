package remote_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/otkit/otkit/transport/remote"
)

func ExampleProxies_HTTP() {
	trusted, err := remote.ParseNetworks([]string{"10.0.0.0/8"})
	if err != nil {
		fmt.Println(err)
		return
	}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.RemoteAddr = "10.0.0.1:4711"
	r.Header.Set("X-Forwarded-For", "192.0.2.7")
	caller := remote.Proxies{Trusted: trusted}.HTTP(r)
	fmt.Println(caller, caller.Known)
	caller = remote.Proxies{}.HTTP(r)
	fmt.Println(caller, caller.Known)
	// Output:
	// 192.0.2.7 true
	// 10.0.0.1 false
}
