package tags_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
)

// picky takes addresses that begin with a only.
type picky struct{ prefix byte }

func (p picky) ValidatePoint(pt tags.Point) error {
	if pt.Address == "" || pt.Address[0] != p.prefix {
		return tags.ErrAddress
	}
	return nil
}
func (picky) Connect(context.Context) error { return nil }
func (picky) Close() error                  { return nil }
func (p picky) Read(_ context.Context, points []tags.Point, out []tags.Reading) error {
	for i := range points {
		if out[i] = (tags.Reading{Value: tags.IntValue(1), Quality: tags.Good}); p.ValidatePoint(points[i]) != nil {
			out[i] = tags.Reading{Quality: tags.Bad, Err: tags.ErrAddress}
		}
	}
	return nil
}

func (picky) Write(context.Context, []tags.WriteItem, []error) error { return nil }

// A tag whose driver refuses its address is Bad, ConfigError, and told, until it is mended or another driver takes it.
func TestUnusableTagsAreToldAndBad(t *testing.T) {
	e, err := tags.New(tags.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close(context.Background())) })
	of := func(name, address string) tags.Tag {
		return tags.Tag{Name: name, Driver: "d", Address: address, DataType: tags.Int}
	}
	add := func(prefix byte) {
		require.NoError(t, e.AddDriver("d", picky{prefix}, tags.DriverOptions{PollInterval: time.Millisecond}))
	}
	names := func() (list []string) {
		for _, u := range e.Unusable() {
			require.Equal(t, "d", u.Driver)
			require.ErrorIs(t, u.Err, tags.ErrAddress)
			list = append(list, u.Name)
		}
		return list
	}
	becomes := func(name string, q tags.Quality, r tags.Reason) {
		require.Eventually(t, func() bool {
			s, err := e.Read(name)
			return err == nil && s.Sample.Quality == q && s.Sample.Reason == r
		}, time.Minute, time.Millisecond, name)
	}
	require.NoError(t, e.DefineTags(of("early", "b1"), of("fine", "a1")))
	require.Empty(t, names(), "there is no driver to refuse any")
	add('a')
	require.Equal(t, []string{"early"}, names())
	require.ErrorIs(t, e.Check(of("x", "b2")), tags.ErrInvalidTag)
	require.NoError(t, e.Check(of("x", "a2")))
	require.ErrorIs(t, e.DefineTags(of("late", "b2")), tags.ErrInvalidTag)
	require.NoError(t, e.DefineUnusable(of("late", "b2")))
	require.NoError(t, e.DefineUnusable(of("good", "a3")))
	require.Equal(t, []string{"early", "late"}, names())
	becomes("early", tags.Bad, tags.ReasonConfig)
	becomes("late", tags.Bad, tags.ReasonConfig)
	becomes("fine", tags.Good, tags.ReasonNone)
	becomes("good", tags.Good, tags.ReasonNone)

	require.NoError(t, e.DefineTags(of("early", "a9")))
	require.Equal(t, []string{"late"}, names())
	becomes("early", tags.Good, tags.ReasonNone)
	require.NoError(t, e.RemoveDriver(t.Context(), "d"))
	require.Empty(t, names())
	becomes("late", tags.Bad, tags.ReasonNoDriver)
	add('b')
	require.Equal(t, []string{"early", "fine", "good"}, names())
	becomes("late", tags.Good, tags.ReasonNone)
	e.RemoveTags("early")
	require.Equal(t, []string{"fine", "good"}, names())
	require.NoError(t, e.DefineUnusable(tags.Tag{Name: "fine", Driver: "other", Address: "a1", DataType: tags.Int}))
	require.Equal(t, []string{"good"}, names(), "it has moved to a driver that is not there")
}

// offline is picky without a device.
type offline struct{ picky }

func (offline) Connect(context.Context) error { return errDevice }

// That a device does not answer does not hide that an address is wrong: who brings the device back would look for it in vain.
func TestAConfigErrorOutlastsALostConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, tags.Options{})
		wrong := tags.Tag{Name: "wrong", Driver: "d", Address: "b1", DataType: tags.Int}
		require.NoError(t, e.DefineTags(wrong, tags.Tag{Name: "right", Driver: "d", Address: "a1", DataType: tags.Int}))
		require.NoError(t, e.AddDriver("d", offline{picky{'a'}}, tags.DriverOptions{}))
		after(time.Minute)
		requireSample(t, e, "wrong", tags.Value{}, tags.Bad, tags.ReasonConfig)
		requireSample(t, e, "right", tags.Value{}, tags.Bad, tags.ReasonNotConnected)
		wrong.Address = "a2"
		require.NoError(t, e.DefineTags(wrong))
		after(time.Minute)
		requireSample(t, e, "wrong", tags.Value{}, tags.Bad, tags.ReasonNotConnected)
	})
}
