package tagtemplate_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/derived"
	"github.com/otkit/otkit/tags/tagtemplate"
)

const pump = `{
  "id": "pump",
  "parameters": [
    {"name": "driver", "type": "String", "pattern": "plc[0-9]+"},
    {"name": "base", "type": "Int", "minValue": 0},
    {"name": "max", "type": "Float", "default": 50}
  ],
  "tags": [
    {"tagId": "${instance}.speed", "driverId": "${driver}", "address": "HR:${base}", "dataType": "Float", "maxValue": "${max}", "unit": "rpm"},
    {"tagId": "${instance}.on", "driverId": "${driver}", "address": "HR:${base+2}.0", "dataType": "Bool"}
  ],
  "derivedTags": [
    {"id": "${instance}.load", "expression": "tag(\"${instance}.speed\") / ${max}", "dataType": "Float"}
  ]
}`

func template(t *testing.T, text string) (found tagtemplate.Template) {
	require.NoError(t, json.Unmarshal([]byte(text), &found))
	return found
}

func instance(t *testing.T, text string) (found tagtemplate.Instance) {
	require.NoError(t, json.Unmarshal([]byte(text), &found))
	return found
}

// plant takes the tags of templates.
type plant struct {
	engine  *tags.Engine
	service *tagtemplate.Service
	derived *derived.Service
	tags    []tags.Tag
	defined []tags.Tag // derived ones

	refuse, refuseDerived atomic.Bool // what comes
}

var errRefused = errors.New("refused")

func open(t *testing.T, repository derived.Repository) *plant {
	engine, err := tags.New(tags.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, engine.Close(context.Background())) })
	p := &plant{engine: engine}
	p.derived, err = derived.New(t.Context(), engine, derived.Options{Repository: repository, Interval: time.Millisecond, Define: func(list []tags.Tag) error {
		if p.refuseDerived.Load() {
			return errRefused
		}
		p.defined = list
		return nil
	}})
	require.NoError(t, err)
	t.Cleanup(p.derived.Close)
	p.service, err = tagtemplate.New(t.Context(), p.derived, tagtemplate.Options{Repository: repository, Interval: time.Millisecond,
		SetTags: func(list []tags.Tag) error {
			if p.refuse.Load() {
				return errRefused
			}
			p.tags = list
			return nil
		}})
	require.NoError(t, err)
	return p
}

func TestInstancesDefineTags(t *testing.T) {
	ctx, repository := t.Context(), derived.NewMemory()
	p := open(t, repository)
	_, err := p.service.Create(ctx, template(t, pump), tagtemplate.Edit{})
	require.NoError(t, err)
	_, err = p.service.Create(ctx, template(t, pump), tagtemplate.Edit{})
	require.ErrorIs(t, err, tagtemplate.ErrExists)
	for _, text := range []string{`{"id": "p1", "values": {"driver": "plc1", "base": 100}}`, `{"id": "p2", "values": {"driver": "plc2", "base": 200, "max": 10}}`} {
		plan, added, err := p.service.PutInstance(ctx, "pump", instance(t, text), tagtemplate.Edit{})
		require.NoError(t, err)
		require.True(t, added)
		require.Len(t, plan.Added, 3)
	}
	require.Len(t, p.tags, 4)
	require.Equal(t, "p1.speed", p.tags[0].Name)
	require.Equal(t, "plc1", p.tags[0].Driver)
	require.Equal(t, "HR:100", p.tags[0].Address)
	require.InDelta(t, 50, *p.tags[0].Max, 0)
	require.Equal(t, "HR:202.0", p.tags[3].Address)
	require.Len(t, p.defined, 2)
	load, err := p.derived.Get("p2.load")
	require.NoError(t, err)
	require.Equal(t, `tag("p2.speed") / 10`, load.Expression)
	require.Equal(t, "pump/p2", load.Owner)
	require.ErrorIs(t, p.derived.Delete(ctx, "p2.load", nil), derived.ErrOwned)

	// One edit of the template changes its instances, and only what differs.
	next := template(t, pump)
	next.Tags = next.Tags[:1]
	next.Tags[0]["unit"] = json.RawMessage(`"1/min"`)
	plan, err := p.service.Replace(ctx, next, tagtemplate.Edit{DryRun: true})
	require.NoError(t, err)
	want := tagtemplate.Plan{Changed: []string{"p1.speed", "p2.speed"}, Removed: []string{"p1.on", "p2.on"}}
	require.Equal(t, want, plan)
	require.Len(t, p.tags, 4)
	plan, err = p.service.Replace(ctx, next, tagtemplate.Edit{})
	require.NoError(t, err)
	require.Equal(t, want, plan)
	require.Len(t, p.tags, 2)

	// After a restart it is the same.
	again := open(t, repository)
	require.Equal(t, p.tags, again.tags)
	require.Len(t, again.defined, 2)
	require.ErrorIs(t, again.service.Delete(ctx, "pump", tagtemplate.Edit{}), tagtemplate.ErrInUse)
	for _, id := range []string{"p1", "p2"} {
		require.NoError(t, again.service.DeleteInstance(ctx, "pump", id, tagtemplate.Edit{}))
	}
	require.Empty(t, again.tags)
	require.Empty(t, again.defined)
	require.NoError(t, again.service.Delete(ctx, "pump", tagtemplate.Edit{}))
	require.ErrorIs(t, again.service.Delete(ctx, "pump", tagtemplate.Edit{}), tagtemplate.ErrNotFound)
}

