package tags_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
)

func TestTagValidation(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for field, change := range map[string]func(*tags.Tag){
		"name":              func(t *tags.Tag) { t.Name = "" },
		"name ":             func(t *tags.Tag) { t.Name = ".." },
		"name  ":            func(t *tags.Tag) { t.Name = "a\nb" },
		"name   ":           func(t *tags.Tag) { t.Name = "a\xff" },
		"name    ":          func(t *tags.Tag) { t.Name = strings.Repeat("a", tags.MaxNameBytes+1) },
		"driver":            func(t *tags.Tag) { t.Driver = "" },
		"driver ":           func(t *tags.Tag) { t.Driver = "a/b" },
		"dataType":          func(t *tags.Tag) { t.DataType = "Word" },
		"accessMode":        func(t *tags.Tag) { t.Access = "WriteOnly" },
		"scalingFactor":     func(t *tags.Tag) { t.Scale = nan },
		"offset":            func(t *tags.Tag) { t.Offset = inf },
		"minValue":          func(t *tags.Tag) { t.Min = &nan },
		"maxValue":          func(t *tags.Tag) { t.Max = &inf },
		"minValue ":         func(t *tags.Tag) { t.Min, t.Max = tags.Ptr(2), tags.Ptr(1) },
		"deadband.absolute": func(t *tags.Tag) { t.Deadband.Absolute = -1 },
		"deadband.percent":  func(t *tags.Tag) { t.Deadband.Percent = 101 },
		"deadband.percent ": func(t *tags.Tag) { t.Deadband.Percent = 1 },
		"interval":          func(t *tags.Tag) { t.PollInterval = -1 },
		"interval ":         func(t *tags.Tag) { t.StaleAfter = -1 },
	} {
		bad := intTag("plc.a", change)
		e := newEngine(t, tags.Options{})
		err := e.DefineTags(intTag("plc.good"), bad)
		require.ErrorIs(t, err, tags.ErrInvalidTag, field)
		f, _ := fault.From(err)
		require.Equal(t, strings.TrimSpace(field), f.Fields[0].Field)
		_, err = e.Read("plc.good")
		require.ErrorIs(t, err, tags.ErrTagNotFound, "all are taken or none")
		if bad.Driver != "" { // which AddDriver would fill in
			require.ErrorIs(t, e.AddDriver("plc", newDevice(), tags.DriverOptions{Tags: []tags.Tag{bad}}), tags.ErrInvalidTag)
			require.Empty(t, e.Drivers())
		}
	}
}

// checkingDevice knows its addresses.
type checkingDevice struct{ *device }

func (checkingDevice) ValidatePoint(p tags.Point) error {
	if p.Address == "panic" {
		panic("a defect in the driver")
	}
	if strings.HasPrefix(p.Address, "bad") {
		return tags.ErrAddress
	}
	return nil
}

func TestAddressesAreChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, tags.Options{})
		d := checkingDevice{newDevice()}
		err := e.AddDriver("plc", d, tags.DriverOptions{Tags: []tags.Tag{intTag("plc.bad1")}})
		require.ErrorIs(t, err, tags.ErrInvalidTag)
		require.ErrorIs(t, err, tags.ErrAddress)
		require.False(t, e.HasDriver("plc"))
		require.NoError(t, e.DefineTags(intTag("plc.bad0")), "nobody can tell before the driver is there")
		require.NoError(t, e.AddDriver("plc", d, tags.DriverOptions{Tags: []tags.Tag{intTag("plc.a")}}))
		require.ErrorIs(t, e.DefineTags(intTag("plc.b"), intTag("plc.bad2")), tags.ErrInvalidTag)
		require.ErrorIs(t, e.DefineTags(intTag("plc.panic")), tags.ErrInvalidTag)
		_, err = e.Read("plc.b")
		require.ErrorIs(t, err, tags.ErrTagNotFound)
	})
}

func TestANilDriverIsRefused(t *testing.T) {
	e := newEngine(t, tags.Options{})
	require.ErrorIs(t, e.AddDriver("plc", nil, tags.DriverOptions{}), tags.ErrInvalidDriver)
	require.NoError(t, e.AddDriver("plc", newDevice(), tags.DriverOptions{}), "nothing was registered")
}

