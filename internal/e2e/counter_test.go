package e2e_test

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/simonvetter/modbus"
	"github.com/stretchr/testify/require"
)

// counterPort is the variable that makes the test's program a device on that port instead.
const counterPort = "OTKIT_COUNTER_PORT"

// counting is a Modbus device whose registers 0 and 1 are a number that is one more at each reading. It prints what it gave and what
// was written to its registers from 10 on.
type counting struct {
	mu      sync.Mutex
	given   uint32
	written [20]uint16
}

func serveCounter(port string) error {
	server, err := modbus.NewServer(&modbus.ServerConfiguration{URL: "tcp://127.0.0.1:" + port, MaxClients: 10,
		Logger: log.New(io.Discard, "", 0)}, &counting{})
	if err != nil {
		return err
	}
	if err := server.Start(); err != nil {
		return err
	}
	select {}
}

func (c *counting) HandleHoldingRegisters(r *modbus.HoldingRegistersRequest) ([]uint16, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if int(r.Addr)+int(r.Quantity) > len(c.written) {
		return nil, modbus.ErrIllegalDataAddress
	}
	if r.IsWrite {
		copy(c.written[r.Addr:], r.Args)
		fmt.Println("written", r.Args[0])
		return r.Args, nil
	}
	values := c.written
	if r.Addr == 0 {
		c.given++
		values[0], values[1] = uint16(c.given>>16), uint16(c.given)
		fmt.Println("given", c.given)
	}
	return values[r.Addr : r.Addr+r.Quantity], nil
}

func (*counting) HandleCoils(*modbus.CoilsRequest) ([]bool, error) {
	return nil, modbus.ErrIllegalFunction
}

func (*counting) HandleDiscreteInputs(*modbus.DiscreteInputsRequest) ([]bool, error) {
	return nil, modbus.ErrIllegalFunction
}

func (*counting) HandleInputRegisters(*modbus.InputRegistersRequest) ([]uint16, error) {
	return nil, modbus.ErrIllegalFunction
}

// counter is the process of such a device.
type counter struct {
	port int
	mu   sync.Mutex
	last int64 // the greatest number given
	puts []string
}

// startCounter starts a device until the test ends; machine puts it into a network.
func startCounter(t testing.TB, machine func(string, ...string) []string, port int) *counter {
	t.Helper()
	c := &counter{port: port}
	line := machine(os.Args[0])
	cmd := exec.Command(line[0], line[1:]...) //nolint:gosec // this test
	cmd.Env = append(os.Environ(), counterPort+"="+strconv.Itoa(port))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	read := make(chan struct{})
	go func() {
		defer close(read)
		for s := bufio.NewScanner(out); s.Scan(); {
			what, value, _ := strings.Cut(s.Text(), " ")
			c.mu.Lock()
			if what == "given" {
				c.last, _ = strconv.ParseInt(value, 10, 64)
			} else {
				c.puts = append(c.puts, value)
			}
			c.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-read
		_ = cmd.Wait()
	})
	return c
}

// given returns the last number that the device gave.
func (c *counter) given() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// written returns what was written, in order.
func (c *counter) written() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.puts...)
}

// counts waits until the device has given so many more numbers.
func (c *counter) counts(t testing.TB, more int64) {
	t.Helper()
	from := c.given()
	eventually(t, "the bridge does not read its device", func() bool { return c.given() >= from+more })
}

// patience ends a wait that hangs. How long something takes says nothing on a loaded machine.
const patience = time.Minute

func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}
