package devicespart_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/devices/safety"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/devicesapi/devicespart"
	"github.com/otkit/otkit/transport/server"
)

// anyone admits every call as Ann; a real program checks a key, a token or a certificate.
func anyone(context.Context, auth.Request) (*auth.Principal, error) {
	return &auth.Principal{Issuer: "plant", Subject: "ann", Name: "Ann", Role: accounts.Operator}, nil
}

// conveyor carries out commands.
type conveyor struct{}

func (conveyor) Execute(_ context.Context, o devices.Order) (map[string]any, error) {
	return map[string]any{"did": o.Type}, nil
}

func (conveyor) Stop(context.Context, string) error { return nil }

// must keeps the example short.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A server that commands a machine of its own.
func Example() {
	ctx := context.Background()
	fleet := devicespart.Fleet{Name: "hall 1", Devices: []devicespart.NewDevice{{ID: "conveyor-1", Name: "Conveyor"}},
		Open: func(_ context.Context, s *devices.Service) (devicespart.Connection, error) {
			return devicespart.Connection{Executor: conveyor{}}, s.Report("conveyor-1",
				devices.Telemetry{State: devices.Idle, Pose: &devices.Pose{Map: "hall", X: 1, Y: 1}})
		}}
	policies := must(safety.New(safety.Options{Device: safety.Device{Mains: true}, MaxAge: time.Minute, Zones: []safety.Zone{
		{Name: "hall", Map: "hall", Kind: safety.Allowed, Rings: [][][2]float64{{{0, 0}, {9, 0}, {9, 9}, {0, 9}}}}}}))
	part := must(devicespart.New(ctx, nil, nil, nil, devicespart.Options{Safety: policies, Fleets: []devicespart.Fleet{fleet}}))
	s := must(server.New(ctx, server.Options{Authenticator: auth.AuthenticatorFunc(anyone)}, part.Part()))
	defer func() { _ = s.Close(ctx) }()
	s.Start()
	for i, command := range []string{`"commandType":"Run"`, `"commandType":"MoveTo","parameters":{"x":10,"y":1}`} {
		r := httptest.NewRequest(http.MethodPost, "/api/v1/devices/conveyor-1/commands",
			strings.NewReader(`{"commandId":`+`"`+fmt.Sprint(i)+`"`+`,"deviceId":"conveyor-1",`+command+`}`))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		fmt.Println(w.Code)
	}
	// Output:
	// 200
	// 403
}
