package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/simonvetter/modbus"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/realtest"
)

func TestTheOvenFollowsItsSetpoint(t *testing.T) {
	o := newOven()
	now := o.at
	o.now = func() time.Time { return now }
	address := fmt.Sprintf("127.0.0.1:%d", realtest.FreePort(t))
	server, err := serve(address, o)
	require.NoError(t, err)
	defer func() { require.NoError(t, server.Stop()) }()
	client, err := modbus.NewClient(&modbus.ClientConfiguration{URL: "tcp://" + address, Timeout: time.Minute})
	require.NoError(t, err)
	require.NoError(t, client.Open())
	defer func() { require.NoError(t, client.Close()) }()
	read := func() uint16 {
		value, err := client.ReadRegister(0, modbus.INPUT_REGISTER)
		require.NoError(t, err)
		return value
	}
	require.EqualValues(t, 200, read())
	require.NoError(t, client.WriteRegister(0, 950))
	now = now.Add(pace)
	require.InDelta(t, 675, read(), 10, "two thirds of the way")
	now = now.Add(time.Hour)
	require.EqualValues(t, 950, read())
	require.Error(t, client.WriteRegister(0, 1201))
	setpoint, err := client.ReadRegister(0, modbus.HOLDING_REGISTER)
	require.NoError(t, err)
	require.EqualValues(t, 950, setpoint)
	require.NoError(t, client.WriteCoil(0, true))
	fan, err := client.ReadCoil(0)
	require.NoError(t, err)
	require.True(t, fan)
	_, err = client.ReadRegister(1, modbus.INPUT_REGISTER)
	require.Error(t, err)
}
