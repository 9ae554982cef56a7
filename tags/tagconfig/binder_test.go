package tagconfig

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
)

// engine is a Definer that takes all or nothing of a call, and remembers the calls.
type engine struct {
	mu       sync.Mutex
	tags     map[string]tags.Tag
	deny     map[string]error // by address
	defined  []string
	removed  []string
	defines  int
	undefine int
}

// configure makes items the whole configuration, by the edit that leads there.
func configure(b *Binder, items []Config) {
	e := Edit{Put: items}
	b.mu.Lock()
	for id := range b.config {
		if !slices.Contains(ids(items), id) {
			e.Remove = append(e.Remove, id)
		}
	}
	b.mu.Unlock()
	b.Change(e)
}

func newEngine() *engine { return &engine{tags: map[string]tags.Tag{}, deny: map[string]error{}} }

func (e *engine) DefineTags(all ...tags.Tag) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.defines++
	for _, t := range all {
		if err := e.deny[t.Address]; err != nil {
			return err
		}
	}
	for _, t := range all {
		e.tags[t.Name] = t
		e.defined = append(e.defined, t.Name)
	}
	return nil
}

func (e *engine) RemoveTags(names ...string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.undefine++
	for _, name := range names {
		delete(e.tags, name)
		e.removed = append(e.removed, name)
	}
}

// calls returns what was defined and removed since the last time.
func (e *engine) calls() (defined, removed []string) {
	defined, removed = e.defined, e.removed
	e.defined, e.removed, e.defines, e.undefine = nil, nil, 0, 0
	return defined, removed
}

func newBinder(t *testing.T, e *engine) *Binder {
	t.Helper()
	b, err := NewBinder(e, quiet())
	require.NoError(t, err)
	return b
}

func baseTag(name, address string) tags.Tag {
	return tags.Tag{
		Name: name, Address: address, NativeType: "UInt16", DataType: tags.Int, Access: tags.ReadWrite, Unit: "V",
		Min: tags.Ptr(0), Max: tags.Ptr(10), PollInterval: time.Second, StaleAfter: time.Minute,
		Deadband: tags.Deadband{Absolute: 1, Heartbeat: time.Hour}, Confirm: true,
	}
}

func TestBinderOverlaysTheBase(t *testing.T) {
	e := newEngine()
	b := newBinder(t, e)
	b.SetBase("plc", []tags.Tag{baseTag("a", "1"), baseTag("b", "2")})
	require.Len(t, e.tags, 2)

	over := item("a")
	over.Unit, over.MaxValue, over.ScalingFactor, over.Offset = "bar", tags.Ptr(5), tags.Ptr(0.1), tags.Ptr(3)
	fresh := item("new")
	fresh.Address, fresh.NativeType, fresh.IntervalMs = "9", "Float32", 200
	e.calls()
	configure(b, []Config{over, fresh})
	defined, removed := e.calls()
	require.Equal(t, []string{"a", "new"}, defined, "only what changed")
	require.Empty(t, removed)
	require.Equal(t, tags.Tag{
		Name: "a", Driver: "plc", Address: "1", NativeType: "UInt16", DataType: tags.Float, Access: tags.ReadWrite, Unit: "bar",
		Min: tags.Ptr(0), Max: tags.Ptr(5), Scale: 0.1, Offset: 3, PollInterval: time.Second, StaleAfter: time.Minute,
		Deadband: tags.Deadband{Absolute: 1, Heartbeat: time.Hour}, Confirm: true,
	}, e.tags["a"])
	require.Equal(t, tags.Tag{
		Name: "new", Driver: "plc", Address: "9", NativeType: "Float32", DataType: tags.Float, Access: tags.ReadOnly, Scale: 1,
		PollInterval: 200 * time.Millisecond,
	}, e.tags["new"])

	no := false
	over.AccessMode, over.NativeType, over.IntervalMs, over.Address = tags.ReadOnly, "Int16", 50, "7"
	over.Deadband, over.ConfirmWrites = tags.Ptr(0), &no
	configure(b, []Config{over, fresh})
	defined, _ = e.calls()
	require.Equal(t, []string{"a"}, defined)
	a := e.tags["a"]
	require.Equal(t, tags.ReadOnly, a.Access)
	require.Equal(t, "Int16", a.NativeType)
	require.Equal(t, "7", a.Address)
	require.Equal(t, 50*time.Millisecond, a.PollInterval)
	require.Equal(t, tags.Deadband{Heartbeat: time.Hour}, a.Deadband)
	require.False(t, a.Confirm)

	configure(b, nil)
	defined, removed = e.calls()
	require.Equal(t, []string{"a"}, defined, "back to the base")
	require.Equal(t, []string{"new"}, removed)
	require.Equal(t, tags.Int, e.tags["a"].DataType)
	require.InDelta(t, 10, *e.tags["a"].Max, 0)
}

