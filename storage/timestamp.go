package storage

import (
	"database/sql/driver"
	"fmt"
	"time"
)

// Timestamp is a time as the tables keep it: integer microseconds of UTC since 1970 in a BIGINT, null for the zero
// time. Pass Timestamp(t) as an argument and scan into (*Timestamp)(&t).
type Timestamp time.Time

// Value implements driver.Valuer.
func (s Timestamp) Value() (driver.Value, error) {
	if t := time.Time(s); !t.IsZero() {
		return t.UnixMicro(), nil
	}
	return nil, nil
}

// Scan implements sql.Scanner.
func (s *Timestamp) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*s = Timestamp{}
	case int64:
		*s = Timestamp(time.UnixMicro(v).UTC())
	default:
		return fmt.Errorf("a time is stored as %T", src)
	}
	return nil
}

// CeilMicros returns the first integer microsecond that is not before t: stored times have no fractions of one.
func CeilMicros(t time.Time) int64 {
	us := t.UnixMicro()
	if t.Nanosecond()%1000 != 0 {
		us++
	}
	return us
}
