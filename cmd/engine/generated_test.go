package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/maventest"
	"github.com/otkit/otkit/internal/npmtest"
	"github.com/otkit/otkit/internal/piptest"
)

// generate makes a client from the OpenAPI document as an integrator would.
func generate(t *testing.T, kind string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	jar := maventest.Need(t, "org.openapitools:openapi-generator-cli:7.10.0")
	document, err := filepath.Abs(repository + "/openapi/openapi.yaml")
	require.NoError(t, err)
	out, err := maventest.Command(t, jar, "generate", "-i", document, "-g", kind, "-o", dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return dir
}

func TestGeneratedTypeScriptClientCompiles(t *testing.T) {
	t.Parallel()
	packages := npmtest.Need(t, "typescript@5.6.3")
	dir := generate(t, "typescript-fetch")
	source := filepath.Join(dir, "index.ts")
	if _, err := os.Stat(source); err != nil {
		source = filepath.Join(dir, "src", "index.ts")
	}
	tsc := npmtest.Command(t, packages, filepath.Join(packages, "node_modules", "typescript", "bin", "tsc"), "--noEmit", "--strict",
		"--target", "es2020", "--lib", "es2020,dom", "--module", "esnext", "--moduleResolution", "node", source)
	out, err := tsc.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func TestGeneratedPythonClientWorks(t *testing.T) {
	t.Parallel()
	python := piptest.Need(t, "urllib3==2.5.0", "python-dateutil==2.9.0.post0", "pydantic==2.11.7", "typing-extensions==4.14.1")
	dir := generate(t, "python")
	e := start(t, known, "-demo", "-data", t.TempDir())
	s := e.admin()
	s.good("sim.running")
	script, err := filepath.Abs("testdata/generated.py")
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), python, script, e.url, s.token)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s", out)
	require.JSONEq(t, `{"csv": {"added": ["gen.a"], "changed": []}, "change": {"added": [], "changed": ["gen.a"]},
		"xlsx": {"added": [], "changed": ["gen.a"]}, "history": true, "tag": "sim.running", "batch": ["sim.running"], "missing": ["TAG_NOT_FOUND"]}`, string(out))
}
