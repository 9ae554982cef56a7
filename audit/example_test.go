package audit_test

import (
	"context"
	"fmt"

	"github.com/otkit/otkit/audit"
)

func Example() {
	ctx := context.Background()
	log, err := audit.New(audit.NewMemory(), audit.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = log.Close(ctx) }()

	act := audit.Act{Actor: "anna", Role: "Admin", Via: "rest", Action: "setRecipe", Objects: []string{"mixer-1"},
		Before: audit.JSON(map[string]any{"recipe": "A"}), After: audit.JSON(map[string]any{"recipe": "B", "token": "s3cret"})}
	err = log.Do(ctx, act, func(context.Context) error {
		return nil // the act
	}, nil)
	if err != nil {
		panic(err)
	}

	records, _, err := log.List(ctx, audit.Query{Object: "mixer-1"})
	if err != nil {
		panic(err)
	}
	for _, r := range records {
		fmt.Println(r.Actor, r.Action, r.Objects, r.Before, r.After, r.Outcome)
	}
	report, err := log.Verify(ctx)
	fmt.Println(report.Entries, report.Intact(), err)
	// Output:
	// anna setRecipe [mixer-1] {"recipe":"A"} {"recipe":"B","token":"[redacted]"} succeeded
	// 2 true <nil>
}
