package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/aasx"
	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/storage/sqlite"
)

// bigPackage takes seconds to import.
func bigPackage(t testing.TB, submodels, elements, fileBytes int) *aasx.Package {
	t.Helper()
	p := &aasx.Package{}
	for n := range submodels {
		name := fmt.Sprintf("/aasx/files/%d.bin", n)
		f := &aas.File{Value: &name, ContentType: "application/octet-stream"}
		f.IDShort = "Content"
		m := &aas.Submodel{Elements: []aas.Element{f}}
		m.ID, m.IDShort = fmt.Sprintf("urn:big:%d", n), fmt.Sprintf("Big%d", n)
		for i := range elements {
			p := &aas.Property{ValueType: "xs:int", Value: new(fmt.Sprint(n * i))}
			p.IDShort, p.SemanticID = fmt.Sprintf("P%d", i), aas.Global(fmt.Sprintf("urn:concept:%d", i))
			m.Elements = append(m.Elements, p)
		}
		p.Environment.Submodels = append(p.Environment.Submodels, m)
		content := make([]byte, fileBytes)
		for i := range content {
			content[i] = byte((i*7919 + n*104729) >> 3)
		}
		p.Files = append(p.Files, aasx.File{Name: name, ContentType: "application/octet-stream", Data: content})
	}
	return p
}

func TestKill9WithinAnImportLeavesAllOrNothing(t *testing.T) {
	t.Parallel()
	const submodels, fileBytes = 60, 300_000
	in := packed(t, bigPackage(t, submodels, 40, fileBytes), filepath.Join(t.TempDir(), "big.aasx"))
	outcomes := map[int]int{} // submodels that were there after the kill
	// The write-ahead log grows while the transaction is written: so many bytes are when it is killed.
	for _, grown := range []int64{1, 1 << 20, 4 << 20, 8 << 20, 12 << 20, 16 << 20, 18 << 20, 1 << 40} {
		data := t.TempDir()
		run(t, nil, "", "aas", "import", "-data", data, packed(t, pumpPackage(1), filepath.Join(t.TempDir(), "in.json"))).ok(t)
		killWhen(t, nil, []string{"aas", "import", "-data", data, in}, func() bool {
			info, err := os.Stat(filepath.Join(data, sqlite.StateFile+"-wal"))
			return err == nil && info.Size() >= grown
		})
		requireSound(t, filepath.Join(data, sqlite.StateFile))
		p := exported(t, data)
		require.Len(t, p.Environment.Shells, 1, "what was there before stays")
		there := len(p.Environment.Submodels) - 1
		outcomes[there]++
		require.Contains(t, []int{0, submodels}, there, "all or nothing")
		require.Len(t, p.Files, there)
		for _, f := range p.Files {
			require.Len(t, f.Data, fileBytes)
		}
		run(t, nil, "", "aas", "import", "-data", data, "-replace", in).ok(t)
		require.Len(t, exported(t, data).Files, submodels)
	}
	require.NotZero(t, outcomes[0], "no kill came in time")
	require.NotZero(t, outcomes[submodels])
}

// Here it is documents that are replaced: all are the old ones, or all the new ones.
func TestKill9WithinAnImportIntoPostgreSQL(t *testing.T) {
	t.Parallel()
	env := []string{"Storage__Driver=postgres", "Storage__Dsn=" + pgtest.DSN(t)}
	data, dir := t.TempDir(), t.TempDir()
	const submodels = 30
	versions := [2]string{}
	for v := range versions {
		p := bigPackage(t, submodels, 20, 200_000)
		for i, m := range p.Environment.Submodels {
			m.IDShort = fmt.Sprintf("Version%d", v)
			p.Files[i].Data[0] = byte('0' + v)
		}
		versions[v] = packed(t, p, filepath.Join(dir, fmt.Sprintf("%d.aasx", v)))
	}
	run(t, env, "", "aas", "import", "-data", data, versions[0]).ok(t)
	began := time.Now()
	run(t, env, "", "aas", "import", "-data", data, "-replace", versions[0]).ok(t)
	whole := time.Since(began)
	for round := range 8 {
		began = time.Now()
		killWhen(t, env, []string{"aas", "import", "-data", data, "-replace", versions[(round+1)%2]}, func() bool {
			return time.Since(began) > whole*time.Duration(3+round)/10
		})
		out := filepath.Join(t.TempDir(), "out.aasx")
		run(t, env, "", "aas", "export", "-data", data, out).ok(t)
		p := unpacked(t, out)
		require.Len(t, p.Environment.Submodels, submodels)
		require.Len(t, p.Files, submodels)
		first := p.Environment.Submodels[0].IDShort
		for i, m := range p.Environment.Submodels {
			require.Equal(t, first, m.IDShort)
			require.Equal(t, first, fmt.Sprintf("Version%c", p.Files[i].Data[0]), "files go with their documents")
		}
	}
}

// killWhen runs a command and kills it when a condition holds, unless it has ended before.
func killWhen(t testing.TB, env, args []string, holds func() bool) {
	t.Helper()
	cmd := exec.Command(binary(t), args...)
	cmd.Env = environment(env)
	require.NoError(t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // how it ended is in ProcessState
	}()
	for {
		select {
		case <-ended:
			require.True(t, cmd.ProcessState.Success())
			return
		case <-time.After(100 * time.Microsecond):
		}
		if holds() {
			_ = cmd.Process.Kill() // it may just have ended
			<-ended
			return
		}
	}
}
