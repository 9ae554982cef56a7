package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// textsPlugin makes one module of the files of texts of each language: texts:en has all texts by key, and those of other languages their
// values alone, in the order of the keys, so that no key is there twice.
func textsPlugin(web, sources string) api.Plugin {
	return api.Plugin{Name: "texts", Setup: func(build api.PluginBuild) {
		build.OnResolve(api.OnResolveOptions{Filter: "^texts:"}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
			return api.OnResolveResult{Path: strings.TrimPrefix(a.Path, "texts:"), Namespace: "texts"}, nil
		})
		build.OnLoad(api.OnLoadOptions{Filter: ".", Namespace: "texts"}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
			contents, err := textsOf(web, sources, a.Path)
			return api.OnLoadResult{Contents: &contents, Loader: api.LoaderJSON}, err
		})
	}}
}

func textsOf(web, sources, language string) (string, error) {
	texts, err := readTexts(web, sources, language)
	if err != nil {
		return "", err
	}
	var module any = texts
	if language != "en" {
		english, err := readTexts(web, sources, "en")
		if err != nil {
			return "", err
		}
		var values []string
		for _, key := range slices.Sorted(maps.Keys(english)) {
			values = append(values, texts[key])
		}
		module = values
	}
	out, err := json.Marshal(module) // keys are sorted
	return string(out), err
}

// readTexts returns the texts that all programs share, and those of the sources and their views.
func readTexts(web, sources, language string) (map[string]string, error) {
	all := map[string]string{}
	for _, pattern := range []string{"src/" + language + ".json", sources + "/*." + language + ".json", sources + "/views/*." + language + ".json"} {
		files, err := filepath.Glob(filepath.Join(web, filepath.FromSlash(pattern)))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			var some map[string]string
			if err := json.Unmarshal(text, &some); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			maps.Copy(all, some)
		}
	}
	return all, nil
}
