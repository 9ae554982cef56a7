package tagsapi

import (
	"encoding/json"
	"net/http"
	"strconv"
	"sync"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/internal/restapi"
	"github.com/otkit/otkit/transport/tagsapi/internal/gen"
)

// The answers below are appended without reflection: for a batch of 500 tags encoding/json took most of
// the time of a request.

// tagSize is about what one encoded tag takes.
const tagSize = 320

// single has buffers for answers with one tag.
var single = sync.Pool{New: func() any { return new([]byte) }}

// tagAnswer is the schema TagAnswer.
type tagAnswer struct{ tag tags.Snapshot }

// VisitReadTagResponse implements gen.ReadTagResponseObject.
func (a tagAnswer) VisitReadTagResponse(w http.ResponseWriter) error {
	buffer := single.Get().(*[]byte)
	defer single.Put(buffer)
	body, err := appendTag(append((*buffer)[:0], `{"tag":`...), a.tag)
	if err != nil {
		return err
	}
	*buffer = append(body, '}')
	return restapi.WriteJSON(w, http.StatusOK, *buffer)
}

// tagList is the schema TagList.
type tagList struct {
	tags  []tags.Snapshot
	total int
}

// VisitListTagsResponse implements gen.ListTagsResponseObject.
func (l tagList) VisitListTagsResponse(w http.ResponseWriter) error {
	body, err := appendTags(append(make([]byte, 0, 40+len(l.tags)*tagSize), `{"tags":`...), l.tags)
	if err != nil {
		return err
	}
	body = strconv.AppendInt(append(body, `,"totalCount":`...), int64(l.total), 10)
	return restapi.WriteJSON(w, http.StatusOK, append(body, '}'))
}

// batchAnswer is the schema BatchReadAnswer.
type batchAnswer struct {
	tags   []tags.Snapshot
	errors []gen.BatchError
}

// VisitReadTagsResponse implements gen.ReadTagsResponseObject.
func (a batchAnswer) VisitReadTagsResponse(w http.ResponseWriter) error {
	failed, err := json.Marshal(a.errors)
	if err != nil {
		return err
	}
	body := append(make([]byte, 0, 40+len(failed)+len(a.tags)*tagSize), `{"errors":`...)
	body, err = appendTags(append(append(body, failed...), `,"tags":`...), a.tags)
	if err != nil {
		return err
	}
	return restapi.WriteJSON(w, http.StatusOK, append(body, '}'))
}

func appendTags(dst []byte, list []tags.Snapshot) ([]byte, error) {
	dst = append(dst, '[')
	var err error
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = appendTag(dst, list[i]); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

// appendTag appends the schema Tag: its members in the order of encoding/json for the generated type.
func appendTag(dst []byte, s tags.Snapshot) ([]byte, error) {
	t := s.Tag
	dst = restapi.AppendString(append(dst, `{"accessMode":`...), string(t.Access))
	dst = restapi.AppendString(append(dst, `,"address":`...), t.Address)
	dst, err := s.Sample.Value.AppendJSON(append(dst, `,"currentValue":`...))
	if err != nil {
		return nil, err
	}
	dst = restapi.AppendString(append(dst, `,"dataType":`...), string(t.DataType))
	if t.Description != "" {
		dst = restapi.AppendString(append(dst, `,"description":`...), t.Description)
	}
	dst = restapi.AppendString(append(dst, `,"driver":`...), t.Driver)
	dst = restapi.AppendTime(append(dst, `,"lastUpdated":`...), s.Sample.SourceTime)
	if t.Max != nil {
		dst = restapi.AppendFloat(append(dst, `,"maxValue":`...), *t.Max)
	}
	if t.Min != nil {
		dst = restapi.AppendFloat(append(dst, `,"minValue":`...), *t.Min)
	}
	dst = restapi.AppendString(append(dst, `,"name":`...), t.Name)
	dst = restapi.AppendString(append(dst, `,"quality":`...), s.Sample.Quality.String())
	if reason := s.Sample.Reason.String(); reason != "" {
		dst = restapi.AppendString(append(dst, `,"qualityReason":`...), reason)
	}
	if !s.Sample.ServerTime.IsZero() {
		dst = restapi.AppendTime(append(dst, `,"receivedAt":`...), s.Sample.ServerTime)
	}
	if t.Unit != "" {
		dst = restapi.AppendString(append(dst, `,"unit":`...), t.Unit)
	}
	return append(dst, '}'), nil
}
