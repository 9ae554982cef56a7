package bufferstore_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/storage/bufferstore"
	"github.com/otkit/otkit/storage/sqlite"
)

const childPath = "OTKIT_TEST_BUFFER" // in the environment of a child

// child is the process that is killed: it appends and acknowledges, and prints what it has done.
func child(path string) error {
	ctx := context.Background()
	s, err := bufferstore.Open(ctx, sqlite.Files{}, bufferstore.Options{Path: path})
	if err != nil {
		return err
	}
	stats, err := s.Stats(ctx)
	if err != nil {
		return err
	}
	for next := stats.Last + 1; ; {
		var blocks []link.Block
		for range 1 + rand.IntN(4) {
			b := block(next, 1+rand.IntN(20), 1+rand.IntN(10_000))
			blocks, next = append(blocks, b), b.Last()+1
		}
		if err := s.Append(ctx, s.Epoch(), blocks); err != nil {
			return err
		}
		fmt.Println("appended", next-1)
		if rand.IntN(3) == 0 && next > 200 {
			fmt.Println("acknowledges", next-200)
			if err := s.Ack(ctx, s.Epoch(), next-200); err != nil {
				return err
			}
		}
	}
}

func TestKilledAtAnyMoment(t *testing.T) {
	path := filepath.Join(t.TempDir(), "buffer.db")
	var appended, acked uint64
	epoch := ""
	for range 8 {
		process := exec.CommandContext(t.Context(), os.Args[0])
		process.Env = append(os.Environ(), childPath+"="+path)
		out, err := process.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, process.Start())
		lines := bufio.NewReader(out)
		kill := 0
		for kill = rand.IntN(200); ; kill-- {
			if kill == 0 {
				time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond)
				require.NoError(t, process.Process.Kill())
			}
			line, err := lines.ReadString('\n')
			if err == io.EOF {
				break
			}
			require.NoError(t, err)
			var word string
			var n uint64
			if c, _ := fmt.Sscan(line, &word, &n); c == 2 && word == "appended" {
				appended = n
			} else if c == 2 {
				acked = n
			}
		}
		_ = process.Wait()
		s := open(t, path)
		if epoch == "" {
			epoch = s.Epoch()
		}
		require.Equal(t, epoch, s.Epoch())
		stats, err := s.Stats(t.Context())
		require.NoError(t, err)
		require.Empty(t, stats.Damage)
		require.GreaterOrEqual(t, stats.Last, appended)
		require.LessOrEqual(t, stats.First, acked+1, "what was not acknowledged is there")
		number := stats.First
		for _, b := range all(t, s) {
			require.Equal(t, number, b.First)
			require.Equal(t, byte(b.First), b.Data[len(b.Data)-1])
			number = b.Last() + 1
		}
		require.Equal(t, stats.Last+1, number)
		require.NoError(t, s.Close(t.Context()))
	}
}
