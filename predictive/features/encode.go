package features

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/otkit/otkit/predictive/learn"
)

// stored is an extractor as it is written.
type stored struct {
	Format     int      `json:"format"`
	Options    Options  `json:"options"`
	Signals    []Signal `json:"signals"`
	Columns    []int    `json:"columns"`
	Conditions []byte   `json:"conditions"`
}

const format = 1

// MarshalBinary returns the extractor as JSON.
func (x *Extractor) MarshalBinary() ([]byte, error) {
	conditions, err := x.levels.conditions.MarshalBinary()
	if err != nil {
		return nil, err
	}
	return json.Marshal(stored{format, x.options, x.signals, x.levels.columns, conditions})
}

// UnmarshalBinary replaces the extractor by one that MarshalBinary wrote. If data are damaged or of another format, it returns an
// error that wraps [learn.ErrModel] and changes nothing.
func (x *Extractor) UnmarshalBinary(data []byte) error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("features: %w: extractor: %w", learn.ErrModel, fmt.Errorf(format, args...))
	}
	var s stored
	if err := json.Unmarshal(data, &s); err != nil {
		return fail("%w", err)
	}
	if s.Format != format {
		return fail("format %d, want %d", s.Format, format)
	}
	options, err := s.Options.withDefaults()
	if err == nil {
		err = validate(s.Signals)
	}
	if err != nil {
		return fail("%w", err)
	}
	conditions := new(learn.Conditions)
	if err := conditions.UnmarshalBinary(s.Conditions); err != nil {
		return err
	}
	values := 0
	for _, signal := range s.Signals {
		if !signal.Setting {
			values++
		}
	}
	if means, _ := conditions.Scale(0); len(means) != values {
		return fail("operating conditions of %d signals, want %d", len(means), values)
	}
	n := len(s.Columns)
	if n == 0 || !slices.IsSorted(s.Columns) || len(slices.Compact(slices.Clone(s.Columns))) != n || s.Columns[0] < 0 || s.Columns[n-1] >= values {
		return fail("columns %v of %d signals", s.Columns, values)
	}
	*x = *newExtractor(options, s.Signals, newLevels(conditions, s.Columns))
	return nil
}
