package console

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/otkit/otkit/transport/auth/operation"
	"github.com/otkit/otkit/transport/problem"
	"github.com/otkit/otkit/transport/server"
)

// policy lets the page load nothing but its own assets, and call nothing but its own server.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'none'; " +
	"base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

const (
	index      = "index.html"
	assetsPath = "/console/assets/"
)

//go:embed dist
var ofEngine embed.FS

//go:embed dist-bridge
var ofBridge embed.FS // a variable of its own, so that a program has only the console that it serves

// Assets returns the built files of the console of an engine.
func Assets() fs.FS { return below(ofEngine, "dist") }

// BridgeAssets returns the built files of the console of a bridge.
func BridgeAssets() fs.FS { return below(ofBridge, "dist-bridge") }

func below(files embed.FS, dir string) fs.FS {
	sub, err := fs.Sub(files, dir)
	if err != nil {
		panic(err) // the name is valid
	}
	return sub
}

// Console serves a page and its assets. Safe for concurrent use.
type Console struct {
	index  *asset
	assets map[string]*asset // by path below assets/
}

// New returns a console of the files index.html and assets/..., such as those of [Assets]. The names of assets must change
// with their content, because browsers keep them. An error names the file that cannot be read.
func New(files fs.FS) (*Console, error) {
	if files == nil {
		return nil, errors.New("console: files are required")
	}
	c := &Console{assets: map[string]*asset{}}
	page, err := read(files, index, "no-cache")
	if err != nil {
		return nil, err
	}
	c.index = page
	err = fs.WalkDir(files, "assets", func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && name == "assets" {
			return nil // the page is all there is
		}
		if err != nil || d.IsDir() {
			return err
		}
		a, err := read(files, name, "public, max-age=31536000, immutable")
		c.assets[strings.TrimPrefix(name, "assets/")] = a
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	return c, nil
}

// Part returns what the console contributes to a server.
func (c *Console) Part() server.Part {
	return server.Part{Name: "console", Operations: Operations(), Routes: func(r server.Router) error {
		r.Get("/", c.index.ServeHTTP)
		r.Get(assetsPath+"*", c.serveAsset)
		return nil
	}}
}

// Operations are the operations of the part.
func Operations() []operation.Operation {
	return []operation.Operation{
		{ID: "getConsole", Method: http.MethodGet, Path: "/", Access: operation.Open},
		{ID: "getConsoleAsset", Method: http.MethodGet, Path: assetsPath + "*", Access: operation.Open},
	}
}

func (c *Console) serveAsset(w http.ResponseWriter, r *http.Request) {
	a := c.assets[strings.TrimPrefix(r.URL.Path, assetsPath)]
	if a == nil {
		problem.Write(w, r, problem.ErrNotFound, problem.FamilyOf(r.URL.Path))
		return
	}
	a.ServeHTTP(w, r)
}

// asset is a file in memory.
type asset struct {
	media, tag, caching string
	plain               []byte
	gzipped             func() []byte // nil if it is not smaller
}

func read(files fs.FS, name, caching string) (*asset, error) {
	text, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	sum := sha256.Sum256(text)
	return &asset{media: mediaOf(name), caching: caching, plain: text, tag: base64.RawURLEncoding.EncodeToString(sum[:12]),
		gzipped: sync.OnceValue(func() []byte { return compress(text) })}, nil
}

// mediaOf returns the content type of a file. It does not depend on the machine's list of types.
func mediaOf(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".json":
		return "application/json"
	case ".woff2":
		return "font/woff2"
	case ".png":
		return "image/png"
	}
	if media := mime.TypeByExtension(path.Ext(name)); media != "" {
		return media
	}
	return "application/octet-stream"
}

// ServeHTTP implements http.Handler.
func (a *asset) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, tag := a.plain, `"`+a.tag+`"`
	h := w.Header()
	if acceptsGzip(r) {
		if small := a.gzipped(); small != nil {
			body, tag = small, `"`+a.tag+`-gz"`
			h.Set("Content-Encoding", "gzip")
		}
	}
	h.Set("Content-Type", a.media)
	h.Set("Content-Security-Policy", policy)
	h.Set("Cache-Control", a.caching)
	h.Set("ETag", tag)
	h.Add("Vary", "Accept-Encoding")
	if known(r, tag) {
		h.Del("Content-Type")
		h.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the browser has gone
	}
}

// known reports whether the browser has what the tag is of.
func known(r *http.Request, tag string) bool {
	for _, one := range strings.Split(r.Header.Get("If-None-Match"), ",") {
		if one = strings.TrimSpace(one); one == "*" || strings.TrimPrefix(one, "W/") == tag {
			return true
		}
	}
	return false
}
