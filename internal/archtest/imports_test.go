package archtest

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// holders says which packages alone import a library, so that it can be replaced.
var holders = map[string][]string{
	"github.com/aas-core-works/": {"aas/aasx"},
	"github.com/libp2p/zeroconf": {"discovery/mdns"},
	"github.com/miekg/dns":       {"discovery/mdns"},
	"github.com/nats-io/nats.go": {"cluster/bus/natsbus"},
	// It makes a program 12 MB larger.
	"github.com/nats-io/nats-server/": {"cluster/bus/natsbus/embedded"},
	// Everybody else works with the interfaces that they need of a dispatcher.
	module + "alerting/dispatch": {"transport/alertingapi/alertingpart", "internal/engineconfig", "examples/custom-channel", "examples/custom-alert-history", "examples/custom-outbox", "examples/embed-alarms"},
}

func TestLibrariesHaveOneHome(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Imports", "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	require.NoError(t, err)
	seen := make(map[string]bool)
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else {
			require.NoError(t, err)
		}
		for library, homes := range holders {
			if !slices.ContainsFunc(p.Imports, func(i string) bool { return strings.HasPrefix(i, library) }) {
				continue
			}
			path := strings.TrimPrefix(p.ImportPath, module)
			require.Contains(t, homes, path, "%s imports %s", path, library)
			seen[path] = true
		}
	}
	for library, homes := range holders {
		for _, home := range homes {
			require.True(t, seen[home], "%s no longer imports %s", home, library)
		}
	}
}
