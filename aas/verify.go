package aas

import "github.com/otkit/otkit/fault"

// check gives the findings of the Check methods of this package.
func check(v any) []fault.Field {
	var err error
	switch v := v.(type) {
	case interface{ Check() error }:
		err = v.Check()
	case Element:
		err = CheckElement(v)
	}
	if err == nil {
		return nil
	}
	if f, ok := fault.From(err); ok && len(f.Fields) > 0 {
		return f.Fields
	}
	return []fault.Field{{Message: err.Error()}}
}
