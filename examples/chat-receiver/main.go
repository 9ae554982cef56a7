// How do I see what otkit posts to a chat, before there is one? This program takes the posts of an incoming webhook of Slack and
// prints them.
//
//	go run ./examples/chat-receiver -listen 127.0.0.1:5030
//	Alerting__TeamChat__Url=http://127.0.0.1:5030/hook go run ./cmd/engine
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

func main() {
	log.SetFlags(0)
	listen := flag.String("listen", "127.0.0.1:5030", "`ADDRESS` of the webhook")
	flag.Parse()
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("chat at http://%s/hook\n", l.Addr())
	s := http.Server{Handler: room(os.Stdout), ReadHeaderTimeout: 10 * time.Second}
	log.Fatal(s.Serve(l))
}

// room prints the messages that are posted.
func room(out io.Writer) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /hook", func(w http.ResponseWriter, r *http.Request) {
		var message struct {
			Text        string
			Attachments []struct{ Text string }
		}
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&message); err != nil {
			http.Error(w, "no message", http.StatusBadRequest)
			return
		}
		var b strings.Builder
		fmt.Fprintln(&b, message.Text)
		for _, a := range message.Attachments {
			for line := range strings.Lines(a.Text) {
				fmt.Fprintf(&b, "    %s\n", strings.TrimRight(line, "\n"))
			}
		}
		_, _ = io.WriteString(out, b.String())
		_, _ = io.WriteString(w, "ok")
	})
	return mux
}