func TestBinderFollowsDrivers(t *testing.T) {
	e := newEngine()
	b := newBinder(t, e)
	configure(b, []Config{item("a")})
	require.Equal(t, tags.ReadOnly, e.tags["a"].Access, "configured before its driver is there")
	b.SetBase("plc", []tags.Tag{baseTag("a", "1"), baseTag("b", "2")})
	require.Equal(t, tags.ReadWrite, e.tags["a"].Access)
	b.SetBase("other", []tags.Tag{baseTag("a", "x"), baseTag("c", "3")})
	e.calls()

	b.RemoveBase("plc")
	_, removed := e.calls()
	require.Equal(t, []string{"b"}, removed, "the configured tag stays")
	require.Equal(t, "plc", e.tags["a"].Driver)
	require.Empty(t, e.tags["a"].Address)

	configure(b, nil)
	require.Equal(t, "other", e.tags["a"].Driver, "now the other driver's is in force")
	_, removed = e.calls()
	require.Empty(t, removed, "it moved: nobody is told that it is no more")

	b.SetBase("other", nil)
	require.Empty(t, e.tags)
}

// TestBinderMovesATag has one change of the configuration give a tag to another driver: nobody may take it for
// removed, since that ends its alarms.
func TestBinderMovesATag(t *testing.T) {
	e, err := tags.New(tags.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close(t.Context())) }()
	var seen []string
	defer e.Observe(func(changes []tags.Change) {
		for _, c := range changes {
			seen = append(seen, c.Tag.Name+" "+string(c.Sample.Reason))
		}
	})()
	b, err := NewBinder(e, quiet())
	require.NoError(t, err)
	a, other := item("a"), item("b")
	a.DriverID, other.DriverID = "plc1", "plc1"
	configure(b, []Config{a, other})
	a.DriverID = "plc2"
	configure(b, []Config{a})
	got, err := e.Read("a")
	require.NoError(t, err)
	require.Equal(t, "plc2", got.Tag.Driver)
	require.NotContains(t, seen, "a "+string(tags.ReasonRemoved))
	require.Contains(t, seen, "b "+string(tags.ReasonRemoved))
}

func TestBinderGoesOnAfterABadOverlay(t *testing.T) {
	e := newEngine()
	e.deny["bad"] = tags.ErrInvalidTag.Because("address is not understood")
	b := newBinder(t, e)
	var base []tags.Tag
	var items []Config
	for i := range 100 {
		name := fmt.Sprintf("t%03d", i)
		base = append(base, baseTag(name, "1"))
		items = append(items, described(name, "configured"))
	}
	items[40].Address = "bad"
	lone := item("lone")
	lone.Address = "bad"
	percent := item("zz")
	percent.DeadbandPercent = tags.Ptr(5) // needs limits
	b.SetBase("plc", base)
	e.calls()
	configure(b, append(items, lone, percent))

	require.Less(t, e.defines, 40, "the bad ones are found by halves")
	faults := b.Errors()
	require.Len(t, faults, 3)
	for _, name := range []string{"t040", "lone", "zz"} {
		require.ErrorIs(t, faults[name], tags.ErrInvalidTag)
	}
	require.Len(t, e.tags, 100)
	require.Empty(t, e.tags["t040"].Description, "the driver's own definition is in force")
	require.Equal(t, "configured", e.tags["t041"].Description)

	e.calls()
	configure(b, append(items, lone, percent))
	require.Zero(t, e.defines, "what was refused is not tried again and again")

	delete(e.deny, "bad")
	b.SetBase("plc", base)
	require.Equal(t, "configured", e.tags["t040"].Description, "but it is when its driver comes anew")
	require.Len(t, b.Errors(), 1)
}

