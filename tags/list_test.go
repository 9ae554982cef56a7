package tags_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
)

func TestList(t *testing.T) {
	e := newEngine(t, tags.Options{})
	for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(120) {
		require.NoError(t, e.DefineTags(intTag(fmt.Sprintf("plc%d.tag%03d", i%3, i))))
	}
	names := func(q tags.ListQuery) []string {
		list, total, err := e.List(q)
		require.NoError(t, err)
		require.NotNil(t, list, "an empty page is a list too")
		texts := []string{fmt.Sprint(total)}
		for _, s := range list {
			texts = append(texts, s.Tag.Name)
		}
		return texts
	}
	require.Len(t, names(tags.ListQuery{}), 51, "fifty on a page")
	require.Equal(t, []string{"120", "plc0.tag000", "plc0.tag003"}, names(tags.ListQuery{PageSize: 2}))
	require.Equal(t, []string{"120", "plc2.tag119"}, names(tags.ListQuery{Page: 120, PageSize: 1}))
	require.Equal(t, []string{"120", "plc2.tag116", "plc2.tag119"}, names(tags.ListQuery{Page: 60, PageSize: 2}))
	require.Equal(t, []string{"120", "plc2.tag119"}, names(tags.ListQuery{Page: 18, PageSize: 7}), "the last page is short")
	require.Equal(t, []string{"120"}, names(tags.ListQuery{Page: 61, PageSize: 2}))
	require.Equal(t, []string{"40", "plc1.tag001"}, names(tags.ListQuery{Driver: "plc1", PageSize: 1}))
	require.Equal(t, []string{"0"}, names(tags.ListQuery{Driver: "PLC1"}), "a driver id is exact")
	require.Equal(t, []string{"4", "plc0.tag036", "plc0.tag039"}, names(tags.ListQuery{Driver: "plc0", Pattern: "%TAG03_", Page: 2, PageSize: 2}))
	require.Equal(t, []string{"1", "plc2.tag119"}, names(tags.ListQuery{Pattern: "%119"}))
	require.Equal(t, "120", names(tags.ListQuery{Pattern: "%", PageSize: 1})[0])
	for _, page := range []int{1 << 20, math.MaxInt32, math.MaxInt} {
		require.Equal(t, []string{"120"}, names(tags.ListQuery{Page: page, PageSize: 500}))
	}
	e.RemoveTags("plc0.tag000")
	require.Equal(t, []string{"119", "plc0.tag003"}, names(tags.ListQuery{PageSize: 1}))
}

