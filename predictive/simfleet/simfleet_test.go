package simfleet

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func Example() {
	units, err := New(Options{Units: 3, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := Operate(units, 6, 1); err != nil {
		fmt.Println(err)
		return
	}
	u := &units[0]
	life := len(u.Sensors)
	u.Stop(100)
	fmt.Println(len(units), len(u.Settings[0]), len(u.Sensors[0]), u.After == life-100)
	// Output: 3 3 21 true
}

func TestSameSeedGivesTheSameFleet(t *testing.T) {
	a, err := New(Options{Units: 4, Seed: 3})
	require.NoError(t, err)
	b, err := New(Options{Units: 4, Seed: 3})
	require.NoError(t, err)
	require.Equal(t, a, b)
	require.NoError(t, Operate(a, 6, 1))
	require.NotEqual(t, a, b)
	require.NoError(t, Operate(b, 6, 1))
	require.Equal(t, a, b)
}

func TestFleetHasConstantSensors(t *testing.T) {
	units, err := New(Options{Units: 2})
	require.NoError(t, err)
	for j := range 21 {
		var column []float64
		for _, values := range units[0].Sensors {
			column = append(column, values[j])
		}
		require.Equal(t, j%7 == 0, slices.Min(column) == slices.Max(column), j)
	}
}

func TestBadOptionsAreNamed(t *testing.T) {
	_, err := New(Options{Units: -1})
	require.ErrorContains(t, err, "Units")
	require.Error(t, Operate(nil, 0, 1))
	require.NoError(t, Operate(nil, 1, 1))
}