func TestDriversAreRefusedWithTheirReason(t *testing.T) {
	e := newEngine(t, tags.Options{})
	for want, add := range map[string]func() error{
		`driver "n" is nil`:           func() error { return e.AddDriver("n", nil, tags.DriverOptions{}) },
		"driver id must not be empty": func() error { return e.AddDriver("", newDevice(), tags.DriverOptions{}) },
		"tag definition is not valid: tag 1: name is required": func() error {
			return e.AddDriver("d", newDevice(), tags.DriverOptions{Tags: []tags.Tag{intTag("d.a"), {}}})
		},
		`tag definition is not valid: d.a: driver is "D", but the tag is defined with the driver "d"`: func() error {
			return e.AddDriver("d", newDevice(), tags.DriverOptions{Tags: []tags.Tag{{Name: "d.a", Driver: "D", DataType: tags.Int}}})
		},
	} {
		require.ErrorContains(t, add(), want)
	}
	require.False(t, e.HasDriver("d"), "nothing was registered")
}

func TestOptionsAreChecked(t *testing.T) {
	_, err := tags.New(tags.Options{SweepInterval: -1})
	require.ErrorContains(t, err, "Options.SweepInterval")
	e := newEngine(t, tags.Options{})
	for field, o := range map[string]tags.DriverOptions{
		"PollInterval": {PollInterval: -1}, "RefreshInterval": {RefreshInterval: -1}, "Timeout": {Timeout: -1}, "MinBackoff": {MinBackoff: -1},
		"MaxBackoff": {MaxBackoff: -1}, "ConfirmTimeout": {ConfirmTimeout: -1}, "MaxWrites": {MaxWrites: -1},
	} {
		require.ErrorContains(t, e.AddDriver("plc", newDevice(), o), "DriverOptions."+field)
	}
	for _, id := range []string{"", "a/b", "..", "a\n"} {
		require.ErrorIs(t, e.AddDriver(id, newDevice(), tags.DriverOptions{}), tags.ErrInvalidDriver)
	}
}

func TestDrivers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, tags.Options{})
		log := observe(e)
		require.NoError(t, e.DefineTags(intTag("plc.orphan")))
		requireSample(t, e, "plc.orphan", tags.Value{}, tags.Bad, tags.ReasonNoDriver)

		first := newDevice()
		first.has("orphan", tags.IntValue(1))
		require.NoError(t, e.AddDriver("plc", first, tags.DriverOptions{Type: "Test", Tags: []tags.Tag{{Name: "plc.x", DataType: tags.Int, Address: "x"}}}))
		require.Equal(t, tags.ReasonWaiting, sampleOf(t, e, "plc.orphan").Reason)
		require.ErrorIs(t, e.AddDriver("plc", newDevice(), tags.DriverOptions{}), tags.ErrDriverExists)
		after(time.Second)
		requireSample(t, e, "plc.orphan", tags.IntValue(1), tags.Good, tags.ReasonNone)
		require.True(t, e.HasDriver("plc"))
		x, err := e.Read("plc.x")
		require.NoError(t, err)
		require.Equal(t, "plc", x.Tag.Driver, "tags that come with a driver are its own")
		require.Equal(t, tags.ReadOnly, x.Tag.Access)
		require.Equal(t, 2, status(t, e, "plc").Tags)
		require.Equal(t, "Test", status(t, e, "plc").Type)
		log.take()

		require.NoError(t, e.RemoveDriver(t.Context(), "plc"))
		require.GreaterOrEqual(t, first.closes(), 1)
		require.ElementsMatch(t, []string{"plc.orphan 1 Bad NoDriver", "plc.x 0 Bad NoDriver"}, log.take())
		require.False(t, e.HasDriver("plc"))
		require.ErrorIs(t, e.RemoveDriver(t.Context(), "plc"), tags.ErrInvalidDriver)
		reads := first.readsOf("orphan")
		after(10 * time.Second)
		require.Equal(t, reads, first.readsOf("orphan"), "a removed driver is left alone")

		second := newDevice()
		second.has("orphan", tags.IntValue(2))
		require.NoError(t, e.AddDriver("plc", second, tags.DriverOptions{}))
		after(time.Second)
		requireSample(t, e, "plc.orphan", tags.IntValue(2), tags.Good, tags.ReasonNone)
	})
}

func TestRemoveDriverThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice()
		e := online(t, d, tags.DriverOptions{Tags: []tags.Tag{intTag("plc.a")}})
		thaw := freeze(t, d)
		after(2 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, e.RemoveDriver(ctx, "plc"), context.DeadlineExceeded)
		requireSample(t, e, "plc.a", tags.IntValue(0), tags.Bad, tags.ReasonNoDriver)
		d.has("a", tags.IntValue(9))
		thaw()
		synctest.Wait()
		requireSample(t, e, "plc.a", tags.IntValue(0), tags.Bad, tags.ReasonNoDriver)
	})
}

