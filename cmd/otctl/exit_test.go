package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Only the output may break off without an error, and never hides what became of a write.
func TestABrokenConnectionIsNoClosedPipe(t *testing.T) {
	t.Parallel()
	lost := &url.Error{Op: "Post", URL: "http://engine", Err: &net.OpError{Op: "write", Err: os.NewSyscallError("write", syscall.EPIPE)}}
	unread := &outputError{os.NewSyscallError("write", syscall.EPIPE)}
	for _, c := range []struct {
		err  error
		code int
	}{
		{unread, 0},
		{lost, exitFailed},
		{unsure(lost), exitUnknown},
		{errors.Join(failf(exitUnknown, "not known"), unread), exitUnknown},
		{errors.Join(&apiError{status: 404}, unread), exitNotFound},
		{&outputError{syscall.ENOSPC}, exitFailed},
	} {
		o := &cli{errOut: io.Discard}
		o.out = newOutput(io.Discard)
		require.Equal(t, c.code, o.exitCode(context.Background(), fmt.Errorf("x: %w", c.err)), c.err)
	}
}
