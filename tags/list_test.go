package tags_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

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
