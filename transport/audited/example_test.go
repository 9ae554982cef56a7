package audited_test

import (
	"context"
	"fmt"

	"github.com/otkit/otkit/transport/audited"
)

// A description of the operation setRecipe, whose objects are in the body of the request.
func Example() {
	recipes := map[string]string{"m1": "A"}
	type request struct{ Mixer, Recipe string }
	d := audited.Description{
		Objects: func(c audited.Call) []string {
			var r request
			c.Decode(&r) // a call that cannot be read has no objects
			return []string{r.Mixer}
		},
		Before: func(_ context.Context, c audited.Call) any {
			var r request
			c.Decode(&r)
			return map[string]string{"recipe": recipes[r.Mixer]}
		},
	}
	call := audited.Call{Body: []byte(`{"mixer":"m1","recipe":"B"}`)} // as the recorder has it
	fmt.Println(d.Objects(call), d.Before(context.Background(), call))
	// Output: [m1] map[recipe:A]
}
