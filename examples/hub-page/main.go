// How does a browser listen to alarms? A page with the stock SignalR client, which connects to the
// engine's hub /hubs/alarms by itself.
package main

import (
	_ "embed"
	"errors"
	"flag"
	"html/template"
	"log"
	"net/http"
	"net/url"
	"strings"
	"time"
)

//go:embed index.html
var page string

func main() {
	listen := flag.String("listen", "localhost:8080", "address of the page")
	engine := flag.String("engine", "http://localhost:5001", "URL of the engine")
	client := flag.String("client", "node_modules/@microsoft/signalr/dist/browser/signalr.min.js", "file of the stock client")
	flag.Parse()
	h, err := handler(*engine, *client)
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{Addr: *listen, Handler: h, ReadHeaderTimeout: 10 * time.Second}
	log.Printf("open http://%s", *listen)
	log.Fatal(server.ListenAndServe())
}

// handler serves the page, with the address of the engine in it, and the stock client.
func handler(engine, client string) (http.Handler, error) {
	u, err := url.Parse(engine)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("engine must be an http or https URL")
	}
	t, err := template.New("page").Parse(page)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		if err := t.Execute(w, strings.TrimSuffix(engine, "/")); err != nil {
			log.Print(err)
		}
	})
	mux.HandleFunc("GET /signalr.js", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, client) })
	return mux, nil
}
