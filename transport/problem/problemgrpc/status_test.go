package problemgrpc

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/problem"
)

func TestDetails(t *testing.T) {
	require.NoError(t, Status(nil))
	require.NoError(t, Report(t.Context(), "", nil))
	already := status.Error(codes.OutOfRange, "as it is")
	require.Equal(t, already, Status(already))
	require.Equal(t, already, Report(t.Context(), "", already))

	err := problem.ErrInvalidRequest.Invalid(fault.Field{Field: "throttle_ms", Message: "must not be negative"}).With("retryAfter", "3")
	details := status.Convert(Status(err)).Details()
	require.Len(t, details, 3)
	violation := details[1].(*errdetails.BadRequest).GetFieldViolations()[0]
	require.Equal(t, "throttle_ms", violation.GetField())
	require.Equal(t, "must not be negative", violation.GetDescription())
	require.EqualValues(t, 3, details[2].(*errdetails.RetryInfo).GetRetryDelay().GetSeconds())
}

func TestDetailsFitIntoAHeader(t *testing.T) {
	long := strings.Repeat("ü", 5000)
	err := problem.ErrInvalidRequest.On("tag", long).With("bad", "a\xffb")
	for i := range 500 {
		err = err.Invalid(fault.Field{Field: "writes[" + strconv.Itoa(i) + "]", Message: long})
	}
	s := status.Convert(Status(err))
	require.Len(t, s.Details(), 2, "the details survive")
	require.Equal(t, "ab", s.Details()[0].(*errdetails.ErrorInfo).GetMetadata()["bad"])
	size := len(s.Message())
	for _, d := range s.Proto().GetDetails() {
		size += len(d.GetValue())
	}
	require.Less(t, size, 6000)
}
