package modbus

import (
	"fmt"
	"strconv"
	"strings"
)

// table is one of the four tables of a unit.
type table uint8

const (
	coils table = iota
	discreteInputs
	inputRegisters
	holdingRegisters
)

var tableNames = [...]string{"CO", "DI", "IR", "HR"}

func (t table) String() string { return tableNames[t] }

// bits holds for the tables whose items are single bits.
func (t table) bits() bool { return t <= discreteInputs }

// writable holds for the tables that have a function for writing.
func (t table) writable() bool { return t == coils || t == holdingRegisters }

const (
	maxReadRegisters  = 125
	maxReadBits       = 2000
	maxWriteRegisters = 123
	tableSize         = 1 << 16
)

// address is a place in one of the tables of a unit.
type address struct {
	unit  uint8
	table table
	start uint16
	bit   int8 // bit of a register, or noBit
}

const noBit = -1

// parseAddress reads the notations of the package comment.
func parseAddress(s string, unit uint8) (address, error) {
	a := address{unit: unit, bit: noBit}
	rest := s
	if before, after, ok := strings.Cut(s, "/"); ok {
		n, err := parseDecimal(before, 255)
		if err != nil {
			return a, fmt.Errorf("unit %w", err)
		}
		a.unit, rest = uint8(n), after
	}
	if before, after, ok := strings.Cut(rest, "."); ok {
		n, err := parseDecimal(after, 15)
		if err != nil {
			return a, fmt.Errorf("bit %w", err)
		}
		a.bit, rest = int8(n), before
	}
	var err error
	if word, number, ok := strings.Cut(rest, ":"); ok {
		err = a.parseNamed(word, number)
	} else {
		err = a.parseClassic(rest)
	}
	if err == nil && a.bit != noBit && a.table.bits() {
		err = fmt.Errorf("the table %s has bits already", a.table)
	}
	return a, err
}

func (a *address) parseNamed(word, number string) error {
	for t, name := range tableNames {
		if strings.EqualFold(word, name) {
			n, err := parseDecimal(number, tableSize-1)
			a.table, a.start = table(t), uint16(n)
			return err
		}
	}
	return fmt.Errorf("table %.8q is not HR, IR, CO or DI", word)
}

func (a *address) parseClassic(s string) error {
	if len(s) != 5 && len(s) != 6 {
		return fmt.Errorf("must be like 40001, 400001 or HR:0")
	}
	switch s[0] {
	case '0':
		a.table = coils
	case '1':
		a.table = discreteInputs
	case '3':
		a.table = inputRegisters
	case '4':
		a.table = holdingRegisters
	default:
		return fmt.Errorf("must begin with 0, 1, 3 or 4 for the table, or be like HR:0")
	}
	n, err := parseDecimal(s[1:], tableSize)
	if err != nil {
		return err
	}
	if n == 0 {
		return fmt.Errorf("this notation counts from 1")
	}
	a.start = uint16(n - 1)
	return nil
}

// parseDecimal reads plain digits: no sign, as strconv would take it.
func parseDecimal(s string, most int) (int, error) {
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil || s[0] == '+' || n > uint64(most) {
		return 0, fmt.Errorf("number %.12q is not 0 to %d", s, most)
	}
	return int(n), nil
}
