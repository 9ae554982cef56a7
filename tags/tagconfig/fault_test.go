package tagconfig

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/fault"
)

// failing is a temporary file on which one step fails.
type failing struct {
	tempFile
	write, sync, chmod error
}

func (f failing) Write(p []byte) (int, error) {
	if f.write == nil {
		return f.tempFile.Write(p)
	}
	n, _ := f.tempFile.Write(p[:len(p)/2])
	return n, f.write
}

func (f failing) Sync() error {
	if f.sync != nil {
		return f.sync
	}
	return f.tempFile.Sync()
}

func (f failing) Chmod(m fs.FileMode) error {
	if f.chmod != nil {
		return f.chmod
	}
	return f.tempFile.Chmod(m)
}

func TestFailedWriteAppliesNothing(t *testing.T) {
	for name, step := range map[string]failing{
		"write": {write: syscall.EIO}, "sync": {sync: syscall.EIO}, "chmod": {chmod: syscall.EPERM},
	} {
		t.Run(name, func(t *testing.T) {
			path := modelPath(t)
			s := open(t, path)
			_, err := s.Bulk(t.Context(), []Config{described("a", "old")})
			require.NoError(t, err)
			before, err := os.ReadFile(path)
			require.NoError(t, err)

			s.create = func(path string) (tempFile, error) {
				f, err := createTemp(path)
				step.tempFile = f
				return step, err
			}
			_, err = s.Bulk(t.Context(), []Config{described("a", "new"), item("b")})
			requireNotSaved(t, err)
			require.ErrorIs(t, err, cmp.Or(step.write, step.sync, step.chmod), "the cause is there for logs")
			requireUntouched(t, s, path, before)

			s.create = createTemp
			_, err = s.Bulk(t.Context(), []Config{described("a", "new")})
			require.NoError(t, err, "the next one works again")
		})
	}
}

func requireNotSaved(t *testing.T, err error) {
	t.Helper()
	require.ErrorIs(t, err, ErrNotSaved)
	require.Equal(t, fault.Internal, fault.KindOf(err))
	e, _ := fault.From(err)
	require.Contains(t, e.Message, "could not be saved")
}

// requireUntouched checks that memory and file are as before and that nothing else lies about.
func requireUntouched(t *testing.T, s *Store, path string, before []byte) {
	t.Helper()
	require.Equal(t, []string{"a"}, ids(s.List()))
	a, err := s.Get("a")
	require.NoError(t, err)
	require.Equal(t, "old", a.Description)
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))
	names, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, names, 1, "no temporary file stays")
}

func TestFullDiskAppliesNothing(t *testing.T) {
	dir := t.TempDir()
	if runtime.GOOS != "linux" || os.Geteuid() != 0 || exec.Command("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", dir).Run() != nil {
		t.Skip("a small file system to fill can only be mounted by root on Linux")
	}
	t.Cleanup(func() { require.NoError(t, exec.Command("umount", dir).Run()) })
	path := filepath.Join(dir, "model.json")
	s := open(t, path)
	_, err := s.Bulk(t.Context(), []Config{described("a", "old")})
	require.NoError(t, err)
	before, err := os.ReadFile(path)
	require.NoError(t, err)

	var many []Config
	for i := range 1000 {
		many = append(many, described(fmt.Sprintf("t%d", i), strings.Repeat("x", 100)))
	}
	_, err = s.Bulk(t.Context(), many)
	require.ErrorIs(t, err, ErrFull)
	require.Equal(t, fault.Unavailable, fault.KindOf(err), "there may be space later")
	require.ErrorIs(t, err, syscall.ENOSPC)
	requireUntouched(t, s, path, before)
}

