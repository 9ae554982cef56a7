package signalr

import (
	"bytes"
	"encoding/binary"
	"net/http"
)

// receiveEarly receives bytes that may arrive before the transport is known, because some clients post their
// handshake before their first poll. If they are too many, it returns an error.
func (c *conn) receiveEarly(data []byte) error {
	c.receiving.Lock()
	defer c.receiving.Unlock()
	c.mu.Lock()
	waits := c.transport == noTransport
	c.mu.Unlock()
	if !waits { // meanwhile
		c.receiveAll(data)
		return nil
	}
	if limit := c.hub.opts.MaxMessageBytes; len(c.early)+len(data) > limit {
		return &http.MaxBytesError{Limit: int64(limit)}
	}
	c.early = append(c.early, data...)
	return nil
}

// receive processes bytes from the client. Messages may be split, or several together.
func (c *conn) receive(data []byte) {
	c.receiving.Lock()
	defer c.receiving.Unlock()
	c.receiveAll(data)
}

// receiveAll is receive, after what was received early. c.receiving is held.
func (c *conn) receiveAll(data []byte) {
	early := c.early
	c.early = nil
	if !c.split(early) || !c.split(data) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rearm()
}

// split processes the messages of data, and reports whether the connection continues. c.receiving is held.
func (c *conn) split(data []byte) bool {
	for len(data) > 0 {
		cut := c.cutText
		if c.protocol == messagePack {
			cut = c.cutPacked
		}
		record, rest, whole, err := cut(data)
		switch {
		case err != nil:
			c.partial = nil
			c.end(err.text, false, err.cause)
			return false
		case !whole:
			return true
		case !c.handle(record):
			return false
		}
		data = rest
	}
	return true
}

// refusal is the reason why a connection ends, for its client and for the log.
type refusal struct {
	text  string
	cause error
}

var (
	tooLarge = &refusal{"The message is too large.", errTooLarge}
	notValid = &refusal{"The message is not valid.", errMessage}
)

// cutText cuts off the first message, up to its separator, or keeps data until that arrives.
func (c *conn) cutText(data []byte) (record, rest []byte, whole bool, err *refusal) {
	record, rest, whole = bytes.Cut(data, []byte{separator})
	if len(c.partial)+len(record) > c.hub.opts.MaxMessageBytes {
		return nil, nil, false, tooLarge
	}
	if !whole {
		c.partial = append(c.partial, record...)
		return nil, nil, false, nil
	}
	if len(c.partial) > 0 {
		record = append(c.partial, record...)
		c.partial = nil
	}
	return record, rest, true, nil
}

// cutPacked cuts off the first message, after its length, or keeps data until all of it has arrived.
func (c *conn) cutPacked(data []byte) (record, rest []byte, whole bool, err *refusal) {
	kept := len(c.partial) > 0
	if kept {
		data = append(c.partial, data...)
		c.partial = nil
	}
	length, prefix := binary.Uvarint(data[:min(len(data), maxPrefix)])
	switch {
	case prefix <= 0 && len(data) >= maxPrefix:
		return nil, nil, false, notValid
	case prefix > 0 && length > uint64(c.hub.opts.MaxMessageBytes):
		return nil, nil, false, tooLarge
	case prefix <= 0 || uint64(len(data)-prefix) < length:
		if !kept { // the bytes are the caller's
			data = bytes.Clone(data)
		}
		c.partial = data
		return nil, nil, false, nil
	}
	data = data[prefix:]
	return data[:length], data[length:], true, nil
}

// handle processes one message, and reports whether the connection continues.
func (c *conn) handle(record []byte) bool {
	c.mu.Lock()
	ready, ending := c.ready, c.ending
	c.mu.Unlock()
	if ending != nil {
		return false
	}
	if !ready {
		return c.shakeHands(record)
	}
	m, err := c.protocol.parse(record)
	if err != nil {
		c.end(notValid.text, false, notValid.cause)
		return false
	}
	switch *m.Type {
	case typeInvocation, typeStreamInvocation:
		c.invoke(&m)
	case typePing:
		c.mu.Lock()
		c.pinged = true
		c.mu.Unlock()
	case typeClose:
		c.cancel(errClient)
		return false
	}
	return true
}

func (c *conn) shakeHands(record []byte) bool {
	c.mu.Lock()
	t := c.transport
	c.mu.Unlock()
	p, version, wrong := parseHandshake(record, t)
	if wrong != "" {
		c.end(wrong, false, errHandshake)
		return false
	}
	// A client that has read the response gets every later broadcast, and none before it.
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	c.mu.Lock()
	c.ready, c.protocol = true, p
	c.oneByOne = version == 0
	c.enqueue(encodeOwn(handshakeResponse{}))
	c.rearm()
	c.mu.Unlock()
	c.hub.admit(c, t)
	return true
}
