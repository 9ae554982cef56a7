package predictive

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/fault"
)

func TestRecordsAreValidated(t *testing.T) {
	at := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	failure := Failure{ID: "1", EquipmentID: "pump 1", Source: SourceManual, Note: "line\r\nbreak", Start: at, Noticed: at, End: at}
	replacement := Replacement{ID: "1", EquipmentID: "pump 1", Component: "Seal", At: at, Reason: ReasonPreventive, Source: SourceCSV}
	require.NoError(t, failure.Validate())
	require.NoError(t, replacement.Validate())
	members := func(err error) (list []string) {
		require.ErrorIs(t, err, ErrInvalidRequest)
		e, _ := fault.From(err)
		for _, f := range e.Fields {
			list = append(list, f.Field)
		}
		return list
	}
	require.Equal(t, []string{"id", "equipmentId", "source", "start"}, members(Failure{}.Validate()))
	require.Equal(t, []string{"id", "equipmentId", "component", "at", "reason", "source"}, members(Replacement{}.Validate()))
	for member, change := range map[string]func(f *Failure){
		"id":          func(f *Failure) { f.ID = "a\x00" },
		"equipmentId": func(f *Failure) { f.EquipmentID = " a" },
		"component":   func(f *Failure) { f.Component = strings.Repeat("x", MaxRecordName+1) },
		"code":        func(f *Failure) { f.Code = "a\nb" },
		"source":      func(f *Failure) { f.Source = "Alarm" },
		"start":       func(f *Failure) { f.Start = at.AddDate(-200, 0, 0) },
		"noticed":     func(f *Failure) { f.Noticed = at.Add(-1) },
		"end":         func(f *Failure) { f.End = at.AddDate(9000, 0, 0) },
		"note":        func(f *Failure) { f.Note = "\xff" },
	} {
		f := failure
		change(&f)
		require.Equal(t, []string{member}, members(f.Validate()))
	}
	replacement.Reason, replacement.Component = "worn", "a\tb"
	require.Equal(t, []string{"component", "reason"}, members(replacement.Validate()))
}
