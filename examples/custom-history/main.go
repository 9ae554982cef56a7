// How do I keep the history of tags in a store of my own? Implement history.Store: this one
// appends lines of JSON to a file, which is slow to read but easy to look into.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log"
	"math"
	"os"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/history"
	"github.com/otkit/otkit/tags/simdriver"
)

// fileHistory is a history.Store in one file. tagstest.TestHistoryStore proves it.
type fileHistory struct {
	path string
	mu   sync.Mutex
}

func (h *fileHistory) Append(ctx context.Context, samples []history.Sample) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	file, err := os.OpenFile(h.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	return write(file, samples)
}

func write(file *os.File, samples []history.Sample) error {
	out := bufio.NewWriter(file)
	lines := json.NewEncoder(out)
	for _, s := range samples {
		s.Time = s.Time.UTC().Truncate(time.Microsecond)
		if err := lines.Encode(s); err != nil {
			return err
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return file.Sync() // a nil error promises that the samples survive
}

// load returns the samples that keep selects from the lines with this beginning, in order of time. Of two
// samples with one time, the later wins.
func (h *fileHistory) load(begin []byte, keep func(history.Sample) bool) ([]history.Sample, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	file, err := os.Open(h.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	type key struct {
		tag string
		at  time.Time
	}
	newest := make(map[key]history.Sample)
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, math.MaxInt32)
	for lines.Scan() {
		if !bytes.HasPrefix(lines.Bytes(), begin) { // far quicker than to decode it
			continue
		}
		var s history.Sample
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			return nil, err
		}
		if keep(s) {
			newest[key{s.Tag, s.Time}] = s
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	list := make([]history.Sample, 0, len(newest))
	for _, s := range newest {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b history.Sample) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Tag, b.Tag))
	})
	return list, nil
}

func (h *fileHistory) Range(ctx context.Context, tag string, start, end time.Time) iter.Seq2[history.Sample, error] {
	return func(yield func(history.Sample, error) bool) {
		name, err := json.Marshal(tag)
		if err != nil {
			yield(history.Sample{}, err)
			return
		}
		begin := slices.Concat([]byte(`{"Tag":`), name, []byte(`,`))
		list, err := h.load(begin, func(s history.Sample) bool {
			return s.Tag == tag && !s.Time.Before(start) && s.Time.Before(end)
		})
		if err = cmp.Or(ctx.Err(), err); err != nil {
			yield(history.Sample{}, err)
			return
		}
		for _, s := range list {
			if err := ctx.Err(); err != nil {
				yield(history.Sample{}, err)
				return
			}
			if !yield(s, nil) {
				return
			}
		}
	}
}

func (h *fileHistory) Trim(ctx context.Context, before time.Time, maxBytes int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	list, err := h.load(nil, func(history.Sample) bool { return true })
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	from := sort.Search(len(list), func(i int) bool { return !list[i].Time.Before(before) })
	if info, err := os.Stat(h.path); err == nil && maxBytes > 0 && info.Size() > maxBytes {
		from = max(from, int(float64(len(list))*(1-float64(maxBytes)/float64(info.Size()))))
	}
	last := make(map[string]int) // the value of each tag that holds there
	for i := range from {
		last[list[i].Tag] = i
	}
	stay := make([]history.Sample, 0, len(last)+len(list)-from)
	for i := range from {
		if last[list[i].Tag] == i {
			stay = append(stay, list[i])
		}
	}
	return h.replace(append(stay, list[from:]...))
}

// replace writes a new file beside the old one, so that a crash leaves one of the two.
func (h *fileHistory) replace(list []history.Sample) error {
	file, err := os.OpenFile(h.path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(write(file, list), file.Close()); err != nil {
		return err
	}
	return os.Rename(h.path+".new", h.path)
}

func main() {
	dir, err := os.MkdirTemp("", "history")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := run(context.Background(), &fileHistory{path: dir + "/history.jsonl"}, 3*time.Second); err != nil {
		log.Fatal(err)
	}
}

// run records a simulated pump for a while and prints what was stored.
func run(ctx context.Context, store history.Store, howLong time.Duration) error {
	engine, err := tags.New(tags.Options{})
	if err != nil {
		return err
	}
	recorder, err := history.NewRecorder(store, history.RecorderOptions{})
	if err != nil {
		return err
	}
	engine.Observe(recorder.Observe)
	driver, err := simdriver.New(simdriver.Options{UpdateInterval: 100 * time.Millisecond})
	if err != nil {
		return err
	}
	flow := tags.Tag{Name: "pump.flow", Address: "device1.tag1", DataType: tags.Float}
	if err := engine.AddDriver("pump", driver, tags.DriverOptions{PollInterval: 100 * time.Millisecond, Tags: []tags.Tag{flow}}); err != nil {
		return err
	}
	start := time.Now()
	time.Sleep(howLong)
	if err := errors.Join(engine.Close(ctx), recorder.Close(ctx)); err != nil {
		return err
	}
	for s, err := range store.Range(ctx, "pump.flow", start.Add(-time.Second), time.Now()) {
		if err != nil {
			return err
		}
		fmt.Println(s.Time.Format(time.RFC3339Nano), s.Value, s.Quality)
	}
	return nil
}
