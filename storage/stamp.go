package storage

import (
	"database/sql/driver"
	"fmt"
	"time"
)

// Stamp is a time as the tables keep it: whole microseconds of UTC since 1970 in a BIGINT, null for
// the zero time. Give Stamp(t) as an argument and scan into (*Stamp)(&t).
type Stamp time.Time

// Value implements driver.Valuer.
func (s Stamp) Value() (driver.Value, error) {
	if t := time.Time(s); !t.IsZero() {
		return t.UnixMicro(), nil
	}
	return nil, nil
}

// Scan implements sql.Scanner.
func (s *Stamp) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*s = Stamp{}
	case int64:
		*s = Stamp(time.UnixMicro(v).UTC())
	default:
		return fmt.Errorf("a time is stored as %T", src)
	}
	return nil
}
