package aasapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/transport/problem"
)

const (
	// maxBulk is how many entries one bulk change has at most.
	maxBulk = 10_000
	// bulkBodies is how many bodies of the largest size may be in memory for bulk changes that run.
	bulkBodies = 4
	// bulkTime bounds a bulk change.
	bulkTime = 10 * time.Minute
)

// bulk makes a handler that writes the documents of the body together.
func (s resource[T]) bulk(write func(*repository.Repository[T], context.Context, []*T) error) handler {
	return func(c *call) error { return startBulk(c, s.repository(c.service), aas.Decode[T], write) }
}

func (s resource[T]) bulkDelete(c *call) error {
	return startBulk(c, s.repository(c.service), func(entry []byte) (id string, err error) {
		return id, problem.FromDecode(json.Unmarshal(entry, &id))
	}, (*repository.Repository[T]).DeleteAll)
}

// startBulk reads a list from the body and has it written by nobody's request. What cannot be read is
// refused immediately; what the repository refuses is in the result.
func startBulk[T repository.Storable, E any](c *call, r *repository.Repository[T], decode func([]byte) (E, error),
	write func(*repository.Repository[T], context.Context, []E) error) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	size := int64(len(body))
	if !c.bulks.TryAcquire(size) {
		return errTooManyRunning.With("retryAfter", "1")
	}
	var handle string
	list, err := decodeEntries(body, decode)
	if err == nil {
		handle, err = c.invocations.start(c.ctx(), &invocation{}, bulkTime, func(ctx context.Context) outcome {
			defer c.bulks.Release(size)
			return c.execute(ctx, "bulk change", func() (repository.InvocationResult, error) {
				return repository.InvocationResult{}, write(r, ctx, list)
			})
		})
	}
	if err != nil {
		c.bulks.Release(size)
		return err
	}
	path := c.urlPath()
	c.w.Header().Set("Location", path[:strings.LastIndex(path, "/bulk/")]+"/bulk/status/"+encodeID(handle))
	c.w.WriteHeader(http.StatusAccepted)
	return nil
}

func decodeEntries[E any](body []byte, decode func([]byte) (E, error)) ([]E, error) {
	var entries []json.RawMessage
	if err := json.Unmarshal(body, &entries); err != nil {
		return nil, problem.FromDecode(err)
	}
	if len(entries) == 0 || len(entries) > maxBulk {
		return nil, problem.ErrInvalidRequest.Because("the body must be an array of 1 to %d entries", maxBulk)
	}
	list := make([]E, len(entries))
	for i, entry := range entries {
		var err error
		if list[i], err = decode(entry); err != nil {
			return nil, inField(fmt.Sprintf("[%d]", i), err)
		}
	}
	return list, nil
}

func (c *call) bulkChange() (*invocation, bool, error) {
	handle, err := c.id("handleId")
	if err != nil {
		return nil, false, err
	}
	return c.invocations.find(c.ctx(), handle, "", "")
}

func bulkStatus(c *call) error {
	_, ended, err := c.bulkChange()
	if err != nil {
		return err
	}
	if !ended {
		return c.running()
	}
	path := c.urlPath()
	at := strings.LastIndex(path, "/bulk/status/")
	c.w.Header().Set("Location", path[:at]+"/bulk/result/"+path[at+len("/bulk/status/"):])
	c.w.WriteHeader(http.StatusFound)
	return nil
}

// bulkResult answers with no content or, when nothing was changed, with the messages that say why: as the
// official document has it 400 for whatever is wrong with the entries, and 500 for everything else.
func bulkResult(c *call) error {
	i, ended, err := c.bulkChange()
	if err != nil {
		return err
	}
	if !ended {
		return errStillRunning
	}
	o := i.outcome
	if o.state == stateCompleted {
		return c.noContent()
	}
	body, err := json.Marshal(map[string][]problem.Message{"messages": o.messages})
	if err != nil {
		return err
	}
	if o.state != stateFailed || o.messages[0].MessageType == "Exception" {
		return c.json(http.StatusInternalServerError, body)
	}
	return c.json(http.StatusBadRequest, body)
}
