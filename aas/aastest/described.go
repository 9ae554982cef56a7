package aastest

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/otkit/otkit/aas/repository"
)

// described is a query for the messages of failures: its members that are not zero.
type described repository.Query

func (d described) String() string {
	var members []string
	v := reflect.ValueOf(d)
	for i := range v.NumField() {
		if f := v.Field(i); !f.IsZero() {
			members = append(members, fmt.Sprintf("%s: %+v", v.Type().Field(i).Name, f))
		}
	}
	return "Query{" + strings.Join(members, " ") + "}"
}
