package driverconfig_test

import (
	"fmt"

	"github.com/otkit/otkit/tags/driverconfig"
)

func ExampleDecode() {
	var settings struct {
		SlaveID int `json:"SlaveId"`
		Tags    []struct{ Name, Address, Type string }
	}
	err := driverconfig.Decode([]byte(`{"slaveId": 1, "Tags": [{"Name": "level", "Addr": "40001"}]}`), &settings, "Settings")
	fmt.Println(err)
	// Output: driver settings are not valid: Settings.Tags[0].Addr is not a known member
}
