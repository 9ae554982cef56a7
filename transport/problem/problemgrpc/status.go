package problemgrpc

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/problem"
)

// Domain is the domain of every google.rpc.ErrorInfo that otkit sends.
const Domain = "otkit"

// Details travel in a header, and clients take headers of 8 KiB as a rule.
const (
	maxMessage    = 1024 // bytes of the status message
	maxValue      = 256  // bytes of one metadata value, field or rule
	maxViolations = 10
)

// Status returns the gRPC status of an error: its code, a message without internal texts, ErrorInfo with
// the specification's code as reason, BadRequest with the fields, RetryInfo when the metadata has
// retryAfter. A nil error is nil; an error that is a gRPC status already stays as it is. Long texts
// are cut, as they travel in a header.
func Status(err error) error {
	if err == nil {
		return nil
	}
	if _, isFault := fault.From(err); !isFault {
		if s, ok := status.FromError(err); ok {
			return s.Err()
		}
	}
	return withTrace(err, "")
}

// Report is [Status] as [problem.Write] does it: what is answered as a failure of the server is logged with its
// cause, and the trace id of the log line goes into the metadata of ErrorInfo.
func Report(ctx context.Context, method string, err error) error {
	if err == nil || problem.Lookup(err).Status != http.StatusInternalServerError {
		return Status(err)
	}
	if _, isStatus := status.FromError(err); isStatus {
		return Status(err)
	}
	return withTrace(err, problem.Report(ctx, err, slog.String("method", method), slog.String("subject", problem.Subject(ctx))))
}

func withTrace(err error, traceID string) error {
	f, row := problem.FaultOf(err), problem.Lookup(err)
	info := &errdetails.ErrorInfo{Reason: row.Code, Domain: Domain}
	if f.Kind != fault.Internal {
		info.Metadata = clipped(f.Metadata)
	}
	if traceID != "" {
		if info.Metadata == nil {
			info.Metadata = make(map[string]string, 1)
		}
		info.Metadata["traceId"] = traceID
	}
	details := []protoadapt.MessageV1{info}
	if f.Kind == fault.Invalid && len(f.Fields) > 0 {
		details = append(details, violations(f.Fields))
	}
	if s, parseErr := strconv.Atoi(f.Metadata["retryAfter"]); parseErr == nil && f.Kind != fault.Internal {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(time.Duration(s) * time.Second)})
	}
	plain := status.New(codes.Code(row.GRPC), clip(problem.Text(f), maxMessage))
	full, detailErr := plain.WithDetails(details...)
	if detailErr != nil { // a detail that cannot be encoded must not hide the error
		return plain.Err()
	}
	return full.Err()
}

func violations(fields []fault.Field) *errdetails.BadRequest {
	bad := &errdetails.BadRequest{}
	for _, f := range fields[:min(len(fields), maxViolations)] {
		bad.FieldViolations = append(bad.FieldViolations, &errdetails.BadRequest_FieldViolation{
			Field: clip(f.Field, maxValue), Description: clip(f.Message, maxValue)})
	}
	return bad
}

func clipped(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[clip(k, maxValue)] = clip(v, maxValue)
	}
	return out
}

// clip cuts a text to n bytes of valid UTF-8, which protobuf demands.
func clip(s string, n int) string {
	if len(s) > n {
		s = s[:n]
	}
	return strings.ToValidUTF8(s, "")
}
