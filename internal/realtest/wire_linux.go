package realtest

import (
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// Wire is a line between two networks that carries each frame by this process, so that it can be as bad as lines are. Kernels
// do that with netem, which many lack.
type Wire struct{ quality atomic.Pointer[WireQuality] }

// WireQuality is what happens to frames of a [Wire]. The zero value is a good line.
type WireQuality struct {
	Loss  float64       // share of the frames that are lost, 0 to 1
	Delay time.Duration // in each direction
}

// Set changes the quality for the frames that come from now on.
func (w *Wire) Set(q WireQuality) { w.quality.Store(&q) }

// Wire connects the test's own network with n as [Network.Cable] does.
func (n Network) Wire(t testing.TB, near, nearAddress, far, farAddress string) *Wire {
	t.Helper()
	a, b := tap(t, near), tap(t, far)
	Run(t, "ip", "addr", "add", nearAddress, "dev", near)
	Run(t, "ip", "link", "set", near, "up")
	Run(t, "ip", "link", "set", far, "netns", strconv.Itoa(n.pid))
	n.Run(t, "ip", "addr", "add", farAddress, "dev", far)
	n.Run(t, "ip", "link", "set", far, "up")
	w := &Wire{}
	w.Set(WireQuality{})
	var running sync.WaitGroup
	running.Go(func() { w.carry(a, b) })
	running.Go(func() { w.carry(b, a) })
	t.Cleanup(func() {
		_, _ = a.Close(), b.Close()
		running.Wait()
	})
	return w
}

// tap makes an interface whose frames are read from and written to the file.
func tap(t testing.TB, name string) *os.File {
	t.Helper()
	const setInterface, ethernet, bare = 0x400454ca, 0x2, 0x1000 // TUNSETIFF, IFF_TAP, IFF_NO_PI
	fd, err := syscall.Open("/dev/net/tun", syscall.O_RDWR|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		Skip(t, "no network interface of a test can be made: "+err.Error())
	}
	var request struct {
		name  [syscall.IFNAMSIZ]byte
		flags uint16
		_     [22]byte
	}
	copy(request.name[:], name)
	request.flags = ethernet | bare
	if _, _, code := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), setInterface, uintptr(unsafe.Pointer(&request))); code != 0 { //nolint:gosec // how interfaces are made
		Skip(t, "no network interface of a test can be made: "+code.Error())
	}
	return os.NewFile(uintptr(fd), name) //nolint:gosec // a descriptor is not negative
}

// carry passes frames on, in order, until a file is closed.
func (w *Wire) carry(from, to *os.File) {
	type frame struct {
		due  time.Time
		data []byte
	}
	line := make(chan frame, 10_000)
	var sending sync.WaitGroup
	sending.Go(func() {
		for f := range line {
			time.Sleep(time.Until(f.due))
			_, _ = to.Write(f.data) // an interface that is down loses it
		}
	})
	defer sending.Wait()
	defer close(line)
	for buffer := make([]byte, 65536); ; {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		q := w.quality.Load()
		if rand.Float64() < q.Loss { //nolint:gosec // a line
			continue
		}
		select {
		case line <- frame{time.Now().Add(q.Delay), append([]byte(nil), buffer[:n]...)}:
		default: // a full line loses frames
		}
	}
}
