package main

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/otkit/otkit/predictive/simfleet"
)

const (
	settings = 3
	sensors  = 21
)

// fleet has units that ran to failure, and units that stop before.
type fleet struct {
	name        string
	train, test []simfleet.Unit
}

// fleets returns the complete sets in a folder, or generated ones if there is no folder. Each kind is there once under one operating
// condition and once under six.
func fleets(dir string) (list []fleet, err error) {
	if dir == "" {
		return generated(100)
	}
	for _, name := range []string{"FD001", "FD002", "FD003", "FD004"} {
		f, err := load(dir, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s has no complete set, such as train_FD001.txt, test_FD001.txt and RUL_FD001.txt", dir)
	}
	f, err := load(dir, list[0].name)
	if err == nil {
		err = f.operate()
	}
	return append(list, f), err
}

// generated returns fleets of so many units that ran to failure and as many that stop before.
func generated(units int) (list []fleet, err error) {
	for _, conditions := range []int{1, 6} {
		all, err := simfleet.New(simfleet.Options{Units: 2 * units, Seed: 1})
		if err != nil {
			return nil, err
		}
		f := fleet{"generated", all[:units], all[units:]}
		random := rand.New(rand.NewPCG(1, 1))
		for i := range f.test {
			life := len(f.test[i].Sensors)
			f.test[i].Stop(life/4 + random.IntN(life*3/4))
		}
		if conditions > 1 {
			err = f.operate()
		}
		if list = append(list, f); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// operate puts the units under six operating conditions that change with each cycle.
func (f *fleet) operate() error {
	f.name += " in 6 conditions"
	return simfleet.Operate(slices.Concat(f.train, f.test), 6, 1)
}

// load reads a set such as FD001 from a folder, with its files plain or gzipped.
func load(dir, name string) (fleet, error) {
	f := fleet{name: name}
	var err error
	if f.train, err = readEngines(filepath.Join(dir, "train_"+name+".txt")); err != nil {
		return f, err
	}
	if f.test, err = readEngines(filepath.Join(dir, "test_"+name+".txt")); err != nil {
		return f, err
	}
	lines, err := readNumbers(filepath.Join(dir, "RUL_"+name+".txt"), 1)
	if err == nil && len(lines) != len(f.test) {
		err = fmt.Errorf("RUL_%s.txt has %d lines for %d engines", name, len(lines), len(f.test))
	}
	for i := range lines {
		if err == nil {
			f.test[i].After = int(lines[i][0])
		}
	}
	return f, err
}

// readEngines reads lines of engine, cycle, settings and sensors.
func readEngines(path string) (list []simfleet.Unit, err error) {
	lines, err := readNumbers(path, 2+settings+sensors)
	if err != nil {
		return nil, err
	}
	for i, line := range lines {
		if i == 0 || line[0] != lines[i-1][0] {
			list = append(list, simfleet.Unit{})
		}
		u := &list[len(list)-1]
		u.Settings, u.Sensors = append(u.Settings, line[2:2+settings]), append(u.Sensors, line[2+settings:])
		if n := len(u.Sensors); float64(n) != line[1] {
			return nil, fmt.Errorf("%s:%d: cycle %v, want %d", path, i+1, line[1], n)
		}
	}
	return list, nil
}

// readNumbers reads lines of so many numbers, from path or path.gz.
func readNumbers(path string, count int) (lines [][]float64, err error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		file, err = os.Open(path + ".gz")
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var text io.Reader = file
	if strings.HasSuffix(file.Name(), ".gz") {
		if text, err = gzip.NewReader(file); err != nil {
			return nil, fmt.Errorf("%s: %w", file.Name(), err)
		}
	}
	for s := bufio.NewScanner(text); ; {
		if !s.Scan() {
			return lines, s.Err()
		}
		fields := strings.Fields(s.Text())
		if len(fields) != count {
			return nil, fmt.Errorf("%s:%d: %d numbers, want %d", file.Name(), len(lines)+1, len(fields), count)
		}
		line := make([]float64, count)
		for i, field := range fields {
			if line[i], err = strconv.ParseFloat(field, 64); err != nil || math.IsNaN(line[i]) || math.IsInf(line[i], 0) {
				return nil, fmt.Errorf("%s:%d: %q is not a finite number", file.Name(), len(lines)+1, field)
			}
		}
		lines = append(lines, line)
	}
}
