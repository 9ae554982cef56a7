package remote_test

import (
	"fmt"
	"time"

	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/predictive/remote"
)

func Example() {
	model, err := remote.New(remote.Options{URL: "https://models.example/rul", Token: "secret", Step: time.Hour})
	if err != nil {
		panic(err)
	}
	defer model.Close()
	deps := predictive.Deps{Models: map[predictive.ModelType]predictive.Model{predictive.RULModel: model}}
	fmt.Println(len(deps.Models))
	// Output: 1
}
