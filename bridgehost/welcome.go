package bridgehost

import (
	"fmt"
	"strings"

	"github.com/otkit/otkit/internal/program"
)

// Welcome returns lines for who has started the bridge: where it is, and what comes next. They have the set-up code, if there is one.
func (b *Bridge) Welcome() string {
	o, scheme := &b.opts, "http"
	if o.Server.TLS != nil {
		scheme = "https"
	}
	url := scheme + "://(no port)"
	if a := b.Addr(); a != nil {
		url = scheme + "://" + program.Reachable(a)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "Bridge %s with the driver %s (%s)\nConsole: %s/\nAPI and its documentation: %s/docs\n", o.ID, o.Driver.ID, o.Driver.Type, url, url)
	if engine := b.host.Status().BoundEngineID; engine != "" {
		fmt.Fprintf(&text, "Bound to the engine %s\n", engine)
	} else {
		fmt.Fprintf(&text, "Not bound. An engine finds it with GET /api/discovery/scan and binds it with POST /api/discovery/bind {\"bridgeId\": %q, \"bridgeUrl\": %q}\n", o.ID, url)
	}
	if b.setupCode != "" {
		fmt.Fprintf(&text, "No account yet: make it in the console, or with POST %s/api/bridge/auth/setup {\"username\": ..., \"password\": ...}, from other machines also with the set-up code \"setupCode\": %q\n", url, b.setupCode)
	}
	return text.String()
}
