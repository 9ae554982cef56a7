package simdriver

import (
	"fmt"
	"math"
	"time"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/driverconfig"
)

// Options describes the simulation. The zero Options is one device with ten oscillating tags.
type Options struct {
	DeviceCount   int   // generated devices; 0 is 1 when there are no Signals, else none
	TagsPerDevice int   // signals of each; 0 is 10
	Scenario      Shape // shape of the generated signals, one of Scenarios; default Sine

	Period         time.Duration // period of the generated signals; see Signal.Period
	UpdateInterval time.Duration // length of a step, at least 1 ms; default 1 s

	Signals []Signal // named signals

	Seed   uint64    // another seed is another plant
	Start  time.Time // when the simulated time is 0; default the time of New
	Faults Faults

	Now func() time.Time // default time.Now
}

// MaxTags is how many generated signals there can be.
const MaxTags = 1_000_000

// Signal describes one named signal.
type Signal struct {
	Name        string // also the address; unique
	Type        tags.DataType
	Access      tags.AccessMode // ReadWrite for shape Hold only; default ReadOnly
	Unit        string
	Description string

	// Min and Max bound the value of an Int or Float; both 0 is 0..100, and no upper bound for a
	// Counter. A Bool is true in the upper half of the range, and a String is one of four words.
	// For shape Hold they only become the limits of the tag.
	Min, Max float64

	Shape  Shape         // required
	Period time.Duration // default 1 min, 1 h for Degradation, UpdateInterval for Counter
	Noise  float64       // greatest deviation as a share of the range, 0..1
	Group  string        // signals of one group wear out together; default Name

	Initial tags.Value    // shape Hold: the value before the first write; required
	Follows string        // shape Follow: name of a number signal of another shape
	Lag     time.Duration // shape Follow: time constant of a first-order lag; default 10 s
}

// Faults sets how the simulated device fails. The zero Faults is none.
type Faults struct {
	Disconnect Window     // the connection is cut, and connecting fails
	Freeze     Window     // the device takes requests and does not answer: calls return when their context ends
	Error      PointFault // reading a point gives tags.ErrDevice; other points at each step
	Stuck      PointFault // points keep the value that they had when the window began
	Uncertain  PointFault // readings have quality Uncertain
}

// Window is a time that comes again: it opens at the end of each Every, for the length For. The zero
// Window is none.
type Window struct{ Every, For time.Duration }

// PointFault affects a share of the points while its window is open.
type PointFault struct {
	Share  float64 // 0..1; which points are affected depends on the seed
	Window Window  // zero is always
}

func (o Options) withDefaults() Options {
	if o.DeviceCount == 0 && len(o.Signals) == 0 {
		o.DeviceCount = 1
	}
	if o.TagsPerDevice == 0 {
		o.TagsPerDevice = 10
	}
	if o.Scenario == "" {
		o.Scenario = Sine
	}
	if o.UpdateInterval == 0 {
		o.UpdateInterval = time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Start.IsZero() {
		o.Start = o.Now()
	}
	return o
}

// checker collects what is wrong with options.
type checker struct{ bad []fault.Field }

func (c *checker) want(ok bool, field, format string, args ...any) {
	if !ok {
		c.bad = append(c.bad, fault.Field{Field: field, Message: fmt.Sprintf(format, args...)})
	}
}

func (c *checker) err() error {
	if len(c.bad) > 0 {
		return driverconfig.ErrInvalid.Invalid(c.bad...)
	}
	return nil
}

func (o Options) check() error {
	var c checker
	c.want(o.DeviceCount >= 0 && o.DeviceCount <= MaxTags, "DeviceCount", "must be 0..%d", MaxTags)
	c.want(o.TagsPerDevice >= 0 && o.TagsPerDevice <= MaxTags, "TagsPerDevice", "must be 0..%d", MaxTags)
	if len(c.bad) == 0 {
		c.want(o.DeviceCount*o.TagsPerDevice <= MaxTags, "DeviceCount", "times TagsPerDevice must be at most %d", MaxTags)
	}
	_, err := ParseScenario(string(o.Scenario))
	c.want(err == nil, "Scenario", "%v", err)
	c.want(o.UpdateInterval >= time.Millisecond, "UpdateInterval", "must be at least 1 ms")
	c.want(o.Start.Year() >= 1970 && o.Start.Year() <= 2200, "Start", "must be in the years 1970 to 2200")
	c.want(o.Period >= 0, "Period", "must not be negative")
	c.window("Faults.Disconnect", o.Faults.Disconnect)
	c.window("Faults.Freeze", o.Faults.Freeze)
	c.pointFault("Faults.Error", o.Faults.Error)
	c.pointFault("Faults.Stuck", o.Faults.Stuck)
	c.pointFault("Faults.Uncertain", o.Faults.Uncertain)
	byName := make(map[string]Signal, len(o.Signals))
	for i, s := range o.Signals {
		_, twice := byName[s.Name]
		c.want(!twice, fmt.Sprintf("Signals[%d].Name", i), "%q is there twice", s.Name)
		byName[s.Name] = s
	}
	for i, s := range o.Signals {
		c.signal(fmt.Sprintf("Signals[%d].", i), s, byName)
	}
	return c.err()
}

func (c *checker) window(field string, w Window) {
	c.want(w == Window{} || w.For > 0 && w.For < w.Every, field, "must have 0 < For < Every")
}

func (c *checker) pointFault(field string, f PointFault) {
	c.want(f.Share >= 0 && f.Share <= 1, field+".Share", "must be 0 to 1")
	c.window(field+".Window", f.Window)
}

func (c *checker) signal(path string, s Signal, byName map[string]Signal) {
	c.want(s.Name != "", path+"Name", "is required")
	_, _, generated := parseName(s.Name)
	c.want(!generated, path+"Name", "must not look like that of a generated signal")
	c.want(s.Type.Valid(), path+"Type", "must be one of Bool, Int, Float, String, Bytes")
	c.want(s.Shape.known(), path+"Shape", "%q is not a shape", string(s.Shape))
	switch s.Access {
	case "", tags.ReadOnly:
	case tags.ReadWrite:
		c.want(s.Shape == Hold, path+"Access", "ReadWrite needs the shape Hold")
	default:
		c.want(false, path+"Access", "must be ReadOnly or ReadWrite")
	}
	c.want(!math.IsNaN(s.Min+s.Max) && !math.IsInf(s.Max-s.Min, 0) && s.Min <= s.Max, path+"Min", "must be a number not above Max")
	c.want(s.Noise >= 0 && s.Noise <= 1, path+"Noise", "must be 0 to 1")
	c.want(s.Period >= 0, path+"Period", "must not be negative")
	c.want(s.Lag >= 0, path+"Lag", "must not be negative")
	c.want(s.Shape != Hold || s.Initial.Type() == s.Type, path+"Initial", "must be a value of the signal's type")
	if s.Shape == Follow {
		leader, found := byName[s.Follows]
		number := leader.Type == tags.Float || leader.Type == tags.Int
		c.want(found && number && leader.Shape != Follow, path+"Follows", "must name a number signal that does not follow another")
	}
}