func TestRedefine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, tags.Options{})
		plc, other := newDevice(), newDevice()
		plc.has("a", tags.IntValue(1))
		plc.has("text", tags.StringValue("x"))
		other.has("a", tags.IntValue(2))
		require.NoError(t, e.AddDriver("plc", plc, tags.DriverOptions{Tags: []tags.Tag{intTag("plc.a")}}))
		require.NoError(t, e.AddDriver("other", other, tags.DriverOptions{}))
		after(time.Second)
		log := observe(e)

		unit := intTag("plc.a", func(t *tags.Tag) { t.Unit = "m" })
		require.NoError(t, e.DefineTags(unit))
		requireSample(t, e, "plc.a", tags.IntValue(1), tags.Good, tags.ReasonNone)

		text := intTag("plc.a", ofType(tags.String), func(t *tags.Tag) { t.Address = "text" })
		require.NoError(t, e.DefineTags(text))
		requireSample(t, e, "plc.a", tags.Value{}, tags.Bad, tags.ReasonWaiting)
		require.Equal(t, []string{"plc.a Bad WaitingForData"}, log.take())
		after(time.Second)
		requireSample(t, e, "plc.a", tags.StringValue("x"), tags.Good, tags.ReasonNone)

		require.NoError(t, e.DefineTags(intTag("plc.a")))
		after(time.Second)
		log.take()
		moved := intTag("plc.a", func(t *tags.Tag) { t.Driver = "other" })
		require.NoError(t, e.DefineTags(moved))
		requireSample(t, e, "plc.a", tags.IntValue(1), tags.Bad, tags.ReasonWaiting)
		reads := plc.readsOf("a")
		after(2 * time.Second)
		requireSample(t, e, "plc.a", tags.IntValue(2), tags.Good, tags.ReasonNone)
		require.Equal(t, reads, plc.readsOf("a"), "the old driver does not read it any more")
		require.Equal(t, []string{"plc.a 1 Bad WaitingForData", "plc.a 2 Good"}, log.take())

		moved.Driver = "nobody"
		require.NoError(t, e.DefineTags(moved))
		requireSample(t, e, "plc.a", tags.IntValue(2), tags.Bad, tags.ReasonNoDriver)
		require.Equal(t, []string{"plc.a 2 Bad NoDriver"}, log.take())
		after(10 * time.Second)
		requireSample(t, e, "plc.a", tags.IntValue(2), tags.Bad, tags.ReasonNoDriver)
	})
}

// A value that was read by another address or scale must not stand as Good, however long the next
// reading takes.
func TestRedefineForgetsWhatWasReadOtherwise(t *testing.T) {
	as := func(change func(t *tags.Tag)) tags.Tag { return intTag("plc.a", scaled(10, 0), change) }
	for name, c := range map[string]struct {
		tag     tags.Tag
		forgets bool
	}{
		"address":  {as(func(t *tags.Tag) { t.Address = "b" }), true},
		"native":   {as(func(t *tags.Tag) { t.NativeType = "Int16" }), true},
		"scale":    {as(func(t *tags.Tag) { t.Scale = 0.5 }), true},
		"no scale": {as(func(t *tags.Tag) { t.Scale = 0 }), true},
		"offset":   {as(func(t *tags.Tag) { t.Offset = 1 }), true},
		"the same": {as(func(*tags.Tag) {}), false},
		"words":    {as(func(t *tags.Tag) { t.Unit, t.Description = "m", "level" }), false},
		"limits":   {as(between(0, 100)), false},
		"reports":  {as(func(t *tags.Tag) { t.Deadband.Absolute, t.PollInterval = 5, time.Minute }), false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDevice()
				d.has("a", tags.IntValue(2))
				d.has("b", tags.IntValue(3))
				e := online(t, d, tags.DriverOptions{Tags: []tags.Tag{intTag("plc.a", scaled(10, 0))}})
				log := observe(e)
				thaw := freeze(t, d)
				require.NoError(t, e.DefineTags(c.tag))
				if !c.forgets {
					requireSample(t, e, "plc.a", tags.IntValue(20), tags.Good, tags.ReasonNone)
					require.Empty(t, log.take())
					return
				}
				require.Equal(t, []string{"plc.a Bad WaitingForData"}, log.take())
				after(time.Minute)
				requireSample(t, e, "plc.a", tags.Value{}, tags.Bad, tags.ReasonWaiting)
				thaw()
				after(2 * time.Second)
				require.Equal(t, tags.Good, sampleOf(t, e, "plc.a").Quality)
			})
		})
	}
}

