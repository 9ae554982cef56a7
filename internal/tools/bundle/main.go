// Command bundle builds the assets of the console from its TypeScript sources: bundle WEB DIST [SOURCES], where WEB has the
// sources and their installed npm packages, and SOURCES is the folder below it with main.tsx and style.css, src by default. DIST
// is written anew. The same sources make the same bytes.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// base is the path under which the engine serves the assets.
const base = "/console/assets/"

func main() {
	log.SetFlags(0)
	sources := "src"
	switch len(os.Args) {
	case 3:
	case 4:
		sources = os.Args[3]
	default:
		log.Fatal("usage: bundle WEB DIST [SOURCES]")
	}
	if err := bundle(os.Args[1], os.Args[2], sources); err != nil {
		log.Fatal(err)
	}
}

func bundle(web, dist, sources string) error {
	web, err := filepath.Abs(web)
	if err != nil {
		return err
	}
	assets := filepath.Join(dist, "assets")
	result := api.Build(api.BuildOptions{
		AbsWorkingDir:     web,
		EntryPoints:       []string{sources + "/main.tsx", sources + "/style.css"},
		Outdir:            assets,
		EntryNames:        "[name]-[hash]",
		ChunkNames:        "[name]-[hash]",
		Bundle:            true,
		Splitting:         true,
		Format:            api.FormatESModule,
		Target:            api.ES2022,
		JSX:               api.JSXAutomatic,
		JSXImportSource:   "preact",
		MinifySyntax:      true,
		MinifyWhitespace:  true,
		MinifyIdentifiers: true,
		LegalComments:     api.LegalCommentsNone,
		Charset:           api.CharsetUTF8, // Korean texts are half as long as escaped
		LogLevel:          api.LogLevelWarning,
		Plugins:           []api.Plugin{textsPlugin(web, sources)},
	})
	if len(result.Errors) > 0 {
		return fmt.Errorf("%d errors in the sources of the console", len(result.Errors))
	}
	if err := os.RemoveAll(dist); err != nil {
		return err
	}
	if err := os.MkdirAll(assets, 0o755); err != nil {
		return err
	}
	names := map[string]string{} // of the assets in the page, by placeholder
	for _, f := range result.OutputFiles {
		name := filepath.Base(f.Path)
		if err := os.WriteFile(filepath.Join(assets, name), f.Contents, 0o644); err != nil {
			return err
		}
		switch {
		case strings.HasPrefix(name, "main-") && strings.HasSuffix(name, ".js"):
			names["{{main}}"] = name
		case strings.HasPrefix(name, "style-"):
			names["{{style}}"] = name
		}
	}
	icon, err := os.ReadFile(filepath.Join(web, "src", "icon.svg"))
	if err != nil {
		return err
	}
	sum := sha256.Sum256(icon)
	names["{{icon}}"] = "icon-" + strings.ToUpper(hex.EncodeToString(sum[:4])) + ".svg"
	if err := os.WriteFile(filepath.Join(assets, names["{{icon}}"]), icon, 0o644); err != nil {
		return err
	}
	page, err := os.ReadFile(filepath.Join(web, "src", "index.html"))
	if err != nil {
		return err
	}
	for placeholder, name := range names {
		page = bytes.ReplaceAll(page, []byte(placeholder), []byte(base+name))
	}
	return os.WriteFile(filepath.Join(dist, "index.html"), page, 0o644)
}
