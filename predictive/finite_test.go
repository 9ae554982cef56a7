package predictive

import (
	"math"
	"reflect"
	"testing"
)

// requireFinite fails if a number in a value is NaN or infinite, which JSON cannot tell.
func requireFinite(t testing.TB, v any) {
	t.Helper()
	walk(t, reflect.ValueOf(v), reflect.TypeOf(v).Name())
}

func walk(t testing.TB, v reflect.Value, path string) {
	t.Helper()
	switch v.Kind() {
	case reflect.Float64:
		if f := v.Float(); math.IsNaN(f) || math.IsInf(f, 0) {
			t.Fatalf("%s is %v", path, f)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			walk(t, v.Elem(), path)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			walk(t, v.Field(i), path+"."+v.Type().Field(i).Name)
		}
	case reflect.Slice:
		for i := range v.Len() {
			walk(t, v.Index(i), path)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			walk(t, v.MapIndex(key), path+"."+key.String())
		}
	}
}
