package alarmspart

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/otkit/otkit/alarms/rules"
)

const (
	pendingFileName = "pending-alarms"
	// pendingSlot is the size of one copy of the pending alarms, about 600 of them.
	pendingSlot   = 256 << 10
	pendingHeader = 16 // serial number, length, checksum
)

// pendingFile stores pending alarms in a file of fixed size that is allocated in advance and written in place, which
// works on a full disk. It has two copies, which are written alternately, so that one is intact after a power cut.
type pendingFile struct {
	file *os.File
	last uint64 // serial number of the newest copy
}

var _ rules.PendingStore = (*pendingFile)(nil)

// openPendingFile opens the file in a data directory, or creates it.
func openPendingFile(dir string) (*pendingFile, error) {
	path := filepath.Join(dir, pendingFileName)
	f, err := os.OpenFile(path, os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err = newPendingFile(path); err == nil {
			f, err = os.OpenFile(path, os.O_RDWR, 0o600)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("pending alarms: %w", err)
	}
	return &pendingFile{file: f}, nil
}

// newPendingFile creates the file under another name first, so that it never exists without its space.
func newPendingFile(path string) error {
	f, err := os.OpenFile(path+".new", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, 2*pendingSlot))
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(path+".new"))
	}
	return nil
}

// LoadPending implements rules.PendingStore.
func (p *pendingFile) LoadPending() (signals []rules.Pending, err error) {
	var newest []byte
	for i := range int64(2) {
		slot := make([]byte, pendingSlot)
		if _, err := p.file.ReadAt(slot, i*pendingSlot); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		number, length := binary.BigEndian.Uint64(slot), binary.BigEndian.Uint32(slot[8:])
		if number <= p.last || length > pendingSlot-pendingHeader {
			continue
		}
		text := slot[pendingHeader : pendingHeader+length]
		if checksum(slot[:12], text) == binary.BigEndian.Uint32(slot[12:]) {
			p.last, newest = number, text
		}
	}
	if len(newest) > 0 {
		err = json.Unmarshal(newest, &signals)
	}
	return signals, err
}

// SavePending implements rules.PendingStore.
func (p *pendingFile) SavePending(signals []rules.Pending) (saved int, err error) {
	text := []byte{'['}
	for i := range signals {
		one, err := json.Marshal(&signals[i])
		if err != nil {
			return 0, err
		}
		if pendingHeader+len(text)+len(one)+2 > pendingSlot {
			break
		}
		if saved > 0 {
			text = append(text, ',')
		}
		text = append(text, one...)
		saved++
	}
	text = append(text, ']')
	slot := make([]byte, pendingHeader, pendingHeader+len(text))
	binary.BigEndian.PutUint64(slot, p.last+1)
	binary.BigEndian.PutUint32(slot[8:], uint32(len(text)))
	binary.BigEndian.PutUint32(slot[12:], checksum(slot[:12], text))
	if _, err := p.file.WriteAt(append(slot, text...), int64((p.last+1)%2)*pendingSlot); err != nil {
		return 0, err
	}
	if err := p.file.Sync(); err != nil {
		return 0, err
	}
	p.last++
	return saved, nil
}

func checksum(head, text []byte) uint32 {
	return crc32.Update(crc32.ChecksumIEEE(head), crc32.IEEETable, text)
}

// Close closes the file. It may be called twice.
func (p *pendingFile) Close() error {
	if err := p.file.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}
