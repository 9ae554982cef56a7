package predictive

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMemoryRecords(t *testing.T) {
	var r MemoryRecords
	ctx := t.Context()
	require.NoError(t, r.AddFailures(ctx, []Failure{{ID: "b", EquipmentID: "p", Start: hour(2), Source: SourceAlarm, Code: "7"}, {ID: "a", EquipmentID: "q", Component: "Seal", Start: hour(1)}}))
	require.ErrorIs(t, r.AddFailures(ctx, []Failure{{ID: "c"}, {ID: "a"}}), ErrRecordExists)
	require.NoError(t, r.AddFailures(ctx, []Failure{{ID: "d", EquipmentID: "p", Start: hour(2), Source: SourceAlarm, Code: "7"}}), "the alarm is known")
	page, err := r.Failures(ctx, RecordQuery{Count: true, Limit: 1})
	require.NoError(t, err)
	require.Equal(t, 2, page.Total)
	require.Len(t, page.Items, 1)
	require.Equal(t, "a", page.Items[0].ID)
	for _, test := range []struct {
		query RecordQuery
		want  int
	}{{RecordQuery{EquipmentID: "p"}, 1}, {RecordQuery{Component: "Seal"}, 1}, {RecordQuery{From: hour(2)}, 1}, {RecordQuery{To: hour(2)}, 1}, {RecordQuery{Offset: 5}, 0}} {
		page, err := r.Failures(ctx, test.query)
		require.NoError(t, err)
		require.Len(t, page.Items, test.want)
	}
	require.NoError(t, r.DeleteFailure(ctx, "a"))
	require.ErrorIs(t, r.DeleteFailure(ctx, "a"), ErrRecordNotFound)
	replacement := Replacement{ID: "1", EquipmentID: "p", At: hour(3), Reason: ReasonFailure}
	require.NoError(t, r.AddReplacements(ctx, []Replacement{replacement}))
	require.ErrorIs(t, r.AddReplacements(ctx, []Replacement{replacement}), ErrRecordExists)
	require.NoError(t, r.DeleteReplacement(ctx, "1"))
	require.ErrorIs(t, r.DeleteReplacement(ctx, "1"), ErrRecordNotFound)
}

func TestMemoryRegistry(t *testing.T) {
	var r MemoryRegistry
	ctx := t.Context()
	_, _, err := r.Get(ctx, RULModel, 0)
	require.ErrorIs(t, err, ErrModelNotFound)
	_, err = r.Put(ctx, Meta{ModelType: "../x"}, nil)
	require.ErrorIs(t, err, ErrModelType)
	for want := range 3 {
		version, err := r.Put(ctx, Meta{ModelType: RULModel, Default: want < 2}, []byte{byte(want)})
		require.NoError(t, err)
		require.Equal(t, want+1, version)
	}
	meta, data, err := r.Get(ctx, RULModel, 0)
	require.NoError(t, err)
	require.Equal(t, 2, meta.Version)
	require.Equal(t, []byte{1}, data)
	require.Equal(t, 1, meta.Size)
	require.NoError(t, r.Delete(ctx, RULModel, 3))
	require.ErrorIs(t, r.Delete(ctx, RULModel, 3), ErrModelNotFound)
	version, err := r.Put(ctx, Meta{ModelType: RULModel}, nil)
	require.NoError(t, err)
	require.Equal(t, 4, version, "a version is not used again")
	list, err := r.List(ctx, RULModel)
	require.NoError(t, err)
	require.Len(t, list, 3)
	require.Equal(t, 4, list[0].Version)
}