func TestFolderThatCannotBeWritten(t *testing.T) {
	t.Run("read-only", func(t *testing.T) {
		if os.Geteuid() == 0 {
			t.Skip("root writes to read-only folders")
		}
		path := modelPath(t)
		s := open(t, path)
		_, err := s.Bulk(t.Context(), []Config{described("a", "old")})
		require.NoError(t, err)
		before, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.Chmod(filepath.Dir(path), 0o555))
		t.Cleanup(func() { require.NoError(t, os.Chmod(filepath.Dir(path), 0o755)) })
		_, err = s.Bulk(t.Context(), []Config{item("b")})
		requireNotSaved(t, err)
		requireUntouched(t, s, path, before)
	})
	t.Run("its place is taken by a file", func(t *testing.T) {
		path := modelPath(t)
		s := open(t, path)
		require.NoError(t, os.WriteFile(filepath.Dir(path), nil, 0o644))
		_, err := s.Bulk(t.Context(), []Config{item("b")})
		requireNotSaved(t, err)
		require.Empty(t, s.List())
	})
	t.Run("the file's place is taken by a folder", func(t *testing.T) {
		path := modelPath(t)
		s := open(t, path)
		require.NoError(t, os.MkdirAll(path, 0o755))
		_, err := s.Bulk(t.Context(), []Config{item("b")})
		requireNotSaved(t, err)
		require.Empty(t, s.List())
	})
}

func TestRewriteKeepsModeAndLink(t *testing.T) {
	path := modelPath(t)
	real := filepath.Join(t.TempDir(), "real.json")
	write(t, real, `{"variables":[]}`)
	require.NoError(t, os.Chmod(real, 0o600))
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.Symlink(real, path))
	_, err := open(t, path).Bulk(t.Context(), []Config{item("a")})
	require.NoError(t, err)
	link, err := os.Lstat(path)
	require.NoError(t, err)
	require.NotZero(t, link.Mode()&fs.ModeSymlink)
	info, err := os.Stat(real)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
	require.Equal(t, []string{"a"}, ids(open(t, real).List()))
}

const killEnv = "OTKIT_TAGCONFIG_WRITE_UNTIL_KILLED"

// writeUntilKilled is the other process: each Bulk adds a tag and counts up another, and is
// acknowledged on standard output.
func writeUntilKilled(path string) {
	s, err := Open(context.Background(), Options{Path: path, Logger: quiet()})
	if err != nil {
		fmt.Println("open:", err)
		os.Exit(1)
	}
	for n := len(s.List()); ; n++ {
		items := []Config{item(fmt.Sprintf("t%06d", n)), described("counter", strconv.Itoa(n))}
		for i := range 50 { // enough text to be caught in the middle of
			items = append(items, described(fmt.Sprintf("bulk%d", i), strings.Repeat(strconv.Itoa(n), 100)))
		}
		if _, err := s.Bulk(context.Background(), items); err != nil {
			fmt.Println("bulk:", err)
			os.Exit(1)
		}
		fmt.Println("saved", n)
	}
}

func TestKilledProcessLosesNoAcknowledgedWrite(t *testing.T) {
	path := modelPath(t)
	random := rand.New(rand.NewPCG(1, 2))
	acknowledged := []string{}
	for range 12 {
		cmd := exec.Command(os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), killEnv+"="+path)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		lines := bufio.NewScanner(out)
		require.True(t, lines.Scan(), "the first write")
		kill := time.AfterFunc(time.Duration(random.IntN(40_000))*time.Microsecond, func() { _ = cmd.Process.Kill() })
		for more := true; more; more = lines.Scan() {
			n, ok := strings.CutPrefix(lines.Text(), "saved ")
			require.True(t, ok, lines.Text())
			acknowledged = append(acknowledged, n)
		}
		kill.Stop()
		require.Error(t, cmd.Wait(), "it was killed")

		s := open(t, path)
		for _, n := range acknowledged {
			at, err := strconv.Atoi(n)
			require.NoError(t, err)
			_, err = s.Get(fmt.Sprintf("t%06d", at))
			require.NoError(t, err)
		}
		counter, err := s.Get("counter")
		require.NoError(t, err)
		bulk, err := s.Get("bulk49")
		require.NoError(t, err)
		require.Equal(t, strings.Repeat(counter.Description, 100), bulk.Description, "one write is there as a whole")
		names, err := os.ReadDir(filepath.Dir(path))
		require.NoError(t, err)
		require.LessOrEqual(t, len(names), 2, "at most one leftover")
	}
	t.Logf("%d acknowledged writes survived 12 kills", len(acknowledged))
}
