package tags_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
)

var errDevice = errors.New("the device is on fire")

// device is a driver that does what its script says. Fields are changed with set.
type device struct {
	mu       sync.Mutex
	readings map[string]tags.Reading // by address; a point that is not there reads as Good Int 0
	batch    int                     // for MaxBatch

	connectErr, readErr, writeErr error            // of the calls as a whole
	refuse                        map[string]error // of single writes, by address
	echo                          bool             // what is written can be read
	panics                        bool             // in Read
	hold                          chan struct{}    // Read blocks until it is closed, whatever its context
	holdWrite                     chan struct{}    // the same for Write
	onWrite                       func()           // called in Write, under mu

	connects []time.Time
	reads    map[string]int // by address
	largest  int            // most points in one Read
	written  []tags.WriteItem
	closed   int
}

func newDevice() *device {
	return &device{readings: map[string]tags.Reading{}, reads: map[string]int{}, refuse: map[string]error{}, echo: true}
}

func (d *device) set(change func(d *device)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change(d)
}

// has sets what a point reads as, with quality Good.
func (d *device) has(address string, v tags.Value) {
	d.set(func(d *device) { d.readings[address] = tags.Reading{Value: v, Quality: tags.Good} })
}

func (d *device) readsOf(address string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.reads[address]
}

func (d *device) largestRead() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.largest
}

func (d *device) attempts() []time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.connects)
}

func (d *device) closes() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.closed
}

func (d *device) writtenValues() (values []tags.Value) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, w := range d.written {
		values = append(values, w.Value)
	}
	return values
}

func (d *device) Connect(context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.connects = append(d.connects, time.Now())
	return d.connectErr
}

func (d *device) Read(_ context.Context, points []tags.Point, out []tags.Reading) error {
	d.mu.Lock()
	hold := d.hold
	d.largest = max(d.largest, len(points))
	d.mu.Unlock()
	if hold != nil {
		<-hold
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.panics {
		panic("a defect in the driver")
	}
	for i, p := range points {
		d.reads[p.Address]++
		r, ok := d.readings[p.Address]
		if !ok {
			r = tags.Reading{Value: tags.IntValue(0), Quality: tags.Good}
		}
		out[i] = r
	}
	return d.readErr
}

func (d *device) Write(_ context.Context, items []tags.WriteItem, errs []error) error {
	d.mu.Lock()
	hold := d.holdWrite
	d.mu.Unlock()
	if hold != nil {
		<-hold
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.onWrite != nil {
		d.onWrite()
	}
	if d.writeErr != nil {
		return d.writeErr
	}
	for i, item := range items {
		if errs[i] = d.refuse[item.Point.Address]; errs[i] != nil {
			continue
		}
		d.written = append(d.written, item)
		if d.echo {
			d.readings[item.Point.Address] = tags.Reading{Value: item.Value, Quality: tags.Good}
		}
	}
	return nil
}

func (d *device) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed++
	return nil
}

func (d *device) MaxBatch() int { return d.batch }

// pushDevice is a device that also tells of changes.
type pushDevice struct {
	*device
	dead chan error // ends the subscription

	subscribed [][]tags.Point // every subscription there was
	emit       func(i int, r tags.Reading)
}

func newPushDevice() *pushDevice { return &pushDevice{device: newDevice(), dead: make(chan error)} }

func (d *pushDevice) Subscribe(ctx context.Context, points []tags.Point, emit func(int, tags.Reading)) error {
	d.mu.Lock()
	d.subscribed = append(d.subscribed, slices.Clone(points))
	d.emit = emit
	d.mu.Unlock()
	defer d.set(func(*device) { d.emit = nil })
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-d.dead:
		return err
	}
}

