package license_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/discovery/license"
)

var issued = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

// vendor returns a pair of keys that is the same each time.
func vendor(seed byte) (ed25519.PublicKey, ed25519.PrivateKey) {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
	return key.Public().(ed25519.PublicKey), key
}

func sample() license.License {
	return license.License{Licensee: "Acme", Edition: "professional", BridgeID: "b1", Features: []string{"support"}, IssuedAt: issued,
		ExpiresAt: issued.AddDate(1, 0, 0)}
}

func sign(t testing.TB, l license.License) string {
	t.Helper()
	_, private := vendor(1)
	key, err := license.Sign(private, l)
	require.NoError(t, err)
	return key
}

func TestASignedKeyIsReadAsItWasSigned(t *testing.T) {
	public, _ := vendor(1)
	other, _ := vendor(2)
	got, err := license.Parse("\n "+sign(t, sample())+"\r\n", []ed25519.PublicKey{other, public})
	require.NoError(t, err)
	require.Equal(t, sample(), got)
}

func TestEveryChangeOfAKeyIsRefused(t *testing.T) {
	public, _ := vendor(1)
	key := sign(t, sample())
	for i := range len(key) {
		changed := []byte(key)
		changed[i] ^= 1
		_, err := license.Parse(string(changed), []ed25519.PublicKey{public})
		require.Error(t, err, "byte %d", i)
	}
	parts := strings.Split(key, ".")
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	require.NoError(t, err)
	forged := base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(payload), "b1", "b2", 1)))
	_, err = license.Parse(parts[0]+"."+forged+"."+parts[2], []ed25519.PublicKey{public})
	require.ErrorIs(t, err, license.ErrSignature)
}

func TestBadKeys(t *testing.T) {
	public, _ := vendor(1)
	other, _ := vendor(2)
	key := sign(t, sample())
	for name, tt := range map[string]struct {
		key  string
		by   ed25519.PublicKey
		want error
	}{
		"empty":           {"", public, license.ErrMalformed},
		"one part":        {"otkit1", public, license.ErrMalformed},
		"two parts":       {"otkit1.e30", public, license.ErrMalformed},
		"other version":   {"otkit2" + strings.TrimPrefix(key, "otkit1"), public, license.ErrMalformed},
		"a fourth part":   {key + ".e30", public, license.ErrMalformed},
		"padding":         {key + "=", public, license.ErrMalformed},
		"too long":        {key + strings.Repeat(" ", license.MaxKeyBytes), public, license.ErrMalformed},
		"other vendor":    {key, other, license.ErrSignature},
		"no vendor":       {key, nil, license.ErrSignature},
		"short signature": {key[:len(key)-4], public, license.ErrMalformed},
	} {
		_, err := license.Parse(tt.key, []ed25519.PublicKey{tt.by})
		require.ErrorIs(t, err, tt.want, name)
	}
}

func TestSignRefusesWhatParseWouldRefuse(t *testing.T) {
	_, private := vendor(1)
	for field, change := range map[string]func(*license.License){
		"licensee":    func(l *license.License) { l.Licensee = "" },
		"edition":     func(l *license.License) { l.Edition = strings.Repeat("x", 300) },
		"features[1]": func(l *license.License) { l.Features = []string{"a", ""} },
		"issuedAt":    func(l *license.License) { l.IssuedAt = time.Time{} },
		"expiresAt":   func(l *license.License) { l.ExpiresAt = issued },
	} {
		l := sample()
		change(&l)
		_, err := license.Sign(private, l)
		require.ErrorContains(t, err, field)
	}
	_, err := license.Sign(nil, sample())
	require.ErrorContains(t, err, "private key")
}

func TestWhenAndWhereALicenseIsInForce(t *testing.T) {
	l := sample()
	require.NoError(t, l.Check("b1", issued))
	require.NoError(t, l.Check("b1", issued.Add(-time.Hour)), "clocks differ")
	require.ErrorIs(t, l.Check("b1", issued.AddDate(0, 0, -2)), license.ErrNotYet)
	require.NoError(t, l.Check("b1", l.ExpiresAt.Add(-time.Second)))
	require.ErrorIs(t, l.Check("b1", l.ExpiresAt), license.ErrExpired)
	require.ErrorIs(t, l.Check("b2", issued), license.ErrBridge)
	l.BridgeID, l.ExpiresAt = "", time.Time{}
	require.NoError(t, l.Check("b2", issued.AddDate(100, 0, 0)))
}

