package ifmatch_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/transport/aasapi/internal/ifmatch"
)

func Example() {
	m, err := ifmatch.Parse([]string{`"3", "5"`}, func() (uint64, error) { return 5, nil })
	fmt.Println(m.Version, err)
	// Output: 5 <nil>
}

func TestParse(t *testing.T) {
	none := repository.Match{Version: 1<<64 - 1}
	for header, want := range map[string]repository.Match{
		``: {}, ` `: {}, ` , `: {}, `*`: {Exists: true}, ` * `: {Exists: true},
		`"7"`: {Version: 7}, `"9"`: {Version: 9}, `"9" ,`: {Version: 9},
		`"9","7"`: {Version: 7}, `"7", "9"`: {Version: 7}, `"a,b" , "7"`: {Version: 7},
		`"8", "9"`: none, `W/"7"`: none, `W/"7", "8"`: none, `"7,8"`: none, `7`: none, `7, 8`: none, `"07"`: none, `"+7"`: none,
		`"0"`: none, `""7""`: none, `"7`: none, `*, "8"`: none, `"18446744073709551616"`: none, `"x"`: none,
	} {
		m, err := ifmatch.Parse([]string{header}, func() (uint64, error) { return 7, nil })
		require.NoError(t, err)
		require.Equal(t, want, m, header)
	}
	m, err := ifmatch.Parse([]string{`"8"`, `"7"`}, func() (uint64, error) { return 7, nil })
	require.NoError(t, err)
	require.Equal(t, repository.Match{Version: 7}, m, "a header may come in parts")
	m, err = ifmatch.Parse([]string{`"0", "8"`}, func() (uint64, error) { return 0, nil })
	require.NoError(t, err)
	require.Equal(t, none, m, "what is not there is in no version")
	m, err = ifmatch.Parse(nil, nil)
	require.NoError(t, err)
	require.Zero(t, m)

	_, err = ifmatch.Parse([]string{strings.Repeat(`"1",`, 101)}, nil)
	require.ErrorIs(t, err, aas.ErrInvalidRequest)
	broken := errors.New("broken")
	_, err = ifmatch.Parse([]string{`"1", "2"`}, func() (uint64, error) { return 0, broken })
	require.ErrorIs(t, err, broken)
}
