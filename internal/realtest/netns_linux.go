package realtest

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const isolated = "OTKIT_ISOLATED_TEST"

// Isolated runs a test again in a process with network, mounts and an empty /run of its own, as root there, and reports whether
// this is that process. In the first process it returns false when that has ended, with its result: the test then returns too. Where
// namespaces are not permitted, the test is skipped.
func Isolated(t *testing.T) bool {
	t.Helper()
	if os.Getenv(isolated) == t.Name() {
		Run(t, "ip", "link", "set", "lo", "up")
		Run(t, "mount", "--make-rprivate", "/")
		Run(t, "mount", "-t", "tmpfs", "tmpfs", "/run")
		return true
	}
	Need(t, "ip")
	timeout := 5 * time.Minute
	if deadline, ok := t.Deadline(); ok {
		timeout = time.Until(deadline)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout="+timeout.String()) //nolint:gosec // this test
	cmd.Env = append(os.Environ(), isolated+"="+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err != nil && !errors.As(err, &exit):
		Skip(t, "network namespaces are not permitted: "+err.Error())
	case err != nil:
		t.Fatalf("in a network namespace: %v\n%s", err, out.String())
	case strings.Contains(out.String(), "--- SKIP: "+t.Name()+" "):
		Skip(t, out.String())
	}
	t.Log(out.String())
	return false
}

// Run runs a program of a test to its end and returns what it printed. If it fails, so does the test.
func Run(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput() //nolint:gosec // programs of tests
	if err != nil {
		t.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// Network is a network namespace of a test: another machine, as far as the network goes.
type Network struct{ pid int }

// NewNetwork returns a network that has nothing but a loopback interface until the test ends. The test must be [Isolated].
func NewNetwork(t testing.TB) Network {
	t.Helper()
	cmd := exec.Command("sleep", "infinity")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	n := Network{cmd.Process.Pid}
	n.Run(t, "ip", "link", "set", "lo", "up")
	return n
}

// Args returns the command line that runs a program in the network.
func (n Network) Args(name string, args ...string) []string {
	return append([]string{"nsenter", "--net=/proc/" + strconv.Itoa(n.pid) + "/ns/net", name}, args...)
}

// Run runs a program in the network as [Run] does.
func (n Network) Run(t testing.TB, name string, args ...string) string {
	t.Helper()
	line := n.Args(name, args...)
	return Run(t, line[0], line[1:]...)
}

// Cable connects the test's own network with n: the interface named near with n's interface named far.
func (n Network) Cable(t testing.TB, near, nearAddress, far, farAddress string) {
	t.Helper()
	Run(t, "ip", "link", "add", near, "type", "veth", "peer", "name", far)
	Run(t, "ip", "link", "set", far, "netns", strconv.Itoa(n.pid))
	Run(t, "ip", "addr", "add", nearAddress, "dev", near)
	Run(t, "ip", "link", "set", near, "up")
	n.Run(t, "ip", "addr", "add", farAddress, "dev", far)
	n.Run(t, "ip", "link", "set", far, "up")
}
