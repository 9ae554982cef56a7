package hubs_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/transport/hubs"
)

func liveElement(idShort, tag string) *aas.Property {
	p := &aas.Property{ValueType: "xs:double"}
	p.IDShort = idShort
	p.Qualifiers = []aas.Qualifier{{Type: repository.LiveQualifier, ValueType: "xs:string", Value: &tag}}
	return p
}

func (r *room) createSubmodel(id string, elements ...aas.Element) {
	r.t.Helper()
	m := &aas.Submodel{Elements: elements}
	m.ID, m.IDShort = id, "M"
	_, err := r.submodels.Submodels.Create(r.t.Context(), m)
	require.NoError(r.t, err)
}

type submodelEvent struct {
	ID                string
	Complete, Removed bool
	Values            []struct{ Path, TagName, Value, Quality, QualityReason string }
}

// submodel returns the next message about a submodel.
func (c *client) submodel() (e submodelEvent) {
	c.t.Helper()
	m, err := c.event()
	require.NoError(c.t, err)
	require.Equal(c.t, "submodel", m.Target)
	require.NoError(c.t, json.Unmarshal(m.Arguments[0], &e))
	return e
}

func (c *client) refused(code string, args ...any) {
	c.t.Helper()
	m, err := c.invoke("Submodel", args...)
	require.NoError(c.t, err)
	require.Contains(c.t, m.Error, code, "%v", args)
}

func (c *client) watchSubmodel(id string, throttleMs int) {
	c.t.Helper()
	m, err := c.invoke("Submodel", id, throttleMs)
	require.NoError(c.t, err)
	require.Empty(c.t, m.Error)
}

func TestAConsoleFollowsSubmodels(t *testing.T) {
	r := newRoom(t, alarms.NewMemory(), alarms.Options{})
	r.createSubmodel("urn:a", liveElement("Level", "tank.level"), liveElement("Flow", "tank.flow"))
	r.createSubmodel("urn:b", liveElement("Flow", "tank.flow"))
	c := r.dial()
	c.watchSubmodel("urn:a", 50)
	first := c.submodel()
	require.Equal(t, "urn:a", first.ID)
	require.True(t, first.Complete)
	require.Len(t, first.Values, 2)
	require.Equal(t, "tank.level", first.Values[0].TagName)
	require.Equal(t, "Bad", first.Values[0].Quality)

	c.watchSubmodel("urn:b", 50)
	require.Equal(t, "urn:b", c.submodel().ID)
	r.push("level", 7.5)
	for e := c.submodel(); ; e = c.submodel() {
		require.Equal(t, "urn:a", e.ID)
		require.Len(t, e.Values, 1, "only what changed")
		require.False(t, e.Complete)
		if e.Values[0].Quality == "Good" {
			require.Equal(t, "Level", e.Values[0].Path)
			require.Equal(t, "7.5", e.Values[0].Value)
			break
		}
	}

	c.watchSubmodel("urn:a", 0) // ends it
	r.push("flow", 3)
	for e := c.submodel(); e.Values[0].Value != "3"; e = c.submodel() {
		require.Equal(t, "urn:b", e.ID)
	}
	require.NoError(t, r.submodels.Submodels.Delete(t.Context(), "urn:b", repository.Match{}))
	e := c.submodel()
	require.True(t, e.Removed)
	require.Equal(t, "urn:b", e.ID)
}

func TestAConsoleHasBoundsForSubmodels(t *testing.T) {
	r := newRoom(t, alarms.NewMemory(), alarms.Options{})
	c := r.dial()
	c.refused("SUBMODEL_NOT_FOUND: ", "urn:none", 100)
	c.refused("INVALID_REQUEST: ", "urn:none", 49)
	c.refused("INVALID_REQUEST: ", "urn:none", 3_600_001)
	c.refused("INVALID", "urn:none")
	for i := range hubs.MaxConsoleSubmodels {
		id := fmt.Sprint("urn:", i)
		r.createSubmodel(id)
		c.watchSubmodel(id, 1000)
		require.Equal(t, id, c.submodel().ID)
	}
	r.createSubmodel("urn:more")
	c.refused("INVALID_REQUEST: ", "urn:more", 1000)
	c.watchSubmodel("urn:5", 1000) // again, in its own place
	require.Equal(t, "urn:5", c.submodel().ID)
}

// A submodel of many properties comes in several messages, of which the first begins anew.
func TestAConsoleGetsALargeSubmodelInParts(t *testing.T) {
	r := newRoom(t, alarms.NewMemory(), alarms.Options{})
	var elements []aas.Element
	for i := range 1200 {
		elements = append(elements, liveElement(fmt.Sprint("P", i), "tank.level"))
	}
	r.createSubmodel("urn:large", elements...)
	c := r.dial()
	c.watchSubmodel("urn:large", 100)
	var sizes []int
	for range 3 {
		e := c.submodel()
		require.Equal(t, len(sizes) == 0, e.Complete)
		sizes = append(sizes, len(e.Values))
	}
	require.Equal(t, []int{500, 500, 200}, sizes)
}