func TestListRefuses(t *testing.T) {
	e := newEngine(t, tags.Options{})
	for q, want := range map[tags.ListQuery]error{
		{Page: -1}:          tags.ErrInvalidRequest,
		{PageSize: -1}:      tags.ErrInvalidRequest,
		{PageSize: 501}:     tags.ErrPageSizeExceeded,
		{Sort: 99}:          tags.ErrInvalidRequest,
		{Pattern: `\`}:      tags.ErrInvalidRequest,
		{Page: math.MinInt}: tags.ErrInvalidRequest,
	} {
		_, _, err := e.List(q)
		require.ErrorIs(t, err, want, "%+v", q)
	}
	_, total, err := e.List(tags.ListQuery{PageSize: 500})
	require.NoError(t, err)
	require.Zero(t, total)
}

func TestListSorts(t *testing.T) {
	e := newEngine(t, tags.Options{})
	define := func(name, driver string) {
		tag := intTag(name)
		tag.Driver = driver
		require.NoError(t, e.DefineTags(tag))
	}
	names := func(q tags.ListQuery) (all []string) {
		q.PageSize = 2
		for q.Page = 1; ; q.Page++ {
			list, total, err := e.List(q)
			require.NoError(t, err)
			for _, s := range list {
				all = append(all, s.Tag.Name)
			}
			if q.Page*2 >= total {
				require.Len(t, all, total)
				return all
			}
		}
	}
	define("tag10", "b")
	define("tag2", "a")
	define("Tag1", "b")
	require.Equal(t, []string{"Tag1", "tag10", "tag2"}, names(tags.ListQuery{}))
	require.Equal(t, []string{"Tag1", "tag2", "tag10"}, names(tags.ListQuery{Sort: tags.SortNatural}))
	define("tag3", "a") // and once more, when the order is there already
	define("tag02", "c")
	e.RemoveTags("tag10")
	define("tag11", "b")
	require.Equal(t, []string{"Tag1", "tag02", "tag2", "tag3", "tag11"}, names(tags.ListQuery{Sort: tags.SortNatural}))
	require.Equal(t, []string{"tag11", "tag3", "tag2", "tag02", "Tag1"}, names(tags.ListQuery{Sort: tags.SortNatural, Descending: true}))
	require.Equal(t, []string{"tag2", "tag3", "Tag1", "tag11", "tag02"}, names(tags.ListQuery{Sort: tags.SortDriver}))
	require.Equal(t, []string{"tag02", "Tag1", "tag11", "tag2", "tag3"}, names(tags.ListQuery{Sort: tags.SortDriver, Descending: true}))
	define("tag3", "0") // moves to another driver
	require.Equal(t, []string{"tag3", "tag2", "Tag1", "tag11", "tag02"}, names(tags.ListQuery{Sort: tags.SortDriver}))
	require.Equal(t, []string{"tag11", "Tag1"}, names(tags.ListQuery{Sort: tags.SortNatural, Descending: true, Text: "G1"}))
}

func TestListSortsByTime(t *testing.T) {
	now := time.Unix(0, 0)
	e := newEngine(t, tags.Options{Now: func() time.Time { return now }})
	const n = 5000 // more than are sorted at once
	want := make([]string, n)
	for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(n) {
		want[i] = fmt.Sprintf("plc.tag%d", i)
		now = time.Unix(int64(i/2), 0) // two tags each have the same time, and come by name
		require.NoError(t, e.DefineTags(intTag(want[i])))
	}
	page := func(q tags.ListQuery) (names []string) {
		q.Sort = tags.SortSourceTime
		list, total, err := e.List(q)
		require.NoError(t, err)
		require.Equal(t, n, total)
		for _, s := range list {
			names = append(names, s.Tag.Name)
		}
		return names
	}
	require.Equal(t, want[:100], page(tags.ListQuery{PageSize: 100}))
	require.Equal(t, want[2400:2500], page(tags.ListQuery{PageSize: 100, Page: 25}))
	require.Equal(t, want[4900:], page(tags.ListQuery{PageSize: 100, Page: 50}))
	require.Empty(t, page(tags.ListQuery{PageSize: 100, Page: 51}))
	require.Equal(t, []string{"plc.tag4998", "plc.tag4999", "plc.tag4996"}, page(tags.ListQuery{PageSize: 3, Descending: true}))
}

func TestListByQualityAndText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice()
		d.set(func(d *device) {
			d.readings["2"] = tags.Reading{Value: tags.IntValue(1), Quality: tags.Uncertain}
			d.readings["10"] = tags.Reading{Err: errDevice}
		})
		unit := func(t *tags.Tag) { t.Unit, t.Description = "m³/H", "Flow of OIL" }
		e := online(t, d, tags.DriverOptions{Tags: []tags.Tag{intTag("plc.1"), intTag("plc.2", unit), intTag("plc.10")}})
		names := func(q tags.ListQuery) (all []string) {
			list, total, err := e.List(q)
			require.NoError(t, err)
			require.Len(t, list, total)
			for _, s := range list {
				all = append(all, s.Tag.Name)
			}
			return all
		}
		require.Equal(t, []string{"plc.10", "plc.2", "plc.1"}, names(tags.ListQuery{Sort: tags.SortQuality}))
		require.Equal(t, []string{"plc.1", "plc.2", "plc.10"}, names(tags.ListQuery{Sort: tags.SortQuality, Descending: true}))
		require.Equal(t, []string{"plc.10"}, names(tags.ListQuery{Qualities: tags.Qualities(tags.Bad)}))
		require.Equal(t, []string{"plc.1", "plc.2"}, names(tags.ListQuery{Qualities: tags.Qualities(tags.Good, tags.Uncertain)}))
		for _, text := range []string{"PLC.2", "of oil", "m³/h"} {
			require.Equal(t, []string{"plc.2"}, names(tags.ListQuery{Text: text}), text)
		}
		require.Empty(t, names(tags.ListQuery{Text: "%"}), "no pattern")
	})
}
