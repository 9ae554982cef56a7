package bridge

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/internal/wake"
	"github.com/otkit/otkit/tags"
)

// manifest describes the tags of the driver, in the order of their names.
func (h *Host) manifest(ctx context.Context) (link.Manifest, error) {
	m := link.Manifest{BridgeID: h.o.ID, DriverType: h.o.DriverType, DriverID: h.o.DriverID,
		Tags: []link.ManifestTag{}, AvailableSubmodels: []string{}, ActiveSubmodels: []string{}}
	if h.o.Submodels != nil {
		available, active := h.o.Submodels()
		m.AvailableSubmodels, m.ActiveSubmodels = append(m.AvailableSubmodels, available...), append(m.ActiveSubmodels, active...)
	}
	shell := link.DefaultShell(h.o.ID)
	if h.o.Shell != nil {
		shell = h.o.Shell()
	}
	m.Shell = &shell
	err := h.eachTag(ctx, func(s *tags.Snapshot) { m.Tags = append(m.Tags, h.manifestTag(s.Tag)) })
	slices.SortStableFunc(m.Tags, func(a, b link.ManifestTag) int { return strings.Compare(a.Name, b.Name) })
	m.Tags = slices.CompactFunc(m.Tags, func(a, b link.ManifestTag) bool { return a.Name == b.Name }) // x and <driver>.x
	return m, err
}

// manifestCache remembers the hash of the manifest: to make it again takes long with many tags.
type manifestCache struct {
	changed wake.Signal   // for the sender
	forced  atomic.Uint64 // counts calls of ManifestChanged

	mu            sync.Mutex
	known         bool // the hash was made
	hash          string
	tags, forcing uint64 // revision of the tags, and forced, of the hash
}

// Manifest describes the bridge and its tags. It has no token.
func (h *Host) Manifest(ctx context.Context) (link.Manifest, error) { return h.manifest(ctx) }

// ManifestChanged reports that tags were defined or removed, or that Options.Submodels or Options.Shell return something else. The engine gets
// the new manifest. Tags that appear or change with a new value are noticed without it.
func (h *Host) ManifestChanged() {
	h.manifests.forced.Add(1)
	h.manifests.changed.Set()
}

// manifestStale reports whether the manifest may be another one than freshManifest has made last.
func (h *Host) manifestStale() bool {
	c := &h.manifests
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.known || c.tags != h.o.Tags.Revision() || c.forcing != c.forced.Load()
}

// freshManifest makes the manifest and remembers its hash.
func (h *Host) freshManifest(ctx context.Context) (link.Manifest, string, error) {
	c := &h.manifests
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known, c.tags, c.forcing = false, h.o.Tags.Revision(), c.forced.Load() // what changes from now on makes it stale
	m, err := h.manifest(ctx)
	if err != nil {
		return link.Manifest{}, "", err
	}
	c.hash, c.known = m.Hash(), true
	return m, c.hash, nil
}

// manifestHash returns the hash of the present manifest.
func (h *Host) manifestHash(ctx context.Context) (string, error) {
	if !h.manifestStale() {
		h.manifests.mu.Lock()
		defer h.manifests.mu.Unlock()
		return h.manifests.hash, nil
	}
	_, hash, err := h.freshManifest(ctx)
	return hash, err
}

// eachTag calls f with each tag of the driver.
func (h *Host) eachTag(ctx context.Context, f func(*tags.Snapshot)) error {
	for page, seen := 1, 0; ; page++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		list, total, err := h.o.Tags.List(tags.ListQuery{Page: page, PageSize: tags.MaxPageSize})
		if err != nil {
			return err
		}
		for i := range list {
			if list[i].Tag.Driver == h.o.DriverID {
				f(&list[i])
			}
		}
		if seen += len(list); len(list) == 0 || seen >= total {
			return nil
		}
	}
}

// tagName returns the name of a tag without the driver's prefix.
func (h *Host) tagName(name string) string { return strings.TrimPrefix(name, h.o.DriverID+".") }

// findTag returns the tag of the driver that has a name of the manifest.
func (h *Host) findTag(name string) (*tags.Tag, error) {
	s, err := h.o.Tags.Read(h.o.DriverID + "." + name)
	if err != nil {
		s, err = h.o.Tags.Read(name)
	}
	if err == nil && s.Tag.Driver != h.o.DriverID {
		err = tags.ErrTagNotFound.On("tagName", name)
	}
	return s.Tag, err
}

func (h *Host) manifestTag(t *tags.Tag) link.ManifestTag {
	return link.ManifestTag{
		Name: h.tagName(t.Name), Address: t.Address, DataType: string(t.DataType), Length: textLength(t),
		ScanInterval: int(cmp.Or(t.PollInterval, h.o.ScanInterval).Milliseconds()),
		Unit:         t.Unit, Description: t.Description, Access: string(t.Access), Min: t.Min, Max: t.Max,
	}
}

// textLength returns the n of a native type such as String:n.
func textLength(t *tags.Tag) int {
	_, n, _ := strings.Cut(t.NativeType, ":")
	length, err := strconv.Atoi(n)
	if err != nil || t.DataType != tags.String && t.DataType != tags.Bytes {
		return 0
	}
	return max(length, 0)
}
