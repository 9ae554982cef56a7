package auth

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

const maxKeyFile = 1 << 20

type keyFile struct {
	Version int         `json:"version"`
	Keys    []storedKey `json:"keys"` // newest first
}

type storedKey struct {
	ID          string    `json:"kid"`
	Created     time.Time `json:"createdAt"`
	VerifyUntil time.Time `json:"verifyUntil,omitzero"` // absent for the key that signs
	PKCS8       []byte    `json:"pkcs8"`
}

func readKeys(path string, logger *slog.Logger) ([]signingKey, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if info.Size() > maxKeyFile {
		return nil, fmt.Errorf("%s is too large to be a key file", path)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		logger.Warn("key file could be read by others, closing it to them", "file", path, "mode", info.Mode().Perm().String())
		if err := os.Chmod(path, 0o600); err != nil {
			return nil, err
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	all, err := decodeKeys(text)
	if err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", path, err)
	}
	return all, nil
}

func decodeKeys(text []byte) ([]signingKey, error) {
	var file keyFile
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, err
	}
	if file.Version != 1 {
		return nil, fmt.Errorf("version %d is unknown", file.Version)
	}
	if len(file.Keys) == 0 {
		return nil, errors.New("it has no keys")
	}
	all := make([]signingKey, 0, len(file.Keys))
	for i, stored := range file.Keys {
		parsed, err := x509.ParsePKCS8PrivateKey(stored.PKCS8)
		if err != nil {
			return nil, fmt.Errorf("key %d: %w", i, err)
		}
		private, ok := parsed.(*ecdsa.PrivateKey)
		if !ok {
			return nil, fmt.Errorf("key %d is not an ECDSA key", i)
		}
		id, err := thumbprint(&private.PublicKey)
		if err != nil {
			return nil, fmt.Errorf("key %d: %w", i, err)
		}
		if id != stored.ID {
			return nil, fmt.Errorf("key %d does not have the id %q", i, stored.ID)
		}
		if (i == 0) != stored.VerifyUntil.IsZero() {
			return nil, errors.New("the first key and no other must be the one that signs")
		}
		all = append(all, signingKey{id: id, created: stored.Created, verifyUntil: stored.VerifyUntil, private: private})
	}
	return all, nil
}

func writeKeys(path string, all []signingKey) (err error) {
	file := keyFile{Version: 1}
	for _, one := range all {
		der, err := x509.MarshalPKCS8PrivateKey(one.private)
		if err != nil {
			return err
		}
		file.Keys = append(file.Keys, storedKey{ID: one.id, Created: one.created, VerifyUntil: one.verifyUntil, PKCS8: der})
	}
	text, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	temp, err := os.CreateTemp(dir, KeysFile+".*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temp.Name()))
		}
	}()
	_, werr := temp.Write(append(text, '\n'))
	if err := errors.Join(werr, temp.Sync(), temp.Close()); err != nil {
		return err
	}
	if err := os.Rename(temp.Name(), path); err != nil {
		return err
	}
	return syncDir(dir)
}

// syncDir makes a rename durable. Windows has no such call and needs none.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
