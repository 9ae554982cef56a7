package modbus_test

import (
	"encoding/json"
	"fmt"

	"github.com/otkit/otkit/tags/driverconfig"
	"github.com/otkit/otkit/tags/modbus"
)

func ExampleFromSettings() {
	_, list, err := modbus.FromSettings(driverconfig.Settings{
		ID: "press", Type: "Modbus", IPAddress: "192.168.1.10",
		Settings: json.RawMessage(`{
			"Protocol": "TCP", "SlaveId": 1, "PollIntervalMs": 500, "TimeoutMs": 2000, "MaxGap": 8, "ByteOrder": "CDAB",
			"Tags": [
				{"Name": "Force", "Address": "40001", "Type": "Float32", "Unit": "kN", "MinValue": 0, "MaxValue": 900},
				{"Name": "Speed", "Address": "HR:10", "Type": "Int16", "ScalingFactor": 0.1, "AccessMode": "ReadWrite"},
				{"Name": "Door", "Address": "HR:20.3", "Type": "Bool"},
				{"Name": "Furnace", "Address": "3/IR:0", "Type": "UInt32", "ByteOrder": "ABCD"}
			]}`),
	}, nil)
	if err != nil {
		fmt.Println(err)
	}
	for _, t := range list {
		fmt.Println(t.Name, t.DataType, t.Access)
	}

	_, _, err = modbus.FromSettings(driverconfig.Settings{
		ID: "press", Type: "Modbus", IPAddress: "192.168.1.10",
		Settings: json.RawMessage(`{"Tags": [{"Name": "Force", "Adr": "40001", "Type": "Int24"}]}`),
	}, nil)
	fmt.Println(err)
	// Output:
	// press.Force Float ReadOnly
	// press.Speed Float ReadWrite
	// press.Door Bool ReadOnly
	// press.Furnace Int ReadOnly
	// driver settings are not valid: Settings.Tags[0].Adr is not a known member; Settings.Tags[0].Address is required
}
