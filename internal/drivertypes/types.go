// Package drivertypes is the list of the driver types that the programs know by name.
package drivertypes

import (
	"github.com/otkit/otkit/tags/driverconfig"
	"github.com/otkit/otkit/tags/modbus"
	"github.com/otkit/otkit/tags/passive"
	"github.com/otkit/otkit/tags/simdriver"
)

// Polling returns the types that ask their devices, for any program.
func Polling() driverconfig.Types { return driverconfig.Types{modbus.Type(), simdriver.Type()} }

// Factories returns the factories of all types. Passive is for programs that receive values and push them.
func Factories() driverconfig.Factories { return append(Polling(), passive.Type()).Factories() }