func TestWhatIsRefused(t *testing.T) {
	ctx := t.Context()
	p := open(t, nil)
	_, err := p.service.Create(ctx, template(t, pump), tagtemplate.Edit{})
	require.NoError(t, err)
	for text, want := range map[string]string{
		`{"id": "p1", "values": {"driver": "plc1"}}`:                       "values.base is required",
		`{"id": "p1", "values": {"driver": "x", "base": 1}}`:               "must match plc[0-9]+",
		`{"id": "p1", "values": {"driver": "plc1", "base": -1}}`:           "outside the limits",
		`{"id": "p1", "values": {"driver": "plc1", "base": 1.5}}`:          "must be of type Int",
		`{"id": "p1", "values": {"driver": "plc1", "base": 1, "size": 1}}`: "is not a parameter",
		`{"id": "p/1", "values": {"driver": "plc1", "base": 1}}`:           "must be 1 to 128 letters",
	} {
		_, _, err := p.service.PutInstance(ctx, "pump", instance(t, text), tagtemplate.Edit{})
		require.ErrorIs(t, err, tagtemplate.ErrInvalid, text)
		require.ErrorContains(t, err, want)
	}
	for text, want := range map[string]string{
		`{"id": "x", "tags": [{"tagId": "${name}"}]}`:                                "${name} names no parameter",
		`{"id": "x", "parameters": [{"name": "instance", "type": "Int"}]}`:           "a meaning of its own",
		`{"id": "x", "parameters": [{"name": "a", "type": "Bytes"}]}`:                "must be one of",
		`{"id": "x", "parameters": [{"name": "a", "type": "Int", "default": true}]}`: "must be of type Int",
		`{"id": "a/b"}`: "must be 1 to 128 letters",
	} {
		_, err := p.service.Create(ctx, template(t, text), tagtemplate.Edit{})
		require.ErrorIs(t, err, tagtemplate.ErrInvalid, text)
		require.ErrorContains(t, err, want)
	}
	same := template(t, pump)
	same.ID, same.Tags[0]["tagId"] = "other", json.RawMessage(`"fixed"`)
	_, err = p.service.Create(ctx, same, tagtemplate.Edit{})
	require.NoError(t, err)
	_, _, err = p.service.PutInstance(ctx, "other", instance(t, `{"id": "a", "values": {"driver": "plc1", "base": 1}}`), tagtemplate.Edit{})
	require.NoError(t, err)
	_, _, err = p.service.PutInstance(ctx, "other", instance(t, `{"id": "b", "values": {"driver": "plc1", "base": 1}}`), tagtemplate.Edit{})
	require.ErrorContains(t, err, `"fixed" of instance other/b is also one of other/a`)
	_, _, err = p.service.PutInstance(ctx, "none", tagtemplate.Instance{ID: "a"}, tagtemplate.Edit{})
	require.ErrorIs(t, err, tagtemplate.ErrNotFound)
}

// What one instance needs may be gone at a start, such as a tag of a driver that was removed. The others do not depend on it.
func TestAnUnknownInputAtTheStartHarmsNobodyElse(t *testing.T) {
	ctx, repository := t.Context(), derived.NewMemory()
	p := open(t, repository)
	require.NoError(t, p.engine.DefineTags(tags.Tag{Name: "weather.temp", Driver: "weather", Address: "1", DataType: tags.Float, Access: tags.ReadOnly, Scale: 1}))
	_, err := p.service.Create(ctx, template(t, pump), tagtemplate.Edit{})
	require.NoError(t, err)
	_, _, err = p.service.PutInstance(ctx, "pump", instance(t, `{"id": "p1", "values": {"driver": "plc1", "base": 100}}`), tagtemplate.Edit{})
	require.NoError(t, err)
	_, err = p.service.Create(ctx, template(t, `{"id": "outdoor", "derivedTags": [{"id": "${instance}.feel", "expression": "tag(\"weather.temp\") + 1"}]}`), tagtemplate.Edit{})
	require.NoError(t, err)
	_, _, err = p.service.PutInstance(ctx, "outdoor", instance(t, `{"id": "roof"}`), tagtemplate.Edit{})
	require.NoError(t, err)

	again := open(t, repository)
	require.Len(t, again.tags, 2)
	_, err = again.derived.Get("p1.load")
	require.NoError(t, err)
	_, _, err = again.service.PutInstance(ctx, "pump", instance(t, `{"id": "p2", "values": {"driver": "plc2", "base": 100}}`), tagtemplate.Edit{})
	require.NoError(t, err)

	// It is computed when the tag comes back.
	following, cancel := context.WithCancel(ctx)
	followed := make(chan struct{})
	go func() { defer close(followed); again.derived.Follow(following) }()
	require.NoError(t, again.engine.DefineTags(tags.Tag{Name: "weather.temp", Driver: "weather", Address: "1", DataType: tags.Int, Access: tags.ReadOnly, Scale: 1}))
	require.Eventually(t, func() bool {
		d, err := again.derived.Get("roof.feel")
		return err == nil && d.Kind == tags.Int
	}, time.Minute, time.Millisecond)
	cancel()
	<-followed
	require.True(t, slices.ContainsFunc(again.defined, func(tag tags.Tag) bool { return tag.Name == "roof.feel" && tag.DataType == tags.Int }))
}

