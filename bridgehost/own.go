package bridgehost

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/audit"
	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/internal/atomicfile"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/health"
	"github.com/otkit/otkit/transport/server"
)

// idFile has the id that the first start has made.
const idFile = "bridge.id"

// EnsureID returns the id of the bridge whose data directory dir is. The first call makes it. The directory must exist.
func EnsureID(dir string) (string, error) {
	path := filepath.Join(dir, idFile)
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("id of the bridge: %w", err)
	}
	if id := strings.TrimSpace(string(text)); id != "" {
		return id, nil
	}
	id := "bridge-" + strings.ToLower(rand.Text()[:10])
	if err := atomicfile.Write(path, []byte(id+"\n")); err != nil {
		return "", fmt.Errorf("id of the bridge: %w", err)
	}
	return id, nil
}

// submodels returns the submodels that the shell can have, and those that it has.
func (b *Bridge) submodels() (available, active []string) {
	c, _ := b.shell.Get()
	return b.shell.Available(), c.ActiveSubmodels
}

// shellIdentity returns the shell as the manifest has it.
func (b *Bridge) shellIdentity() link.Shell {
	c, _ := b.shell.Get()
	return link.Shell{ID: c.ID, IDShort: c.IDShort, AssetKind: string(aas.Instance), GlobalAssetID: c.GlobalAssetID,
		EquipmentCategory: c.EquipmentCategory, Nameplate: link.Nameplate(c.Nameplate)}
}

// driverTags returns the tags of the driver as they are now.
func (b *Bridge) driverTags() (all []tags.Tag) {
	for page, seen := 1, 0; ; page++ {
		// Without the filter a page costs only what it has. Other tags of a bridge are few.
		list, total, err := b.tags.List(tags.ListQuery{Page: page, PageSize: tags.MaxPageSize})
		if err != nil { // the query is good
			return all
		}
		for _, s := range list {
			if s.Tag.Driver == b.opts.Driver.ID {
				all = append(all, *s.Tag)
			}
		}
		if seen += len(list); seen >= total || len(list) == 0 {
			return all
		}
	}
}

// onDiscard records that entries for an engine were discarded, because another one has bound the bridge.
func (b *Bridge) onDiscard(_ context.Context, owner string, entries uint64) {
	b.audit.Log().Record(audit.Act{Actor: "system", Via: "internal", Action: "discardBuffer", Objects: []string{owner}},
		audit.Result{Outcome: audit.Succeeded, Detail: fmt.Sprintf("%d entries that waited for the engine %s", entries, owner)})
}

// own is the part of the bridge itself: the check of its storage, and the announcement.
func (b *Bridge) own() server.Part {
	p := server.Part{Name: "bridge host"}
	if b.opts.Ping != nil {
		p.Checks = append(p.Checks, health.Check{Name: "storage", Run: b.checkStorage})
	}
	if b.opts.Advertise != nil {
		p.Jobs = append(p.Jobs, b.advertise)
	}
	if b.opts.FindEngines != nil {
		p.Jobs = append(p.Jobs, b.lookForEngines)
	}
	return p
}

func (b *Bridge) checkStorage(ctx context.Context) health.Result {
	if err := b.opts.Ping(ctx); err != nil {
		return health.Result{Status: health.Unhealthy, Description: "the database cannot be used"}
	}
	if b.opts.Shortage != nil {
		if text := b.opts.Shortage(); text != "" {
			return health.Result{Status: health.Degraded, Description: text}
		}
	}
	return health.Result{Status: health.Healthy, Description: "the database answers"}
}
