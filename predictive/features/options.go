package features

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Kind names a feature.
type Kind string

// Kinds of features. [Age] is one column of a row; each other kind is a column of each signal.
const (
	Mean               Kind = "mean"
	StdDev             Kind = "stdDev"
	Trend              Kind = "trend"
	Last               Kind = "last"
	ShortMean          Kind = "shortMean"
	BaselineDifference Kind = "baselineDifference"
	EWMA               Kind = "ewma"
	Age                Kind = "age"
)

// Kinds returns all kinds in the order of columns.
func Kinds() []Kind {
	return []Kind{Mean, StdDev, Trend, Last, ShortMean, BaselineDifference, EWMA, Age}
}

// Signal is a column of the raw data.
type Signal struct {
	// Name is the name of the tag or sensor. Names of columns begin with it.
	Name string `json:"name"`
	// Setting is set for a signal that says how the unit is run, such as load, speed or product. Settings tell the
	// operating condition and have no features.
	Setting bool `json:"setting,omitempty"`
}

// Options changes the features. The zero value serves where one sample is as long as an hour or more is worth a row.
type Options struct {
	// Step is the distance of rows and the unit of the spans below. Default: one hour.
	Step time.Duration `json:"step"`
	// Window is the span of mean, stdDev, trend, last and ewma in steps, at most 10,000. Default: 30.
	Window int `json:"window"`
	// Short is the span of shortMean in steps. Default: a third of Window.
	Short int `json:"short"`
	// Smooth is the time in steps after which a sample weighs 1/e in ewma. Default: a third of Window.
	Smooth int `json:"smooth"`
	// Baseline is how many steps with samples at the beginning of a life make its baseline. Default: 20.
	Baseline int `json:"baseline"`
	// Kinds are the features to compute. Their order is that of [Kinds] always. Default: all.
	Kinds []Kind `json:"kinds"`
	// FitRows is how many rows of raw data a [Fitter] keeps. Default: 10,000.
	FitRows int `json:"-"`
	// Seed chooses the rows that a [Fitter] keeps and the start of its search for operating conditions.
	Seed uint64 `json:"-"`
}

const maxWindow = 10_000

// withDefaults returns valid options.
func (o Options) withDefaults() (Options, error) {
	for _, v := range []struct {
		name  string
		value int64
	}{
		{"Step", int64(o.Step)}, {"Window", int64(o.Window)}, {"Short", int64(o.Short)}, {"Smooth", int64(o.Smooth)},
		{"Baseline", int64(o.Baseline)}, {"FitRows", int64(o.FitRows)},
	} {
		if v.value < 0 {
			return o, fmt.Errorf("features: option %s is negative", v.name)
		}
	}
	set := func(value *int, fallback int) {
		if *value == 0 {
			*value = fallback
		}
	}
	if o.Step == 0 {
		o.Step = time.Hour
	}
	set(&o.Window, 30)
	set(&o.Short, max(o.Window/3, 1))
	set(&o.Smooth, max(o.Window/3, 1))
	set(&o.Baseline, 20)
	set(&o.FitRows, 10_000)
	if o.Window > maxWindow {
		return o, fmt.Errorf("features: option Window is %d steps, more than %d", o.Window, maxWindow)
	}
	if o.Short > o.Window {
		return o, fmt.Errorf("features: option Short is %d steps, more than the window of %d", o.Short, o.Window)
	}
	return o.withKinds()
}

// withKinds returns the options with kinds in order.
func (o Options) withKinds() (Options, error) {
	asked := o.Kinds
	o.Kinds = Kinds()
	for _, kind := range asked {
		if !slices.Contains(o.Kinds, kind) {
			return o, fmt.Errorf("features: kind %q is unknown", kind)
		}
	}
	if len(asked) > 0 {
		o.Kinds = slices.DeleteFunc(o.Kinds, func(kind Kind) bool { return !slices.Contains(asked, kind) })
	}
	return o, nil
}

// validate returns an error that names what is wrong with signals.
func validate(signals []Signal) error {
	names := make(map[string]bool, len(signals))
	values := 0
	for _, s := range signals {
		switch {
		case s.Name == "":
			return errors.New("features: a signal has no name")
		case names[s.Name]:
			return fmt.Errorf("features: signal %q is there twice", s.Name)
		}
		names[s.Name] = true
		if !s.Setting {
			values++
		}
	}
	if values == 0 {
		return errors.New("features: no signal other than settings")
	}
	return nil
}
