package devices

import (
	"math"
	"slices"
	"time"
)

// Safety judges commands before they reach a device. Implementations are safe for concurrent use, do not block, and decide by the
// situation alone. A Safety that cannot judge refuses.
type Safety interface {
	Check(Situation) Decision
}

// Situation is what a command is judged by: a consistent view at one moment. Safety must not alter it.
type Situation struct {
	Now     time.Time
	Command Command
	Move    *Move // where the command takes the device; nil when it does not move it
	Device  Device
	Others  []Other // the other devices that are in use
}

// Other is another device in a [Situation].
type Other struct {
	Device
	Path *Path // of the command that it carries out or that is reserved for it; nil when there is none
}

// Path is a straight way that is reserved for a device.
type Path struct {
	Map        string    `json:"map,omitzero"`
	FromX      float64   `json:"fromX,omitzero"` // metres
	FromY      float64   `json:"fromY,omitzero"` // metres
	ToX        float64   `json:"toX,omitzero"`
	ToY        float64   `json:"toY,omitzero"`
	Speed      float64   `json:"speed,omitzero"` // metres a second; 0: not known, the device may be anywhere on the way
	ReservedAt time.Time `json:"reservedAt,omitzero"`
}

// Decision is what a [Safety] decided, with the figures it decided by.
type Decision struct {
	Allowed  bool      `json:"allowed,omitzero"`
	Policy   string    `json:"policy,omitzero"`   // that refused; empty when allowed
	Reason   string    `json:"reason,omitzero"`   // names the policy and the figures; empty when allowed
	Verdicts []Verdict `json:"verdicts,omitzero"` // of each policy that was asked, in order
	// MaxSpeed is the speed that the executor must keep, in metres a second; 0: no limit.
	MaxSpeed float64   `json:"maxSpeed,omitzero"`
	Time     time.Time `json:"time,omitzero"`
}

// unclocked returns the way without its speed.
func (p Path) unclocked() *Path {
	p.Speed = 0
	return &p
}

// end returns the end of the way.
func (p Path) end() *Path {
	p.FromX, p.FromY, p.Speed = p.ToX, p.ToY, 0
	return &p
}

// clean makes a decision of a policy fit for every store.
func (d *Decision) clean() {
	d.Policy, d.Reason = clean(d.Policy), clean(d.Reason)
	unfit := func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }
	if unfit(d.MaxSpeed) || d.MaxSpeed < 0 {
		d.Allowed, d.MaxSpeed, d.Reason = false, 0, "safety: the speed limit is not a number above 0"
	}
	d.Verdicts = slices.Clone(d.Verdicts)
	for i := range d.Verdicts {
		v := &d.Verdicts[i]
		if unfit(v.MaxSpeed) {
			v.MaxSpeed = 0
		}
		v.Figures = slices.DeleteFunc(slices.Clone(v.Figures), func(f Figure) bool { return unfit(f.Value) })
	}
}

// Verdict is what one policy found.
type Verdict struct {
	Policy   string   `json:"policy,omitzero"`
	Allowed  bool     `json:"allowed,omitzero"`
	Reason   string   `json:"reason,omitzero"` // why not; or why it need not judge this command
	Figures  []Figure `json:"figures,omitzero"`
	MaxSpeed float64  `json:"maxSpeed,omitzero"` // that the policy asks for, in metres a second; 0: none
}

// Figure is a number that a policy compared.
type Figure struct {
	Name  string  `json:"name,omitzero"`
	Value float64 `json:"value,omitzero"`
	Unit  string  `json:"unit,omitzero"` // such as m, %, s; may be empty
}
