package link

import "errors"

// Encode returns entries in the compact form that Decode reads.
func Encode(entries []Entry) []byte { panic("follows") }

// Decode appends the entries of data to into.
func Decode(data []byte, into []Entry) ([]Entry, error) { return into, errors.New("follows") }
