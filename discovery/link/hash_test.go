package link_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/discovery/link"
)

// change calls f after it has changed a value below v, for each of them, and changes it back.
func change(v reflect.Value, path string, f func(path string)) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			change(v.Field(i), path+"."+v.Type().Field(i).Name, f)
		}
	case reflect.Pointer:
		old := reflect.ValueOf(v.Interface())
		v.SetZero()
		f(path)
		v.Set(old)
		change(v.Elem(), path, f)
	case reflect.Slice:
		old := reflect.ValueOf(v.Interface())
		v.Set(old.Slice(0, old.Len()-1))
		f(path)
		v.Set(old)
		for i := range v.Len() {
			change(v.Index(i), fmt.Sprint(path, "[", i, "]"), f)
		}
	case reflect.String:
		old := v.String()
		v.SetString(old + "x")
		f(path)
		v.SetString(old)
	case reflect.Int:
		old := v.Int()
		v.SetInt(old + 1)
		f(path)
		v.SetInt(old)
	case reflect.Float64:
		old := v.Float()
		v.SetFloat(old + 1)
		f(path)
		v.SetFloat(old)
	default:
		panic(path + " has a kind that the test does not know")
	}
}

func TestHashHasEverythingButTheToken(t *testing.T) {
	m := link.Manifest{BridgeID: "b", DriverType: "Modbus", DriverID: "d", AvailableSubmodels: []string{"A", "B"}, ActiveSubmodels: []string{"A"},
		Shell: &link.Shell{ID: "urn:b"}, Tags: []link.ManifestTag{{Name: "a", Min: new(0.0), Max: new(1.0)}, {Name: "b", Min: new(0.0), Max: new(1.0)}}}
	seen := map[string]string{m.Hash(): "nothing"}
	change(reflect.ValueOf(&m).Elem(), "", func(path string) {
		hash := m.Hash()
		if path == ".BindingToken" {
			require.Equal(t, "nothing", seen[hash])
			return
		}
		require.Empty(t, seen[hash], path)
		seen[hash] = path
	})
	require.Greater(t, len(seen), 35)
	require.Equal(t, "nothing", seen[m.Hash()])

	m.ActiveSubmodels = []string{}
	none := m.Hash()
	m.ActiveSubmodels = nil
	require.NotEqual(t, none, m.Hash(), "none is not the same as those that are available")
}
