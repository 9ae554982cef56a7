package problem

import (
	"context"
	"net/http"
	"time"

	"github.com/otkit/otkit/fault"
)

// maxResultText is how long a code and a correlation id of a Result may be: 32 characters in version
// 3.0 of the API, of which 3.1 raised the second to 128.
const maxResultText = 32

type result struct {
	Messages []Message `json:"messages"`
}

// Message is one entry of a Result object of IDTA-01002 part 2.
type Message struct {
	Code          string `json:"code"`
	CorrelationID string `json:"correlationId"`
	MessageType   string `json:"messageType"`
	Text          string `json:"text"`
	Timestamp     string `json:"timestamp"`
}

// Messages returns the entries of a Result object for an error, for one that is part of an answer and
// not the answer itself. An internal error is logged under the correlation id, and its text stays out.
func Messages(ctx context.Context, err error, now time.Time) []Message {
	f, row := FaultOf(err), Lookup(err)
	traceID := TraceID(ctx)
	if f.Kind == fault.Internal {
		traceID = Report(ctx, err)
	}
	return messagesOf(f, row, traceID, now)
}

// messagesOf returns a message for each member that is wrong. An empty trace id stands for a new one,
// because a correlation id is never empty.
func messagesOf(f *fault.Error, row Row, traceID string, now time.Time) []Message {
	code := row.Code
	if len(code) > maxResultText {
		code = byKind[f.Kind].Code
	}
	if traceID == "" || len(traceID) > maxResultText {
		traceID = NewTraceID()
	}
	message := Message{
		Code: code, CorrelationID: traceID, MessageType: "Error", Text: text(f),
		Timestamp: now.UTC().Format("2006-01-02T15:04:05.000Z"),
	}
	if row.Status >= http.StatusInternalServerError {
		message.MessageType = "Exception"
	}
	if f.Kind == fault.Internal || len(f.Fields) == 0 {
		return []Message{message}
	}
	messages := make([]Message, len(f.Fields))
	for i, field := range f.Fields {
		messages[i] = message
		messages[i].Text += ": " + field.Field + " " + field.Message
	}
	return messages
}