// A reading that was on its way when the definition changed belongs to the old address.
func TestRedefineDuringARead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice()
		e := online(t, d, tags.DriverOptions{Tags: []tags.Tag{intTag("plc.a")}})
		log := observe(e)
		thaw := freeze(t, d)
		after(2 * time.Second)
		require.NoError(t, e.DefineTags(intTag("plc.a", func(t *tags.Tag) { t.Address = "b" })))
		d.has("a", tags.IntValue(1))
		d.has("b", tags.IntValue(2))
		thaw()
		after(2 * time.Second)
		require.Equal(t, []string{"plc.a Bad WaitingForData", "plc.a 2 Good"}, log.take())
	})
}

func TestUndefine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice()
		e := online(t, d, tags.DriverOptions{Tags: []tags.Tag{intTag("plc.a"), intTag("plc.b")}})
		log := observe(e)
		e.RemoveTags("plc.a", "plc.none")
		require.Equal(t, []string{"plc.a 0 Bad Removed"}, log.take())
		_, err := e.Read("plc.a")
		require.ErrorIs(t, err, tags.ErrTagNotFound)
		reads := d.readsOf("a")
		after(5 * time.Second)
		require.Equal(t, reads, d.readsOf("a"))
		require.Greater(t, d.readsOf("b"), 4)
		require.Equal(t, 1, status(t, e, "plc").Tags)
		_, err = e.Write(t.Context(), tags.WriteRequest{Tag: "plc.a", Value: tags.IntValue(1)})
		require.ErrorIs(t, err, tags.ErrTagNotFound)
	})
}

func TestResolve(t *testing.T) {
	e := newEngine(t, tags.Options{})
	require.NoError(t, e.AddDriver("plc", newDevice(), tags.DriverOptions{Tags: []tags.Tag{
		{Name: "plc.level", DataType: tags.Int, Address: "HR:1"},
		{Name: "z", DataType: tags.Int, Address: "HR:2"}, {Name: "y", DataType: tags.Int, Address: "HR:2"},
	}}))
	require.NoError(t, e.DefineTags(intTag("gone.a"), intTag("plc.other", func(t *tags.Tag) { t.Driver, t.Address = "gone", "x" })))
	for _, c := range []struct {
		driver, address, name string
		err                   error
	}{
		{"plc", "level", "plc.level", nil},
		{"plc", "HR:1", "plc.level", nil},
		{"plc", "HR:2", "", tags.ErrInvalidRequest},
		{"plc", "hr:1", "plc.level", nil},
		{"plc", "hr:2", "", tags.ErrInvalidRequest},
		{"plc", "HR:3", "", tags.ErrTagNotFound},
		{"plc", "other", "", tags.ErrTagNotFound},
		{"gone", "a", "", tags.ErrInvalidDriver},
		{"none", "a", "", tags.ErrInvalidDriver},
	} {
		name, err := e.Resolve(c.driver, c.address)
		require.ErrorIs(t, err, c.err)
		require.Equal(t, c.name, name)
	}
}

func TestReadMany(t *testing.T) {
	e := newEngine(t, tags.Options{})
	require.NoError(t, e.DefineTags(intTag("plc.a"), intTag("plc.b")))
	long := strings.Repeat("ü", 120) // within the limit of a name
	found, errs, err := e.ReadMany([]string{"plc.b", "none", "plc.a", long, "plc.b"})
	require.NoError(t, err)
	require.Equal(t, []string{"plc.b", "plc.a", "plc.b"}, []string{found[0].Tag.Name, found[1].Tag.Name, found[2].Tag.Name})
	require.Len(t, errs, 2)
	for i, name := range []string{"none", long} {
		require.ErrorIs(t, errs[i], tags.ErrTagNotFound)
		f, _ := fault.From(errs[i])
		require.Equal(t, name, f.Metadata["tagName"])
	}
	found, errs, err = e.ReadMany(nil)
	require.NoError(t, err)
	require.NotNil(t, found)
	require.Empty(t, errs)
	_, _, err = e.ReadMany(make([]string, tags.MaxBatch+1))
	require.ErrorIs(t, err, tags.ErrBatchSizeExceeded)
}

