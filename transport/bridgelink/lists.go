package bridgelink

import (
	"strings"

	"github.com/otkit/otkit/discovery/link"
	platformv1 "github.com/otkit/otkit/proto/platform/v1"
)

// maxList is the size limit of a list that comes in parts, in bytes.
const maxList = 64 << 20

// yieldMessage takes a message and reports whether more are wanted.
type yieldMessage func(*platformv1.BridgeFrame) bool

// part returns how many of the leading items fit into one message, at least 1 if there are any.
func part[T any](items []T, size func(T) int) int {
	total := 0
	for i, item := range items {
		if total += size(item); total > partSize {
			return max(i, 1)
		}
	}
	return len(items)
}

func nameMessages(n *link.Names, yield yieldMessage) {
	first := n.First
	for names := n.Names; ; {
		k := part(names, func(s string) int { return len(s) + 4 })
		texts := make([]string, k)
		for i, s := range names[:k] {
			texts[i] = valid(s)
		}
		if !yield(&platformv1.BridgeFrame{Frame: &platformv1.BridgeFrame_Names{Names: &platformv1.BridgeNames{First: first, Names: texts}}}) {
			return
		}
		if names, first = names[k:], first+uint32(k); len(names) == 0 {
			return
		}
	}
}

func manifestMessages(m *link.Manifest, yield yieldMessage) {
	for rest := m.Tags; ; {
		k := part(rest, tagSize)
		p := &platformv1.BridgeManifest{BridgeId: m.BridgeID, DriverType: m.DriverType, DriverId: m.DriverID, Tags: tagMessages(rest[:k])}
		rest = rest[k:]
		if p.More = len(rest) > 0; !p.More {
			p.AvailableSubmodels, p.ActiveSubmodels, p.Shell = m.AvailableSubmodels, m.ActiveSubmodels, shellMessage(m.Shell)
		}
		if !yield(&platformv1.BridgeFrame{Frame: &platformv1.BridgeFrame_Manifest{Manifest: p}}) || !p.More {
			return
		}
	}
}

func browsedMessages(b *link.Browsed, yield yieldMessage) {
	for rest := b.Tags; ; {
		k := part(rest, tagSize)
		p := &platformv1.BridgeBrowsed{Id: b.ID, Tags: tagMessages(rest[:k])}
		rest = rest[k:]
		if p.More = len(rest) > 0; !p.More {
			p.Error = valid(b.Error)
		}
		if !yield(&platformv1.BridgeFrame{Frame: &platformv1.BridgeFrame_Browsed{Browsed: p}}) || !p.More {
			return
		}
	}
}

func tagSize(t link.ManifestTag) int {
	return len(t.Name) + len(t.Address) + len(t.DataType) + len(t.Unit) + len(t.Description) + len(t.Access) + 64
}

func tagMessages(list []link.ManifestTag) []*platformv1.BridgeTag {
	out := make([]*platformv1.BridgeTag, len(list))
	for i, t := range list {
		out[i] = &platformv1.BridgeTag{Name: valid(t.Name), Address: valid(t.Address), DataType: valid(t.DataType), Length: clamp(t.Length),
			ScanInterval: clamp(t.ScanInterval), Unit: valid(t.Unit), Description: valid(t.Description), AccessMode: valid(t.Access), MinValue: t.Min, MaxValue: t.Max}
	}
	return out
}

// valid returns s as UTF-8: gRPC sends nothing else as text.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// parts puts lists together that come in several messages.
type parts struct {
	manifest *link.Manifest
	browsed  *link.Browsed

	manifestSize, browsedSize int
}

// add takes a message of the given size. whole reports whether a frame is complete.
func (p *parts) add(m *platformv1.BridgeFrame, size int) (f link.FromBridge, whole bool, err error) {
	switch part := m.GetFrame().(type) {
	case *platformv1.BridgeFrame_Manifest:
		if p.manifest == nil {
			p.manifest = &link.Manifest{BridgeID: part.Manifest.GetBridgeId(), DriverType: part.Manifest.GetDriverType(), DriverID: part.Manifest.GetDriverId()}
		}
		p.manifest.Tags = appendTags(p.manifest.Tags, part.Manifest.GetTags())
		if err := grow(&p.manifestSize, size, len(p.manifest.Tags)); err != nil || part.Manifest.GetMore() {
			return link.FromBridge{}, false, err
		}
		f.Manifest, p.manifest, p.manifestSize = p.manifest, nil, 0
		f.Manifest.AvailableSubmodels = part.Manifest.GetAvailableSubmodels()
		f.Manifest.ActiveSubmodels = append([]string{}, part.Manifest.GetActiveSubmodels()...) // none are active: nil would be all
		f.Manifest.Shell = shellOf(part.Manifest.GetShell())
	case *platformv1.BridgeFrame_Browsed:
		if p.browsed == nil {
			p.browsed = &link.Browsed{ID: part.Browsed.GetId()}
		}
		p.browsed.Tags = appendTags(p.browsed.Tags, part.Browsed.GetTags())
		if err := grow(&p.browsedSize, size, len(p.browsed.Tags)); err != nil || part.Browsed.GetMore() {
			return link.FromBridge{}, false, err
		}
		f.Browsed, p.browsed, p.browsedSize = p.browsed, nil, 0
		f.Browsed.Error = part.Browsed.GetError()
	default:
		f, err = bridgeFrame(m)
		return f, true, err
	}
	return f, true, nil
}

// grow bounds what is collected.
func grow(total *int, size, count int) error {
	if *total += size; *total > maxList || count > link.MaxNames {
		return link.ErrProtocol.Because("a list of tags is longer than %d or %d MiB", link.MaxNames, maxList>>20)
	}
	return nil
}

func appendTags(list []link.ManifestTag, more []*platformv1.BridgeTag) []link.ManifestTag {
	for _, t := range more {
		list = append(list, link.ManifestTag{Name: t.GetName(), Address: t.GetAddress(), DataType: t.GetDataType(), Length: int(t.GetLength()),
			ScanInterval: int(t.GetScanInterval()), Unit: t.GetUnit(), Description: t.GetDescription(), Access: t.GetAccessMode(), Min: t.MinValue, Max: t.MaxValue})
	}
	return list
}
