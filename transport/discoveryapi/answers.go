package discoveryapi

import (
	"math"
	"time"

	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/transport/discoveryapi/internal/gen"
)

func infoOf(b *discovery.BridgeInfo) gen.BridgeInfo {
	return gen.BridgeInfo{BridgeID: b.BridgeID, HostName: b.HostName, IPAddress: b.Address, Port: b.Port, Version: b.Version,
		Status: gen.BridgeStatus(b.Status), DriverType: b.DriverType, TenantID: textOrNull(b.TenantID), BoundEngineID: textOrNull(b.BoundEngineID),
		TagCount: b.TagCount, DiscoveredAt: b.DiscoveredAt.UTC(), BaseURL: b.BaseURL, Name: b.Name, Location: b.Location}
}

// bindingOf returns a binding that was just made.
func bindingOf(b *discovery.Binding) gen.BridgeBinding {
	host, port := b.Endpoint()
	return gen.BridgeBinding{BridgeID: b.BridgeID, IPAddress: host, Port: port, DriverType: b.DriverType, BindingToken: textOrNull(b.Token),
		BoundAt: b.BoundAt.UTC(), BaseURL: b.BaseURL()}
}

func statusOf(b *discovery.Info) gen.BridgeBindingStatus {
	host, port := b.Endpoint()
	return gen.BridgeBindingStatus{BridgeID: b.BridgeID, IPAddress: host, Port: port, DriverType: b.DriverType, BoundAt: b.BoundAt.UTC(),
		IsOnline: b.Online, BaseURL: b.BaseURL(), LastHeartbeatAt: timeOrNull(b.HeartbeatAt), ActiveSubmodels: b.ActiveSubmodelsJSON(),
		DriverID: b.DriverID, TagCount: b.TagCount, IsLinkOpen: b.LinkOpen, LostSamples: int64(min(b.Lost, math.MaxInt64)), LastError: problemOf(b),
		Buffer: bufferOf(b)}
}

func bufferOf(b *discovery.Info) gen.BridgeBuffer {
	if b.Buffer == nil {
		return gen.BridgeBuffer{}
	}
	w := b.Buffer
	out := gen.BridgeBuffer{Waiting: int64(min(w.Waiting, math.MaxInt64)), Bytes: max(0, w.Bytes), MaxBytes: max(0, w.MaxBytes),
		Dropped: int64(min(w.Dropped, math.MaxInt64)), At: b.BufferAt.UTC()}
	if w.OldestSeconds > 0 && w.OldestSeconds < maxAge.Seconds() { // a bridge may say anything
		out.OldestAt = b.BufferAt.Add(-time.Duration(w.OldestSeconds * float64(time.Second))).UTC()
	}
	return out
}

// maxAge is far beyond what a buffer keeps.
const maxAge = 100 * 365 * 24 * time.Hour

// problemOf says why samples of a bridge do not arrive. Only the bridge knows why it does not open its link, such as that it refuses the
// engine's certificate.
func problemOf(b *discovery.Info) string {
	if b.Problem == "" && b.Down && !b.LinkOpen && !b.Offline {
		return "the bridge answers, but does not open its link: the check engine-connectivity of its /health says why"
	}
	return b.Problem
}

func manifestOf(m *link.Manifest) gen.BridgeManifest {
	answer := gen.BridgeManifest{BridgeID: m.BridgeID, DriverType: m.DriverType, DriverID: m.DriverID, BindingToken: m.BindingToken,
		AvailableSubmodels: append([]string{}, m.AvailableSubmodels...), ActiveSubmodels: m.ActiveSubmodels, Tags: make([]gen.BridgeTag, len(m.Tags))}
	if s := m.Shell; s != nil {
		n := s.Nameplate
		answer.Shell = gen.BridgeShell{ID: s.ID, IDShort: s.IDShort, AssetKind: s.AssetKind, GlobalAssetID: s.GlobalAssetID,
			EquipmentCategory: s.EquipmentCategory, Nameplate: gen.BridgeNameplate{
				ManufacturerName: n.ManufacturerName, ManufacturerProductDesignation: n.ManufacturerProductDesignation,
				SerialNumber: n.SerialNumber, YearOfConstruction: n.YearOfConstruction, HardwareVersion: n.HardwareVersion, SoftwareVersion: n.SoftwareVersion}}
	}
	for i := range m.Tags {
		t := &m.Tags[i]
		answer.Tags[i] = gen.BridgeTag{Name: t.Name, Address: t.Address, DataType: t.DataType, Length: t.Length, ScanInterval: t.ScanInterval,
			Unit: t.Unit, Description: t.Description, Access: t.Access, Min: t.Min, Max: t.Max}
	}
	return answer
}

func textOrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
