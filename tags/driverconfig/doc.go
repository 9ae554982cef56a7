// Package driverconfig reads the settings of drivers and makes drivers from them.
//
// One driver is one JSON object with the members Id, Type, IpAddress, Port and Settings. The first
// four are the same for every driver; Settings belongs to the type. A bridge has one such object, the
// member Driver of its driver_settings.json; an engine has a list of them in its own settings.
//
//	{
//	  "Driver": {
//	    "Id": "press", "Type": "Simulation",
//	    "Settings": {"DeviceCount": 2, "TagsPerDevice": 10, "UpdateIntervalMs": 500, "Scenario": "Sine"}
//	  }
//	}
//
// Each driver package has a Factory that reads its Settings with Decode. Decode is strict where
// encoding/json is not: a misspelt member, a value of the wrong type or a member given twice stops
// the start with the path of each, such as Settings.Tags[3].Address, instead of a driver that runs
// without what was meant.
package driverconfig
