package recordcsv_test

import (
	"fmt"
	"strings"

	"github.com/otkit/otkit/predictive/recordcsv"
)

func Example() {
	file := "equipmentId;component;at;reason\r\npump-1;Seal;2026-01-31 12:00;preventive\r\npump-2;Seal;soon;preventive\r\n"
	for r, err := range recordcsv.ReadReplacements(strings.NewReader(file), recordcsv.Options{}) {
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(r.EquipmentID, r.Component, r.At, r.Source)
	}
	// Output:
	// pump-1 Seal 2026-01-31 12:00:00 +0000 UTC csv
	// the CSV file is not valid: line 3, column at must be a time such as 2026-01-31T12:00:00Z, not "soon"
}