func TestObserveEnds(t *testing.T) {
	e := newEngine(t, tags.Options{})
	var first, second int
	cancel := e.Observe(func(c []tags.Change) { first += len(c) })
	e.Observe(func(c []tags.Change) { second += len(c) })
	require.NoError(t, e.DefineTags(intTag("plc.a"), intTag("plc.b")))
	e.RemoveTags("plc.a")
	cancel()
	cancel()
	e.RemoveTags("plc.b")
	require.Equal(t, []int{1, 2}, []int{first, second})
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice()
		d.has("a", tags.IntValue(7))
		e := online(t, d, tags.DriverOptions{Tags: []tags.Tag{intTag("plc.a")}})
		gate := make(chan struct{})
		d.set(func(d *device) { d.holdWrite = gate })
		var writes []tags.Write
		for i := range 10 {
			w, err := e.Write(t.Context(), tags.WriteRequest{Tag: "plc.a", Value: tags.IntValue(int64(i))})
			require.NoError(t, err)
			writes = append(writes, w)
		}
		done := make(chan error, 2)
		for range 2 {
			go func() { done <- e.Close(context.Background()) }()
		}
		synctest.Wait()
		require.Empty(t, done, "each call waits for the queued writes")
		require.ErrorIs(t, e.Close(canceled(t)), context.Canceled, "no longer than its context")
		close(gate)
		require.NoError(t, <-done)
		require.NoError(t, <-done)
		for _, w := range writes {
			requireOutcome(t, e, w, tags.WriteDone)
		}
		require.Len(t, d.writtenValues(), 10)
		require.GreaterOrEqual(t, d.closes(), 1)
		require.NoError(t, e.Close(t.Context()), "again")

		_, err := e.Read("plc.a")
		require.NoError(t, err, "reading still works")
		require.Equal(t, tags.DriverStopped, status(t, e, "plc").State)
		_, err = e.Write(t.Context(), tags.WriteRequest{Tag: "plc.a", Value: tags.IntValue(1)})
		require.ErrorIs(t, err, tags.ErrClosed)
		_, err = e.Subscribe(tags.SubscribeOptions{Names: []string{"plc.a"}})
		require.ErrorIs(t, err, tags.ErrClosed)
		require.ErrorIs(t, e.DefineTags(intTag("plc.b")), tags.ErrClosed)
		require.ErrorIs(t, e.AddDriver("x", newDevice(), tags.DriverOptions{}), tags.ErrClosed)
	})
}

func TestCloseDoesNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := tags.New(tags.Options{})
		require.NoError(t, err)
		stuck, well := newDevice(), newDevice()
		require.NoError(t, e.AddDriver("stuck", stuck, tags.DriverOptions{Tags: []tags.Tag{intTag("stuck.a")}}))
		require.NoError(t, e.AddDriver("well", well, tags.DriverOptions{Tags: []tags.Tag{intTag("well.a")}}))
		freeze(t, stuck)
		after(2 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		err = e.Close(ctx)
		require.ErrorContains(t, err, "stuck")
		require.NotContains(t, err.Error(), "well")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.LessOrEqual(t, time.Since(start), 3*time.Second)
		require.Equal(t, err, e.Close(t.Context()), "again")
		require.GreaterOrEqual(t, well.closes(), 1)
	})
}

// Defining many tags lets readers in between: they see the first tags before the last ones are there.
func TestReadersDoNotWaitForAllThatIsDefined(t *testing.T) {
	e := newEngine(t, tags.Options{})
	list := manyTags(100_000)
	done := make(chan error, 1)
	go func() { done <- e.DefineTags(list...) }()
	between := false
	for ended := false; !ended && !between; {
		select {
		case err := <-done:
			require.NoError(t, err)
			ended = true
		default:
			_, first := e.Read(list[0].Name)
			_, last := e.Read(list[len(list)-1].Name)
			between = first == nil && last != nil
		}
	}
	require.True(t, between, "no reader came in while the tags were defined")
	require.NoError(t, <-done)
	_, total, err := e.List(tags.ListQuery{})
	require.NoError(t, err)
	require.Equal(t, len(list), total)
}

// Tags that come and go again and again, also while nobody lists them, are listed right.
func TestListAfterTagsCameAndWent(t *testing.T) {
	e := newEngine(t, tags.Options{})
	list := manyTags(1000)
	names := make([]string, len(list))
	for i := range list {
		names[i] = list[i].Name
	}
	for range 30 {
		require.NoError(t, e.DefineTags(list...))
		e.RemoveTags(names[1:]...)
	}
	require.NoError(t, e.DefineTags(intTag("a.first"), intTag("z.last")))
	got, total, err := e.List(tags.ListQuery{})
	require.NoError(t, err)
	require.Equal(t, 3, total)
	require.Equal(t, []string{"a.first", names[0], "z.last"}, []string{got[0].Tag.Name, got[1].Tag.Name, got[2].Tag.Name})
}
