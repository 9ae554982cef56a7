package tagconfig

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// maxFileBytes bounds what is read of a model file.
const maxFileBytes = 512 << 20

// settled is how old a file must be before an unchanged time stamp proves that nothing was written
// since: some file systems count in steps of two seconds.
const settled = 3 * time.Second

// content is a file as it was read.
type content struct {
	data  []byte
	stamp stamp
}

// stamp identifies one state of a file.
type stamp struct {
	info    fs.FileInfo // nil when there was no file
	hash    [sha256.Size]byte
	takenAt time.Time
	own     bool // it was written here, and the file system counts time in small steps
}

// current reports whether the file with the given info is surely still the one of the stamp.
func (s stamp) current(info fs.FileInfo) bool {
	return s.of(info) && (s.own || s.takenAt.Sub(info.ModTime()) > settled)
}

// of reports whether the file with the given info may be the one of the stamp.
func (s stamp) of(info fs.FileInfo) bool {
	return s.info != nil && os.SameFile(s.info, info) && s.info.Size() == info.Size() && s.info.ModTime().Equal(info.ModTime())
}

func readFile(path string, now time.Time) (content, error) {
	f, err := os.Open(path)
	if err != nil {
		return content{}, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return content{}, err
	}
	buf := bytes.NewBuffer(make([]byte, 0, min(info.Size(), maxFileBytes)+bytes.MinRead))
	if _, err := buf.ReadFrom(io.LimitReader(f, maxFileBytes+1)); err != nil {
		return content{}, err
	}
	data := buf.Bytes()
	if len(data) > maxFileBytes {
		return content{}, fmt.Errorf("the file is larger than %d bytes", maxFileBytes)
	}
	return content{data: data, stamp: stamp{info: info, hash: sha256.Sum256(data), takenAt: now}}, nil
}

// tempFile is what replacing a file needs of the temporary one.
type tempFile interface {
	io.WriteCloser
	Sync() error
	Chmod(fs.FileMode) error
	Stat() (fs.FileInfo, error)
}

// createTemp makes the temporary file. A leftover of a killed process goes first.
func createTemp(path string) (tempFile, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// staged is a text that is on the disk and takes the place of a file by a rename.
type staged struct {
	temp, path string
	stamp      stamp
}

// stage writes a text beside path. The temporary file has one fixed name, so that a process killed again and again leaves at
// most one behind.
func stage(path string, write func(io.Writer) error, create func(string) (tempFile, error), now func() time.Time) (*staged, error) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // a rename onto a link would replace the link
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	st := &staged{temp: filepath.Join(dir, "."+filepath.Base(path)+".tmp"), path: path}
	var err error
	if st.stamp, err = writeTemp(st.temp, write, mode, create); err != nil {
		return nil, st.discard(err)
	}
	st.stamp.takenAt = now()
	st.stamp.own = st.stamp.info.ModTime().Nanosecond()%int(time.Millisecond) != 0
	return st, nil
}

// discard removes the text and returns err with what went wrong with that.
func (st *staged) discard(err error) error {
	if gone := os.Remove(st.temp); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}

// replace makes the text the content of the path, or leaves the path as it is.
func (st *staged) replace() error {
	if err := os.Rename(st.temp, st.path); err != nil {
		return st.discard(err)
	}
	return nil
}

func (st *staged) sync() error { return syncDir(filepath.Dir(st.path)) }

func writeTemp(path string, write func(io.Writer) error, mode fs.FileMode, create func(string) (tempFile, error)) (s stamp, err error) {
	f, err := create(path)
	if err != nil {
		return s, err
	}
	defer func() {
		if closing := f.Close(); err == nil {
			err = closing
		}
	}()
	hash := sha256.New()
	if err := write(io.MultiWriter(f, hash)); err != nil {
		return s, err
	}
	if err := f.Chmod(mode); err != nil {
		return s, err
	}
	if err := f.Sync(); err != nil {
		return s, err
	}
	hash.Sum(s.hash[:0])
	s.info, err = f.Stat()
	return s, err
}

// syncDir makes a rename in dir durable. Windows cannot and need not sync a directory, and neither
// can some network file systems.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}
