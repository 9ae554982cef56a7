package fault_test

import (
	"errors"
	"fmt"

	"github.com/otkit/otkit/fault"
)

var errPumpNotFound = fault.New(fault.NotFound, "PUMP_NOT_FOUND", "pump not found")

func Example() {
	err := fmt.Errorf("start: %w", errPumpNotFound.On("pump", "P-101"))

	fmt.Println(err)
	fmt.Println(errors.Is(err, errPumpNotFound), fault.KindOf(err))
	// Output:
	// start: pump not found: P-101
	// true not found
}