func open(t *testing.T, file string, now time.Time) *license.Service {
	t.Helper()
	public, _ := vendor(1)
	s, err := license.New(license.Options{File: file, BridgeID: "b1", Vendors: []ed25519.PublicKey{public}, Now: func() time.Time { return now }})
	require.NoError(t, err)
	return s
}

func TestAnActivatedLicenseSurvivesARestartUntilItExpires(t *testing.T) {
	file := filepath.Join(t.TempDir(), "license.key")
	s := open(t, file, issued)
	require.Equal(t, license.State{License: license.License{Edition: license.Community}}, s.State())

	state, err := s.Activate(t.Context(), sign(t, sample()))
	require.NoError(t, err)
	require.True(t, state.Valid)
	require.Equal(t, sample(), open(t, file, issued.AddDate(0, 6, 0)).State().License)

	late := open(t, file, issued.AddDate(2, 0, 0)).State()
	require.False(t, late.Valid)
	require.Equal(t, license.Community, late.Edition)
	require.ErrorIs(t, late.Problem, license.ErrExpired)
}

func TestTheLongestKeySurvivesARestart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "license.key")
	l := sample()
	for range 22 {
		l.Features = append(l.Features, strings.Repeat("f", 256))
	}
	key := ""
	for n := range 256 {
		more := l
		more.Features = append(slices.Clone(l.Features), strings.Repeat("g", n+1))
		if key = sign(t, more); len(key) == license.MaxKeyBytes {
			break
		}
	}
	require.Len(t, key, license.MaxKeyBytes)
	_, err := open(t, file, issued).Activate(t.Context(), key)
	require.NoError(t, err)
	require.True(t, open(t, file, issued).State().Valid)
}

func TestAKeyThatIsRefusedChangesNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "license.key")
	s := open(t, file, issued)
	_, err := s.Activate(t.Context(), sign(t, sample()))
	require.NoError(t, err)
	other := sample()
	other.BridgeID = "b2"
	_, err = s.Activate(t.Context(), sign(t, other))
	require.ErrorIs(t, err, license.ErrBridge)
	require.NoError(t, os.Mkdir(file+".new", 0o700)) // the key cannot be stored
	require.NoError(t, os.Mkdir(filepath.Join(file+".new", "x"), 0o700))
	other = sample()
	other.Licensee = "Other"
	_, err = s.Activate(t.Context(), sign(t, other))
	require.ErrorIs(t, err, license.ErrStore)
	require.Equal(t, "Acme", s.State().Licensee)
	require.Equal(t, "Acme", open(t, file, issued).State().Licensee)
}

func TestADamagedFileIsTheCommunityEdition(t *testing.T) {
	file := filepath.Join(t.TempDir(), "license.key")
	require.NoError(t, os.WriteFile(file, []byte("half a ke"), 0o600))
	state := open(t, file, issued).State()
	require.False(t, state.Valid)
	require.ErrorIs(t, state.Problem, license.ErrMalformed)
	_, err := open(t, file, issued).Activate(t.Context(), sign(t, sample()))
	require.NoError(t, err)
	require.True(t, open(t, file, issued).State().Valid)
}

func TestWithoutAVendorNothingCanBeActivated(t *testing.T) {
	s, err := license.New(license.Options{File: filepath.Join(t.TempDir(), "license.key"), BridgeID: "b1"})
	require.NoError(t, err)
	_, err = s.Activate(t.Context(), sign(t, sample()))
	require.ErrorIs(t, err, license.ErrNoVendor)
}

func TestPublicKeys(t *testing.T) {
	public, _ := vendor(1)
	got, err := license.ParsePublicKey(" " + base64.StdEncoding.EncodeToString(public) + "\n")
	require.NoError(t, err)
	require.Equal(t, public, got)
	for _, bad := range []string{"", "x", base64.StdEncoding.EncodeToString(public[:31])} {
		_, err := license.ParsePublicKey(bad)
		require.Error(t, err)
	}
}

func FuzzParse(f *testing.F) {
	public, private := vendor(1)
	f.Add(sign(f, sample()))
	f.Add("otkit1.e30.AAAA")
	f.Add("..")
	f.Fuzz(func(t *testing.T, key string) {
		l, err := license.Parse(key, []ed25519.PublicKey{public})
		if err != nil {
			return
		}
		again, err := license.Sign(private, l) // what is read can be signed again
		require.NoError(t, err)
		require.NotEmpty(t, again)
	})
}
