package server

import (
	"maps"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/otkit/otkit/transport/audited"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/recorder"
)

// newRecorder returns what records calls in the audit log, nil without one.
func (s *Server) newRecorder() (auth.Recorder, error) {
	if s.opts.Audit == nil {
		return nil, nil
	}
	descriptions := make(map[string]audited.Description)
	for _, p := range s.parts {
		maps.Copy(descriptions, p.Audited)
	}
	return recorder.New(s.opts.Audit, recorder.Options{Descriptions: descriptions, Message: messageJSON, WriteError: refuse})
}

// messageJSON returns a message as JSON, nil for what cannot be one.
func messageJSON(m any) []byte {
	message, ok := m.(proto.Message)
	if !ok {
		return nil
	}
	text, err := protojson.Marshal(message)
	if err != nil {
		return nil
	}
	return text
}