// push emits a reading for an address, which reads like it from then on.
func (d *pushDevice) push(t testing.TB, address string, r tags.Reading) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	require.NotNil(t, d.emit, "nobody is subscribed")
	points := d.subscribed[len(d.subscribed)-1]
	i := slices.IndexFunc(points, func(p tags.Point) bool { return p.Address == address })
	require.GreaterOrEqual(t, i, 0, "%s is not subscribed", address)
	if !r.Late {
		d.readings[address] = r
	}
	d.emit(i, r)
}

// subscriptions returns the addresses of every subscription that there was.
func (d *pushDevice) subscriptions() (all []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, points := range d.subscribed {
		var addresses []string
		for _, p := range points {
			addresses = append(addresses, p.Address)
		}
		slices.Sort(addresses)
		all = append(all, strings.Join(addresses, " "))
	}
	return all
}

func (d *pushDevice) isSubscribed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.emit != nil
}

func newEngine(t testing.TB, o tags.Options) *tags.Engine {
	t.Helper()
	e, err := tags.New(o)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, e.Close(ctx))
	})
	return e
}

// intTag defines a writable Int; its driver and address come from its name, such as plc.level.
func intTag(name string, more ...func(*tags.Tag)) tags.Tag {
	driver, address, _ := strings.Cut(name, ".")
	t := tags.Tag{Name: name, Driver: driver, Address: address, DataType: tags.Int, Access: tags.ReadWrite}
	for _, m := range more {
		m(&t)
	}
	return t
}

func ofType(dt tags.DataType) func(*tags.Tag) { return func(t *tags.Tag) { t.DataType = dt } }
func every(d time.Duration) func(*tags.Tag)   { return func(t *tags.Tag) { t.PollInterval = d } }
func between(low, high float64) func(*tags.Tag) {
	return func(t *tags.Tag) { t.Min, t.Max = &low, &high }
}
func scaled(scale, offset float64) func(*tags.Tag) {
	return func(t *tags.Tag) { t.Scale, t.Offset = scale, offset }
}

// online makes an engine with the driver plc, connected and read once. It is for synctest bubbles.
func online(t testing.TB, d tags.Driver, o tags.DriverOptions) *tags.Engine {
	t.Helper()
	e := newEngine(t, tags.Options{})
	require.NoError(t, e.AddDriver("plc", d, o))
	after(time.Second)
	return e
}

// canceled returns a context that has ended.
func canceled(t testing.TB) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// after lets fake time pass and everything that is due happen.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func sampleOf(t testing.TB, e *tags.Engine, name string) tags.Sample {
	t.Helper()
	s, err := e.Read(name)
	require.NoError(t, err)
	return s.Sample
}

func requireSample(t testing.TB, e *tags.Engine, name string, v tags.Value, q tags.Quality, r tags.Reason) {
	t.Helper()
	s := sampleOf(t, e, name)
	require.Equal(t, [3]string{v.String(), q.String(), r.String()},
		[3]string{s.Value.String(), s.Quality.String(), s.Reason.String()})
	require.Equal(t, v.Type(), s.Value.Type())
}

func status(t testing.TB, e *tags.Engine, id string) tags.DriverStatus {
	t.Helper()
	for _, s := range e.Drivers() {
		if s.ID == id {
			return s
		}
	}
	t.Fatalf("driver %s is not registered", id)
	return tags.DriverStatus{}
}

// changeLog is an observer.
type changeLog struct {
	mu   sync.Mutex
	list []tags.Change
}

func observe(e *tags.Engine) *changeLog {
	l := &changeLog{}
	e.Observe(func(changes []tags.Change) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.list = append(l.list, changes...)
	})
	return l
}

// take returns what was delivered since the last call, as "tag value quality reason", and "late" where it was.
func (l *changeLog) take() (texts []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.list {
		texts = append(texts, describe(c))
	}
	l.list = nil
	return texts
}

func describe(c tags.Change) string {
	text := strings.Join([]string{c.Tag.Name, c.Value.String(), c.Quality.String(), c.Reason.String()}, " ")
	if c.Late {
		text += " late"
	}
	return strings.Join(strings.Fields(text), " ")
}
