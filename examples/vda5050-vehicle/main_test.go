package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNumber(t *testing.T) {
	for _, c := range []struct {
		first string
		i     int
		want  string
	}{{"agv-1", 0, "agv-1"}, {"agv-1", 9, "agv-10"}, {"agv-09", 1, "agv-10"}, {"agv-001", 999, "agv-1000"}, {"agv", 0, "agv"}, {"agv", 2, "agv2"}} {
		require.Equal(t, c.want, number(c.first, c.i))
	}
}
