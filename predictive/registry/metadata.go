package registry

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/otkit/otkit/internal/runes"
	"github.com/otkit/otkit/predictive"
)

const format = 1

// file is what a metadata file has.
type file struct {
	Format   int             `json:"format"`
	SHA256   string          `json:"sha256"` // of Metadata in compact form
	Metadata json.RawMessage `json:"metadata"`
}

func encode(m predictive.Meta) ([]byte, error) {
	inner, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	return seal(inner)
}

// seal returns the file for metadata in compact form.
func seal(inner []byte) ([]byte, error) {
	text, err := json.MarshalIndent(file{Format: format, SHA256: digest(inner), Metadata: inner}, "", "  ")
	return append(text, '\n'), err
}

func compact(text []byte) ([]byte, error) {
	var b bytes.Buffer
	err := json.Compact(&b, text)
	return b.Bytes(), err
}

// decode reads the metadata file of a version.
func decode(data []byte, t predictive.ModelType, version int) (m predictive.Meta, err error) {
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return predictive.Meta{}, err
	}
	if f.Format != format {
		return predictive.Meta{}, fmt.Errorf("the format is %d, known is %d", f.Format, format)
	}
	inner, err := compact(f.Metadata)
	if err != nil {
		return predictive.Meta{}, errors.New("the metadata is missing")
	}
	if sum := digest(inner); sum != f.SHA256 {
		return predictive.Meta{}, fmt.Errorf("the SHA-256 of the metadata is %s, and not %s", sum, runes.Shorten(f.SHA256, 80))
	}
	if err := json.Unmarshal(inner, &m); err != nil {
		return predictive.Meta{}, err
	}
	switch {
	case m.ModelType != t || m.Version != version:
		return predictive.Meta{}, fmt.Errorf("it is that of %s", runes.Shorten(modelFile(m.ModelType, m.Version), 80))
	case m.Size < 1 || len(m.SHA256) != hex.EncodedLen(sha256.Size):
		return predictive.Meta{}, errors.New("the size or the SHA-256 of the model is missing")
	}
	return m, nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
