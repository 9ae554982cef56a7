package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

const root = "../.."

// pages returns the text of the pages for users, by path below the root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found, err := filepath.Glob(root + "/docs/*.md")
	require.NoError(t, err)
	pages := make(map[string]string)
	for _, file := range append(found, root+"/README.md", root+"/CONTRIBUTING.md", root+"/CHANGELOG.md") {
		text, err := os.ReadFile(file)
		if os.IsNotExist(err) {
			continue
		}
		require.NoError(t, err)
		path, err := filepath.Rel(root, file)
		require.NoError(t, err)
		pages[path] = string(text)
	}
	require.Greater(t, len(pages), 8)
	return pages
}

var (
	fence = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")
	link  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	title = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

// Go code on a page is a part of an example, so that it compiles and is tested.
func TestCodeOnPagesIsTested(t *testing.T) {
	var programs []string
	for _, pattern := range []string{"/examples/*/*.go", "/*/example_test.go", "/*/*/example_test.go"} {
		files, err := filepath.Glob(root + pattern)
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			programs = append(programs, flat(string(text)))
		}
	}
	for page, text := range pages(t) {
		for _, block := range fence.FindAllStringSubmatch(text, -1) {
			if block[1] != "go" {
				continue
			}
			// "..." on a line of its own leaves something out.
			for _, part := range regexp.MustCompile(`(?m)^\s*\.\.\.\n`).Split(block[2], -1) {
				found := false
				for _, program := range programs {
					found = found || strings.Contains(program, flat(part))
				}
				if !found {
					t.Errorf("%s: this is in no example:\n%s", page, part)
				}
			}
		}
	}
}

// flat returns text without indentation and blank lines.
func flat(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

func TestLinksOnPagesHaveTargets(t *testing.T) {
	all := pages(t)
	for page, text := range all {
		for _, match := range link.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			if strings.Contains(match[1], "://") {
				continue
			}
			file, anchor, _ := strings.Cut(match[1], "#")
			target := page
			if file != "" {
				target = filepath.Join(filepath.Dir(page), file)
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s: %s does not exist", page, match[1])
				continue
			}
			if anchor != "" && !anchors(all[target])[anchor] {
				t.Errorf("%s: %s: there is no such heading", page, match[1])
			}
		}
	}
}

// anchors returns the anchors of a page's headings.
func anchors(text string) map[string]bool {
	found := make(map[string]bool)
	for _, match := range title.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		var b strings.Builder
		for _, r := range strings.ToLower(match[1]) {
			switch {
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				b.WriteRune(r)
			case r == ' ':
				b.WriteRune('-')
			}
		}
		found[b.String()] = true
	}
	return found
}

// Every example is named on a page, else nobody finds it.
func TestExamplesAreOnPages(t *testing.T) {
	var text strings.Builder
	for _, page := range pages(t) {
		text.WriteString(page)
	}
	examples, err := filepath.Glob(root + "/examples/*/main.go")
	require.NoError(t, err)
	require.NotEmpty(t, examples)
	for _, file := range examples {
		if path, _ := filepath.Rel(root, filepath.Dir(file)); !strings.Contains(text.String(), filepath.ToSlash(path)) {
			t.Errorf("%s is on no page", path)
		}
	}
}
