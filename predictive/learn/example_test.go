package learn_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/otkit/otkit/predictive/learn"
)

// A pump fails soon when it is hot and vibrates. The model finds that from past windows, one per row, and says which
// feature is to blame.
func Example() {
	random := rand.New(rand.NewPCG(1, 2))
	x := mat.NewDense(2000, 2, nil) // temperature in °C, vibration in mm/s
	failed := make([]bool, 2000)
	for i := range failed {
		temperature, vibration := 40+50*random.Float64(), 10*random.Float64()
		x.SetRow(i, []float64{temperature, vibration})
		failed[i] = temperature > 70 && vibration > 6
	}

	model, err := learn.FitClassifier(context.Background(), x, failed, learn.BoostOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, row := range [][]float64{{80, 9}, {80, 2}, {math.NaN(), 2}} {
		fmt.Printf("%v: %.1f\n", row, model.Predict(row))
	}
	shares := model.Contributions([]float64{80, 9}, nil)
	fmt.Println("both push up:", shares[0] > 0 && shares[1] > 0)
	// Output:
	// [80 9]: 1.0
	// [80 2]: 0.0
	// [NaN 2]: 0.0
	// both push up: true
}
