package npmtest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/npmtest"
)

func TestScriptFindsThePackage(t *testing.T) {
	script := filepath.Join(t.TempDir(), "version.cjs")
	require.NoError(t, os.WriteFile(script, []byte(`console.log(require(process.argv[2]).VERSION)`), 0o600))
	for range 2 { // the second time it is there
		dir := npmtest.Need(t, "@microsoft/signalr@10.0.11")
		out, err := npmtest.Command(t, dir, script, "@microsoft/signalr").CombinedOutput()
		require.NoError(t, err, string(out))
		require.Equal(t, "10.0.11\n", string(out))
	}
}

func Example() {
	test := func(t *testing.T) {
		dir := npmtest.Need(t, "@microsoft/signalr@10.0.11")
		out, err := npmtest.Command(t, dir, "testdata/client.cjs").Output()
		require.NoError(t, err)
		require.NotEmpty(t, out)
	}
	fmt.Printf("%T\n", test)
	// Output: func(*testing.T)
}
