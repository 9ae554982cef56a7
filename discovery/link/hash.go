package link

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"math"
)

// Hash returns a text that is the same for equal manifests. The binding token does not count, and a list that is nil equals an empty one, except
// for ActiveSubmodels.
func (m Manifest) Hash() string {
	d := digest{sum: sha256.New()}
	d.texts(m.BridgeID, m.DriverType, m.DriverID)
	d.list(m.AvailableSubmodels)
	d.known(m.ActiveSubmodels != nil)
	d.list(m.ActiveSubmodels)
	if d.known(m.Shell != nil); m.Shell != nil {
		s, n := m.Shell, m.Shell.Nameplate
		d.texts(s.ID, s.IDShort, s.AssetKind, s.GlobalAssetID, s.EquipmentCategory, n.ManufacturerName, n.ManufacturerProductDesignation,
			n.SerialNumber, n.YearOfConstruction, n.HardwareVersion, n.SoftwareVersion)
	}
	for i := range m.Tags {
		t := &m.Tags[i]
		d.texts(t.Name, t.Address, t.DataType, t.Unit, t.Description, t.Access)
		d.number(uint64(t.Length))
		d.number(uint64(t.ScanInterval))
		d.limit(t.Min)
		d.limit(t.Max)
	}
	d.flush()
	return hex.EncodeToString(d.sum.Sum(nil))
}

// digest hashes a manifest: JSON takes ten times as long.
type digest struct {
	sum hash.Hash
	buf []byte // not hashed yet
}

func (d *digest) flush() {
	_, _ = d.sum.Write(d.buf) // never fails
	d.buf = d.buf[:0]
}

func (d *digest) number(n uint64) { d.buf = binary.AppendUvarint(d.buf, n) }

// texts adds texts with their lengths, so that no others have the same bytes.
func (d *digest) texts(list ...string) {
	for _, s := range list {
		d.number(uint64(len(s)))
		d.buf = append(d.buf, s...)
	}
	if len(d.buf) > 32<<10 {
		d.flush()
	}
}

func (d *digest) list(list []string) {
	d.number(uint64(len(list)))
	d.texts(list...)
}

func (d *digest) known(yes bool) {
	b := byte(0)
	if yes {
		b = 1
	}
	d.buf = append(d.buf, b)
}

func (d *digest) limit(x *float64) {
	if d.known(x != nil); x != nil {
		d.buf = binary.LittleEndian.AppendUint64(d.buf, math.Float64bits(*x))
	}
}
