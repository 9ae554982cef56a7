package archtest

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/otkit/otkit/"

// rule says what a package and those below it may not depend on, directly or through others.
type rule struct {
	packages  []string // below the module; a trailing / takes all below as well
	forbidden []string
	why       string
}

var (
	wire = []string{"net/http", "google.golang.org/grpc", "google.golang.org/grpc/", "github.com/go-chi/", module + "transport/", module + "openapi/", module + "proto/"}
	sql  = []string{"database/sql", "modernc.org/", "github.com/jackc/", module + "storage", module + "storage/"}
	rpc  = []string{"google.golang.org/grpc", "google.golang.org/grpc/", "github.com/coreos/", "github.com/prometheus/", "go.opentelemetry.io/"}
	conf = []string{module + "internal/settings", module + "internal/engineconfig"}
)

var rules = []rule{
	{[]string{"alarms"}, []string{module + "tags"}, "alarms imports no tags: who raises alarms needs neither drivers nor rules"},
	{[]string{"fault", "tags", "accounts", "alarms", "alerting", "tags/simdriver", "tags/driverconfig",
		"aas", "aas/aasxml", "aas/aasx"}, join(wire, sql, conf),
		"a domain package is small for those who import it alone"},
	{[]string{"alerting/channel/"}, join(wire[1:], sql, conf), "a channel knows its peer and the domain"},
	{[]string{"tags/modbus"}, join(wire[1:], sql, conf), "a driver knows its protocol and the domain"},
	{[]string{"tags/tagconfig"}, join(wire[1:], sql, conf), "a domain package knows neither wire nor disks"},
	{[]string{"storage"}, join(wire, []string{"modernc.org/", "github.com/jackc/", module + "accounts", module + "tags", module + "alarms",
		module + "alerting", module + "aas", module + "storage/"}, conf), "the ground knows no domain"},
	{[]string{"storage/accountstore", "storage/tagstore", "storage/historystore", "storage/alarmstore", "storage/alertstore", "storage/aasstore"},
		join(wire, []string{"modernc.org/", "github.com/jackc/"}, conf), "only storage/sqlite and storage/postgres import SQL drivers"},
	{[]string{"transport/accountsapi", "transport/tagsapi", "transport/tagsapi/tagconfigapi", "transport/alarmsapi", "transport/alertingapi",
		"transport/aasapi", "transport/aasapi/aasv1"}, rpc, "the REST handlers of one domain are small for those who import them alone"},
	{[]string{"engine"}, join(sql[1:3], conf), "the engine does not know which database there is"},
	{[]string{"transport/"}, join(sql[1:], conf), "the wire does not know where data is kept; stores come in as options"},
}

func join(lists ...[]string) []string {
	var all []string
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

func TestForbiddenDependencies(t *testing.T) {
	deps := dependencies(t)
	for _, r := range rules {
		for _, pattern := range r.packages {
			checked := 0
			for pkg, imports := range deps {
				if path := strings.TrimPrefix(pkg, module); path != pattern && (!strings.HasSuffix(pattern, "/") || !strings.HasPrefix(path, pattern)) {
					continue
				}
				checked++
				for _, dep := range imports {
					for _, f := range r.forbidden {
						if dep != pkg && (dep == f || strings.HasSuffix(f, "/") && strings.HasPrefix(dep, f)) {
							t.Errorf("%s depends on %s: %s", pkg, dep, r.why)
						}
					}
				}
			}
			require.NotZero(t, checked, "no package matches %s", pattern)
		}
	}
}

// dependencies gives what each package of the module depends on, tests left out.
func dependencies(t *testing.T) map[string][]string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Deps", "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	require.NoError(t, err)
	deps := make(map[string][]string)
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Deps       []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return deps
		} else {
			require.NoError(t, err)
		}
		if strings.HasPrefix(p.ImportPath, module) {
			deps[p.ImportPath] = p.Deps
		}
	}
}
