package archtest

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/otkit/otkit/"

// layers are the folders at the root that are no domains. Every other one is a domain, so that the rules hold for a new
// domain without an edit here.
var layers = []string{"bridgehost", "cmd", "engine", "examples", "fault", "internal", "openapi", "proto", "storage", "transport"}

// pkg is a package of the module, by its path below the module.
type pkg struct {
	path    string
	imports []string // tests left out
	deps    []string // imports, and theirs
}

// listed has all packages of the module; tests left out.
var listed = sync.OnceValues(func() (list []pkg, err error) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,Deps", "./...")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath    string
			Imports, Deps []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, err
		}
		list = append(list, pkg{strings.TrimPrefix(p.ImportPath, module), p.Imports, p.Deps})
	}
})

func packages(t *testing.T) []pkg {
	t.Helper()
	list, err := listed()
	require.NoError(t, err)
	require.NotEmpty(t, list)
	return list
}

// domains are the packages that mean something, by their folder at the root.
func domains(t *testing.T) (list []string) {
	t.Helper()
	for _, p := range packages(t) {
		if d := domainOf(p.path); d != "" && !slices.Contains(list, d) {
			list = append(list, d)
		}
	}
	require.Subset(t, list, []string{"aas", "accounts", "alarms", "alerting", "audit", "tags"})
	return list
}

// domainOf returns the domain that a package belongs to, "" for none.
func domainOf(path string) string {
	top, _, _ := strings.Cut(path, "/")
	if slices.Contains(layers, top) {
		return ""
	}
	return top
}

// below reports whether a path is a folder or below it; a trailing / leaves the folder itself out.
func below(name, folder string) bool {
	return name == strings.TrimSuffix(folder, "/") && !strings.HasSuffix(folder, "/") || strings.HasPrefix(name, strings.TrimSuffix(folder, "/")+"/")
}

func anyBelow(name string, folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return below(name, f) })
}

var (
	wire     = []string{"google.golang.org/grpc", "github.com/go-chi/", module + "transport", module + "openapi", module + "proto"}
	http     = []string{"net/http"}
	drivers  = []string{"modernc.org/", "github.com/jackc/"}
	sql      = append([]string{"database/sql", module + "storage"}, drivers...)
	rpc      = []string{"google.golang.org/grpc", "github.com/coreos/", "github.com/prometheus/", "go.opentelemetry.io/"}
	settings = []string{module + "internal/settings", module + "internal/engineconfig", module + "internal/bridgeconfig", module + "internal/serverconfig"}

	// callers are the packages of domains that speak HTTP with others. Conformance suites, whose names end with test, do too.
	callers = []string{"alerting/channel", "aas/delegate", "aas/mqttevents", "cluster/bus/natsbus", "devices/vda5050", "discovery/bridgeclient", "predictive/remote"}
)

// forbidden says what packages may not depend on, directly or through others.
var forbidden = []struct {
	why       string
	of        func(path string) bool
	forbidden []string
}{
	{"a domain is small for those who import it alone", isDomain, slices.Concat(wire, sql, settings)},
	{"a domain does not speak HTTP", func(p string) bool {
		return isDomain(p) && !anyBelow(p, callers) && !strings.HasSuffix(p, "test")
	}, http},
	{"who raises alarms needs neither drivers nor rules", func(p string) bool { return p == "alarms" }, []string{module + "tags", module + "devices", module + "discovery"}},
	{"who commands devices needs no tags", func(p string) bool { return p == "devices" }, []string{module + "tags"}},
	{"predictions need no tags and no alarms", func(p string) bool { return p == "predictive" || p == "predictive/monitor" }, []string{module + "tags", module + "alarms"}},
	{"the learners can be used without the rest", func(p string) bool { return p == "predictive/learn" }, []string{module}},
	{"the ground of the storage knows no domain", func(p string) bool { return p == "storage" },
		slices.Concat(wire, http, drivers, settings, []string{module + "storage/"})},
	{"only storage/sqlite and storage/postgres import SQL drivers", func(p string) bool {
		return strings.HasPrefix(p, "storage/") && p != "storage/sqlite" && p != "storage/postgres"
	}, slices.Concat(wire, http, drivers, settings)},
	{"the REST handlers of one domain are small for those who import them alone", isREST, rpc},
	{"the engine and the bridge do not know which database there is", func(p string) bool { return p == "engine" || p == "bridgehost" }, append(drivers, settings...)},
	{"the engine and the wire do not know what carries the messages of engines", func(p string) bool { return p == "engine" || below(p, "transport") },
		[]string{"github.com/nats-io/"}},
	{"the wire does not know where data is kept; stores come in as options", func(p string) bool { return below(p, "transport") },
		slices.Concat(sql[1:], settings)},
}

