package verify_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/verify"
)

// A value of some megabytes is refused by its form, whatever its beginning is.
func TestVeryLongValuesAreFound(t *testing.T) {
	v := verify.New(verify.Options{})
	ones := strings.Repeat("1", 1<<20)
	for valueType, value := range map[aas.DataType]string{
		"xs:dateTime": "2026-01-01T00:00:00." + ones + "garbage", "xs:date": ones + "-01-01", "xs:duration": "P" + ones + "D",
		"xs:gYear": ones + "x", "xs:decimal": ones + ".x", "xs:double": ones + "e", "xs:integer": ones + "x",
	} {
		require.Len(t, v.Verify(property("aa", valueType, value)), 1, valueType)
	}
	require.Empty(t, v.Verify(property("aa", "xs:string", ones)))
	require.Empty(t, v.Verify(property("aa", "xs:integer", ones[:4096])))
	path := "/" + ones
	f := &aas.File{Value: &path, ContentType: "text/plain"}
	f.IDShort = "aa"
	require.Len(t, v.Verify(f), 1)
}
