// How do I try the Modbus driver without a device? This program is one: an oven, over Modbus TCP.
//
//	go run ./examples/modbus-device -listen 127.0.0.1:5020
//
//	input register 0     temperature in tenths of a degree, which follows the setpoint
//	holding register 0   setpoint in tenths of a degree, 0 to 1200
//	coil 0               fan
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/simonvetter/modbus"
)

func main() {
	log.SetFlags(0)
	listen := flag.String("listen", "127.0.0.1:5020", "`ADDRESS` of the device")
	flag.Parse()
	server, err := serve(*listen, newOven())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("oven at", *listen)
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt)
	<-stop
	if err := server.Stop(); err != nil {
		log.Fatal(err)
	}
}

// serve starts the device.
func serve(address string, o *oven) (*modbus.ModbusServer, error) {
	server, err := modbus.NewServer(&modbus.ServerConfiguration{URL: "tcp://" + address, MaxClients: 8, Logger: log.New(io.Discard, "", 0)}, o)
	if err != nil {
		return nil, err
	}
	return server, server.Start()
}

// oven warms up and cools down. Safe for concurrent use.
type oven struct {
	mu                    sync.Mutex
	temperature, setpoint float64 // degrees
	fan                   bool
	at                    time.Time // of temperature
	now                   func() time.Time
}

func newOven() *oven {
	return &oven{temperature: 20, setpoint: 60, now: time.Now, at: time.Now()}
}

const (
	highest = 120.0           // setpoint
	pace    = 5 * time.Second // in which the temperature makes two thirds of its way
	step    = 100 * time.Millisecond
)

// follow moves the temperature to where it is now.
func (o *oven) follow() {
	now := o.now()
	if now.Sub(o.at) > 100*pace { // it has long been where it goes
		o.temperature, o.at = o.setpoint, now
	}
	for ; now.Sub(o.at) >= step; o.at = o.at.Add(step) {
		o.temperature += (o.setpoint - o.temperature) * step.Seconds() / pace.Seconds()
	}
}

// HandleInputRegisters implements modbus.RequestHandler.
func (o *oven) HandleInputRegisters(r *modbus.InputRegistersRequest) ([]uint16, error) {
	if r.Addr != 0 || r.Quantity != 1 {
		return nil, modbus.ErrIllegalDataAddress
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.follow()
	return []uint16{uint16(o.temperature * 10)}, nil
}

// HandleHoldingRegisters implements modbus.RequestHandler.
func (o *oven) HandleHoldingRegisters(r *modbus.HoldingRegistersRequest) ([]uint16, error) {
	if r.Addr != 0 || r.Quantity != 1 {
		return nil, modbus.ErrIllegalDataAddress
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if r.IsWrite {
		degrees := float64(r.Args[0]) / 10
		if degrees > highest {
			return nil, modbus.ErrIllegalDataValue
		}
		o.follow()
		o.setpoint = degrees
	}
	return []uint16{uint16(o.setpoint * 10)}, nil
}

// HandleCoils implements modbus.RequestHandler.
func (o *oven) HandleCoils(r *modbus.CoilsRequest) ([]bool, error) {
	if r.Addr != 0 || r.Quantity != 1 {
		return nil, modbus.ErrIllegalDataAddress
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if r.IsWrite {
		o.fan = r.Args[0]
	}
	return []bool{o.fan}, nil
}

// HandleDiscreteInputs implements modbus.RequestHandler.
func (o *oven) HandleDiscreteInputs(*modbus.DiscreteInputsRequest) ([]bool, error) {
	return nil, modbus.ErrIllegalFunction
}