func TestBinderWhereTheBaseIsBadAsWell(t *testing.T) {
	e := newEngine()
	e.deny["bad"] = tags.ErrInvalidTag
	e.deny["worse"] = tags.ErrInvalidTag
	b := newBinder(t, e)
	b.SetBase("plc", []tags.Tag{baseTag("a", "bad"), baseTag("b", "1")})
	over := item("a")
	over.Address = "worse"
	configure(b, []Config{over})
	require.NotContains(t, e.tags, "a")
	require.Contains(t, e.tags, "b")
	require.Len(t, b.Errors(), 1)
	over.Address = "2"
	configure(b, []Config{over})
	require.Equal(t, "2", e.tags["a"].Address)
	over.Address = "worse"
	configure(b, []Config{over})
	require.NotContains(t, e.tags, "a")
	configure(b, nil)
	require.NotContains(t, e.tags, "a")
	require.Contains(t, b.Errors(), "a")
}

func TestBinderOnAStoppedEngine(t *testing.T) {
	e := newEngine()
	e.deny["1"] = tags.ErrClosed
	b := newBinder(t, e)
	b.SetBase("plc", []tags.Tag{baseTag("a", "1"), baseTag("b", "2"), baseTag("c", "2")})
	require.Equal(t, 1, e.defines, "nothing is tried twice")
	require.Len(t, b.Errors(), 3)
	_, err := NewBinder(nil, nil)
	require.Error(t, err)
}

func TestBinderIsSafeForConcurrentUse(t *testing.T) {
	e := newEngine()
	b := newBinder(t, e)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			driver := fmt.Sprintf("d%d", i)
			for range 20 {
				b.SetBase(driver, []tags.Tag{baseTag(driver+".x", "1")})
				configure(b, []Config{item("a")})
				b.RemoveBase(driver)
				b.Errors()
			}
			b.SetBase(driver, []tags.Tag{baseTag(driver+".x", "1")})
		})
	}
	wg.Wait()
	require.Len(t, e.tags, 5)
}

// lenientEngine takes what people have configured although its address is refused.
type lenientEngine struct {
	*engine
	unusable []string
}

func (e *lenientEngine) Check(t tags.Tag) error { return e.deny[t.Address] }

func (e *lenientEngine) DefineUnusable(t tags.Tag) error {
	e.tags[t.Name] = t
	e.unusable = append(e.unusable, t.Name)
	return nil
}

// What people have configured is defined though its driver refuses the address: the driver's own definition would be another register.
func TestBinderDefinesWhatTheDriverRefuses(t *testing.T) {
	e := &lenientEngine{engine: newEngine()}
	e.deny["ZZ:10"] = tags.ErrInvalidTag
	b, err := NewBinder(e, quiet())
	require.NoError(t, err)
	b.SetBase("plc", []tags.Tag{baseTag("a", "1"), baseTag("b", "2")})
	over, lone, fine := item("a"), item("lone"), item("b")
	over.Address, lone.Address, fine.Address = "ZZ:10", "ZZ:10", "3"
	require.ErrorIs(t, b.Check(&over), tags.ErrInvalidTag)
	require.NoError(t, b.Check(&fine))
	configure(b, []Config{over, lone, fine})
	require.Equal(t, "ZZ:10", e.tags["a"].Address)
	require.Equal(t, "ZZ:10", e.tags["lone"].Address)
	require.Equal(t, "3", e.tags["b"].Address)
	require.ElementsMatch(t, []string{"a", "lone"}, e.unusable)
	require.Empty(t, b.Errors(), "the engine tells")
	configure(b, []Config{over, lone, fine})
	require.Len(t, e.unusable, 2, "not again and again")

	// A driver's own definition that it refuses is none that people have made.
	b.SetBase("plc", []tags.Tag{baseTag("own", "ZZ:10")})
	require.NotContains(t, e.tags, "own")
	require.Contains(t, b.Errors(), "own")
	configure(b, nil)
	require.NotContains(t, e.tags, "lone")
}
