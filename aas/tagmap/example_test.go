package tagmap_test

import (
	"fmt"

	"github.com/otkit/otkit/aas/tagmap"
	"github.com/otkit/otkit/tags"
)

func Example() {
	mapper, err := tagmap.NewMapper(tagmap.Options{Rules: []tagmap.Rule{
		{Category: "Pump", Units: []string{"bar"}, Target: tagmap.OperationalData, Collection: "Hydraulics"},
	}})
	if err != nil {
		panic(err)
	}
	for _, s := range mapper.Submodels(tagmap.Equipment{ShellID: "urn:plant:pump-1", Category: "Pump", Tags: []tags.Tag{
		{Name: "plc.pressure", Driver: "plc", DataType: tags.Float, Unit: "bar"},
		{Name: "plc.serial_number", Driver: "plc", DataType: tags.String},
	}}) {
		fmt.Println(s.ID, s.Elements[0].Common().IDShort)
	}
	// Output:
	// urn:plant:pump-1:OperationalData Hydraulics
	// urn:plant:pump-1:Nameplate SerialNumber
	// urn:plant:pump-1:TimeSeries Metadata
}