// brokenRepository is a repository whose changes can be made to fail after some.
type brokenRepository struct {
	*derived.Memory
	left atomic.Int64 // changes that succeed
}

func (r *brokenRepository) Change(ctx context.Context, put, remove []derived.Document) (int64, error) {
	if r.left.Add(-1) < 0 {
		return 0, errors.New("gone")
	}
	return r.Memory.Change(ctx, put, remove)
}

// An edit whose tags cannot be defined has no effect: not on what is shown, stored or defined.
func TestAnEditThatCannotBeDefinedIsTakenBack(t *testing.T) {
	ctx, repository := t.Context(), derived.NewMemory()
	p := open(t, repository)
	_, err := p.service.Create(ctx, template(t, pump), tagtemplate.Edit{})
	require.NoError(t, err)
	_, _, err = p.service.PutInstance(ctx, "pump", instance(t, `{"id": "p1", "values": {"driver": "plc1", "base": 100}}`), tagtemplate.Edit{})
	require.NoError(t, err)
	tagsBefore, definedBefore := slices.Clone(p.tags), slices.Clone(p.defined)
	before, err := p.service.Template("pump")
	require.NoError(t, err)
	for name, refuse := range map[string]*atomic.Bool{"tags": &p.refuse, "derived tags": &p.refuseDerived} {
		t.Run(name, func(t *testing.T) {
			refuse.Store(true)
			defer refuse.Store(false)
			next := template(t, pump)
			next.Tags[0]["unit"] = json.RawMessage(`"1/min"`)
			next.DerivedTags = nil
			_, err := p.service.Replace(ctx, next, tagtemplate.Edit{})
			require.ErrorIs(t, err, errRefused)
			_, _, err = p.service.PutInstance(ctx, "pump", instance(t, `{"id": "p2", "values": {"driver": "plc2", "base": 1}}`), tagtemplate.Edit{})
			require.ErrorIs(t, err, errRefused)
			require.ErrorIs(t, p.service.DeleteInstance(ctx, "pump", "p1", tagtemplate.Edit{}), errRefused)
			refuse.Store(false)

			now, err := p.service.Template("pump")
			require.NoError(t, err)
			require.Equal(t, before.Template, now.Template)
			instances, err := p.service.Instances("pump")
			require.NoError(t, err)
			require.Len(t, instances, 1)
			require.Equal(t, tagsBefore, p.tags)
			require.Equal(t, definedBefore, p.defined)
			load, err := p.derived.Get("p1.load")
			require.NoError(t, err)
			require.Equal(t, "pump/p1", load.Owner)
			_, err = p.derived.Get("p2.load")
			require.ErrorIs(t, err, derived.ErrNotFound)
			require.NoError(t, p.service.Err())

			again := open(t, repository)
			require.Equal(t, tagsBefore, again.tags)
			require.Equal(t, definedBefore, again.defined)
			_, err = p.service.Replace(ctx, template(t, pump), tagtemplate.Edit{Must: func(revision int64) error {
				require.Equal(t, now.Revision, revision)
				return nil
			}})
			require.NoError(t, err, "the next edit finds it as it is shown")
		})
	}
}

// An edit that can be neither defined nor taken back is defined later.
func TestAnEditThatCannotBeTakenBackIsDefinedLater(t *testing.T) {
	repository := &brokenRepository{Memory: derived.NewMemory()}
	repository.left.Store(2)
	p := open(t, repository)
	_, err := p.service.Create(t.Context(), template(t, pump), tagtemplate.Edit{})
	require.NoError(t, err)
	p.refuse.Store(true)
	_, _, err = p.service.PutInstance(t.Context(), "pump", instance(t, `{"id": "p1", "values": {"driver": "plc1", "base": 100}}`), tagtemplate.Edit{})
	require.ErrorIs(t, err, errRefused)
	require.ErrorIs(t, p.service.Err(), errRefused)
	require.Empty(t, p.tags)
	p.refuse.Store(false)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { p.service.Follow(ctx); close(done) }()
	require.Eventually(t, func() bool { return p.service.Err() == nil }, time.Minute, time.Millisecond)
	cancel()
	<-done
	require.Len(t, p.tags, 2)
	require.Len(t, p.defined, 1)
}
