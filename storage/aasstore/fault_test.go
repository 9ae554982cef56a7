package aasstore_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/storage"
)

// importEnv tells the test binary to be the process that is killed in the middle of an import.
const importEnv = "OTKIT_STORAGE_IMPORT"

const importedShells = 4000

// importChild imports environments for ever and says when each begins and ends.
func importChild() {
	kind, place, ok := strings.Cut(os.Getenv(importEnv), " ")
	if !ok {
		return
	}
	ctx := context.Background()
	open := func() (*storetest.DB, error) { return storetest.TrySQLite(place)(ctx, storage.Options{}) }
	if kind == "postgres" {
		open = func() (*storetest.DB, error) { return storetest.TryPostgres(place)(ctx, storage.Options{}) }
	}
	db, err := open()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	service, err := repository.New(db.AAS(), repository.Options{})
	if err != nil {
		os.Exit(1)
	}
	for round := 0; ; round++ {
		var env aas.Environment
		for i := range importedShells {
			env.Shells = append(env.Shells, importShell(round, i))
		}
		files := []repository.ImportFile{{Name: "/thumb.png", ContentType: "image/png", Data: make([]byte, 10_000)}}
		fmt.Printf("begin %d\n", round)
		if _, err := service.Import(ctx, &env, files, repository.ImportOptions{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Printf("end %d\n", round)
	}
}

func importShell(round, i int) *aas.Shell {
	s := &aas.Shell{}
	s.ID, s.IDShort = fmt.Sprintf("urn:round%d:%05d", round, i), fmt.Sprintf("Round%d", round)
	s.AssetInformation = aas.AssetInformation{AssetKind: aas.Instance, GlobalAssetID: s.ID}
	if i%1000 == 0 {
		s.AssetInformation.DefaultThumbnail = &aas.Resource{Path: "/thumb.png"}
	}
	return s
}

// An import that a kill cuts off leaves all of its documents, terms and files, or nothing.
func TestAnImportThatIsKilledLeavesAllOrNothing(t *testing.T) {
	for _, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			for _, wait := range []time.Duration{time.Millisecond, 40 * time.Millisecond, 150 * time.Millisecond} {
				place := t.TempDir()
				if kind == "postgres" {
					place = pgtest.DSN(t)
				}
				acknowledged := killedImport(t, kind, place, wait)
				try := storetest.TrySQLite(place)
				if kind == "postgres" {
					try = storetest.TryPostgres(place)
				}
				db, err := try(t.Context(), storage.Options{})
				require.NoError(t, err)
				for round := range acknowledged + 2 {
					checkImport(t, db.AAS(), round, round < acknowledged)
				}
				require.NoError(t, db.Close())
			}
		})
	}
}

// killedImport lets one import end, kills the child some time after the next has begun, and gives how
// many were acknowledged.
func killedImport(t *testing.T, kind, place string, wait time.Duration) (acknowledged int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), importEnv+"="+kind+" "+place)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	for scanner := bufio.NewScanner(out); scanner.Scan(); {
		switch scanner.Text() {
		case fmt.Sprintf("end %d", acknowledged):
			acknowledged++
		case "begin 1":
			time.Sleep(wait)
			require.NoError(t, cmd.Process.Kill())
		}
	}
	require.Error(t, cmd.Wait())
	require.Positive(t, acknowledged, stderr.String())
	return acknowledged
}

func checkImport(t *testing.T, s repository.Store, round int, must bool) {
	t.Helper()
	page, err := s.Find(t.Context(), repository.Query{Kind: repository.KindShell, IDShort: fmt.Sprintf("Round%d", round), Limit: importedShells + 1, Count: true})
	require.NoError(t, err)
	if must {
		require.NotZero(t, page.Total, "round %d was acknowledged", round)
	}
	require.Contains(t, []int{0, importedShells}, page.Total, "round %d", round)
	require.Len(t, page.Documents, page.Total)
	for _, i := range []int{0, 1000, importedShells - 1} {
		id := importShell(round, i).ID
		found, err := s.Find(t.Context(), repository.Query{Kind: repository.KindShell, Terms: []repository.Term{repository.AssetTerm(repository.GlobalAssetIDName, id)}, Limit: 2})
		require.NoError(t, err)
		require.Len(t, found.Documents, min(1, page.Total))
		names, err := s.FileNames(t.Context(), repository.KindShell, id)
		require.NoError(t, err)
		require.Len(t, names, map[bool]int{true: 1}[i%1000 == 0 && page.Total > 0])
	}
}