func isDomain(p string) bool { return p == "fault" || domainOf(p) != "" }

// isREST reports whether a package has REST handlers of a domain.
func isREST(p string) bool {
	api, inside, _ := strings.Cut(strings.TrimPrefix(p, "transport/"), "/")
	return below(p, "transport") && strings.HasSuffix(api, "api") && !strings.HasSuffix(inside, "grpc") && !strings.HasSuffix(inside, "part") &&
		!below(inside, "internal")
}

func TestForbiddenDependencies(t *testing.T) {
	for _, r := range forbidden {
		checked := 0
		for _, p := range packages(t) {
			if !r.of(p.path) {
				continue
			}
			checked++
			for _, dep := range p.deps {
				// Ids are values of databases by an interface of this package, which brings no SQL.
				if dep != module+p.path && dep != "database/sql/driver" && anyBelow(dep, r.forbidden) {
					t.Errorf("%s depends on %s: %s", p.path, dep, r.why)
				}
			}
		}
		require.NotZero(t, checked, r.why)
	}
}

// users are the domains that use others. All others stand alone.
var users = map[string][]string{
	"aas":        {"tags"},
	"alarms":     {"cluster", "tags", "devices", "discovery", "predictive"},
	"alerting":   {"alarms"},
	"devices":    {"tags"},
	"discovery":  {"tags"},
	"predictive": {"tags", "alarms"},
	"tags":       {"cluster"},
}

func TestDomainsUseFewOthers(t *testing.T) {
	all := domains(t)
	for _, p := range packages(t) {
		from := domainOf(p.path)
		if from == "" && p.path != "fault" && p.path != "storage" {
			continue
		}
		for _, dep := range p.deps {
			inside, ours := strings.CutPrefix(dep, module)
			if to := domainOf(inside); ours && to != from && slices.Contains(all, to) && !slices.Contains(users[from], to) {
				t.Errorf("%s depends on %s: a domain stands alone", p.path, inside)
			}
		}
	}
	for from, to := range users {
		require.Subset(t, all, append(to, from))
	}
}

// shared are the packages of the wire that know a domain: who calls is a matter of accounts, and what they change one of
// audit.
var shared = []string{"accounts", "audit"}

// joined are the packages that show several domains together: a hub what happens, PlatformApi tags and alarms. BridgeLink is what
// both an engine and a bridge host have of the wire of discovery.
var joined = []string{"transport/hubs", "transport/platformgrpc", "transport/bridgelink"}

// Importing what all domains share on the wire brings none of them, and importing one brings no other.
func TestTheWireOfDomainsIsApart(t *testing.T) {
	for _, p := range packages(t) {
		if !below(p.path, "transport/") || slices.Contains(joined, p.path) {
			continue
		}
		own := wireOf(p.path)
		for _, dep := range p.deps {
			inside, ours := strings.CutPrefix(dep, module)
			if ours && own == "" && domainOf(inside) != "" && !slices.Contains(shared, domainOf(inside)) {
				t.Errorf("%s depends on %s: it is of no domain", p.path, inside)
			}
		}
		for _, dep := range p.imports {
			inside, ours := strings.CutPrefix(dep, module)
			if other := wireOf(inside); ours && other != "" && other != own && !strings.HasSuffix(p.path, "part") {
				t.Errorf("%s imports %s: only parts know parts of other domains", p.path, inside)
			} else if ours && other != "" && other != own && !strings.HasSuffix(inside, "part") {
				t.Errorf("%s imports %s: parts know the parts of other domains, and not their handlers", p.path, inside)
			}
		}
	}
}

// wireOf returns the folder with the wire of a domain that a package belongs to, "" for none.
func wireOf(name string) string {
	rest, ok := strings.CutPrefix(name, "transport/")
	if !ok {
		return ""
	}
	first, _, _ := strings.Cut(rest, "/")
	if strings.HasSuffix(first, "api") || first == "hubs" {
		return path.Join("transport", first)
	}
	return ""
}

// The server composes parts and knows the inside of none. It records changes of every domain, and so knows the audit log.
func TestTheServerKnowsNoDomain(t *testing.T) {
	for _, p := range packages(t) {
		if p.path != "transport/server" {
			continue
		}
		for _, dep := range p.imports {
			inside, ours := strings.CutPrefix(dep, module)
			if ours && (domainOf(inside) != "" && domainOf(inside) != "audit" || wireOf(inside) != "") {
				t.Errorf("%s imports %s: what a domain serves belongs to its part", p.path, inside)
			}
		}
		return
	}
	t.Error("there is no transport/server")
}
