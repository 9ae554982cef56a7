// Command bareserver is what benchmarks compare the engine with: servers that answer the same bytes with
// nothing around them, in a process of their own.
//
//	bareserver rest|batch|grpc FILE
//
// FILE has the answer: JSON of the REST API, or an encoded ReadTagResponse. The first line of the
// output is the address.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/go-chi/chi/v5"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	pb "github.com/otkit/otkit/proto/platform/v1"
)

// value has a member for each type of a value, so that encoding/json needs no code of ours.
type value struct {
	String *string  `json:"stringValue,omitempty"`
	Double *float64 `json:"doubleValue,omitempty"`
	Int64  *int64   `json:"int64Value,omitempty"`
	Bool   *bool    `json:"boolValue,omitempty"`
	Bytes  []byte   `json:"bytesValue,omitempty"`
}

// tag is the schema Tag of the OpenAPI document.
type tag struct {
	Name          string    `json:"name"`
	Driver        string    `json:"driver"`
	Address       string    `json:"address,omitempty"`
	DataType      string    `json:"dataType"`
	AccessMode    string    `json:"accessMode"`
	LastUpdated   time.Time `json:"lastUpdated,omitzero"`
	ReceivedAt    time.Time `json:"receivedAt,omitzero"`
	CurrentValue  *value    `json:"currentValue"`
	Quality       string    `json:"quality"`
	QualityReason string    `json:"qualityReason,omitempty"`
	Unit          string    `json:"unit,omitempty"`
	Description   string    `json:"description,omitempty"`
	MinValue      *float64  `json:"minValue,omitempty"`
	MaxValue      *float64  `json:"maxValue,omitempty"`
}

type tagAnswer struct {
	Tag tag `json:"tag"`
}

type batchAnswer struct {
	Tags   []tag `json:"tags"`
	Errors []any `json:"errors"`
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bareserver:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: bareserver rest|batch|grpc FILE")
	}
	answer, err := os.ReadFile(args[1])
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	r := chi.NewRouter()
	switch args[0] {
	case "grpc":
		var m pb.ReadTagResponse
		if err := proto.Unmarshal(answer, &m); err != nil {
			return err
		}
		s := grpc.NewServer()
		pb.RegisterPlatformApiServer(s, &echo{answer: &m})
		return s.Serve(l)
	case "rest":
		body, err := decoded[tagAnswer](answer)
		if err != nil {
			return err
		}
		r.Get("/api/v1/tags/{tag_name}", func(w http.ResponseWriter, _ *http.Request) { encode(w, body) })
	case "batch":
		body, err := decoded[batchAnswer](answer)
		if err != nil {
			return err
		}
		r.Post("/api/v1/tags:batchRead", func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // an error shows in the client
			encode(w, body)
		})
	default:
		return fmt.Errorf("unknown kind %q", args[0])
	}
	return http.Serve(l, r) //nolint:gosec // a baseline has no limits
}

func decoded[T any](text []byte) (body T, err error) { return body, json.Unmarshal(text, &body) }

func encode(w http.ResponseWriter, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data) // an error shows in the client
}

// echo answers every ReadTag with the same message.
type echo struct {
	pb.UnimplementedPlatformApiServer
	answer *pb.ReadTagResponse
}

// ReadTag implements PlatformApi.
func (e *echo) ReadTag(context.Context, *pb.ReadTagRequest) (*pb.ReadTagResponse, error) {
	return e.answer, nil
}
