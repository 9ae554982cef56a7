package drivertypes_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	cryptorand "crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/drivertypes"
	"github.com/otkit/otkit/tags/driverconfig"
	"github.com/otkit/otkit/tags/passive"
)

func types() driverconfig.Types { return append(drivertypes.Polling(), passive.Type()) }

// sample makes values of a schema. Relations that a schema cannot have are kept by it.
type sample struct {
	*rand.Rand
	files map[string]string // values of members with the names of files
	names int
}

func (r *sample) value(s map[string]any, name string) any {
	if text, ok := r.files[name]; ok {
		return text
	}
	if either, ok := s["anyOf"].([]any); ok {
		merged := map[string]any{"type": s["type"]}
		for key, v := range either[r.IntN(len(either))].(map[string]any) {
			merged[key] = v
		}
		if merged["type"] != "string" {
			return r.value(merged, name)
		}
	}
	if words, ok := s["enum"].([]any); ok {
		return words[r.IntN(len(words))]
	}
	if list, ok := s["examples"].([]any); ok && name != "Name" {
		return list[r.IntN(len(list))]
	}
	switch s["type"] {
	case "boolean":
		return r.IntN(2) == 0
	case "integer":
		return math.Floor(r.number(s))
	case "number":
		return r.number(s)
	case "array":
		list := make([]any, r.IntN(3))
		for i := range list {
			list[i] = r.value(s["items"].(map[string]any), "")
		}
		return list
	case "object":
		return r.object(s)
	}
	if s["format"] == "date-time" {
		return "2025-03-01T00:00:00Z"
	}
	r.names++
	return "n" + string(rune('a'+r.names%26)) + strings.Repeat("x", r.names/26)
}

func (r *sample) number(s map[string]any) float64 {
	low, _ := s["minimum"].(float64)
	high, ok := s["maximum"].(float64)
	if !ok {
		high = low + 100
	}
	return low + r.Float64()*(min(high, low+1000)-low)
}

func (r *sample) object(s map[string]any) any {
	properties := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	object := map[string]any{}
	for _, name := range sortedKeys(properties) {
		if slices.Contains(required, any(name)) || r.IntN(3) > 0 {
			object[name] = r.value(properties[name].(map[string]any), name)
		}
	}
	// Relations.
	low, hasLow := object["MinValue"].(float64)
	high, hasHigh := object["MaxValue"].(float64)
	if hasLow && hasHigh && low > high {
		object["MinValue"], object["MaxValue"] = high, low
	}
	if properties["EveryMs"] != nil {
		object["EveryMs"], object["ForMs"] = 1000.0, 10.0
	}
	delete(object, "DeviceCount") // or there would be hundreds of thousands of tags
	delete(object, "TagsPerDevice")
	if object["SlaveId"] != nil && properties["Tags"] == nil { // of a unit: each once
		r.names++
		object["SlaveId"] = float64(r.names % 200)
	}
	if object["AccessMode"] != nil { // a table may be read-only
		object["AccessMode"] = "ReadOnly"
	}
	if kind, _ := object["Type"].(string); properties["Address"] != nil && properties["ByteOrder"] != nil { // bits have one type
		coil := object["Address"] == "3/CO:7"
		if coil != (kind == "Bool") {
			object["Address"], object["Type"] = "HR:0", "Float32"
		}
	}
	delete(object, "MaxRegisters") // a value may need more than one
	return object
}

func sortedKeys(m map[string]any) (keys []string) {
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func decodeAny(t *testing.T, raw []byte) (v map[string]any) {
	t.Helper()
	require.NoError(t, json.Unmarshal(raw, &v))
	return v
}

// broken changes one value of settings somewhere.
func (r *sample) broken(v any) any {
	switch x := v.(type) {
	case map[string]any:
		keys := sortedKeys(x)
		if len(keys) == 0 || r.IntN(6) == 0 {
			x["Unheard"] = 1.0
			return x
		}
		key := keys[r.IntN(len(keys))]
		if r.IntN(6) == 0 {
			delete(x, key)
			return x
		}
		x[key] = r.broken(x[key])
		return x
	case []any:
		if len(x) == 0 {
			return []any{true}
		}
		i := r.IntN(len(x))
		x[i] = r.broken(x[i])
		return x
	}
	return []any{-1.0, -2.0, 1e15, 0.5, true, "none such", []any{}, map[string]any{}}[r.IntN(8)]
}

func TestSchemasAllowWhatDecodesAndForbidWhatDoesNot(t *testing.T) {
	t.Parallel()
	certFile, keyFile := certificate(t)
	for _, of := range types() {
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(of.Schema()))
		require.NoError(t, err)
		compiler := jsonschema.NewCompiler()
		compiler.AssertFormat()
		require.NoError(t, compiler.AddResource("settings.json", document))
		schema, err := compiler.Compile("settings.json")
		require.NoError(t, err, of.Name)
		build := func(settings map[string]any) error {
			raw, err := json.Marshal(settings)
			require.NoError(t, err)
			s := driverconfig.Settings{ID: "a", Type: of.Name, Settings: raw}
			if of.Address != driverconfig.AddressNone && of.Address != "" && settings["Protocol"] != "RTU" {
				s.IPAddress = "10.0.0.1"
			}
			_, _, err = types().Build(s, nil)
			return err
		}
		r := &sample{Rand: rand.New(rand.NewPCG(7, 13)), files: map[string]string{"CertFile": certFile, "KeyFile": keyFile, "CAFile": certFile}}
		allowed, forbidden := 0, 0
		for range 3000 {
			settings := r.value(decodeAny(t, of.Schema()), "").(map[string]any)
			if schema.Validate(settings) == nil { // the rules about several members do not hold by chance
				allowed++
				require.NoError(t, build(settings), "%s: %v", of.Name, settings)
			}
			bad := r.broken(settings).(map[string]any)
			if schema.Validate(bad) != nil {
				forbidden++
				require.ErrorIs(t, build(bad), driverconfig.ErrInvalid, "%s: %v", of.Name, bad)
			}
		}
		require.Greater(t, allowed, 300, of.Name)
		require.Greater(t, forbidden, 1000, of.Name)
	}
}

// The default that a schema tells is what the member has if it is absent.
func TestDefaultsOfSchemasDecode(t *testing.T) {
	t.Parallel()
	for _, of := range types() {
		properties := decodeAny(t, of.Schema())["properties"].(map[string]any)
		settings := map[string]any{}
		for name, p := range properties {
			if initial, ok := p.(map[string]any)["default"]; ok {
				settings[name] = initial
			}
		}
		require.NotEmpty(t, settings, of.Name)
		raw, err := json.Marshal(settings)
		require.NoError(t, err)
		s := driverconfig.Settings{ID: "a", Type: of.Name}
		if of.Address == driverconfig.AddressOptional {
			s.IPAddress = "10.0.0.1"
		}
		_, bare, err := types().Build(s, nil)
		require.NoError(t, err, of.Name)
		s.Settings = raw
		_, filled, err := types().Build(s, nil)
		require.NoError(t, err, of.Name)
		require.Equal(t, bare, filled)
	}
}

// certificate writes a certificate and its key to files.
func certificate(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), cryptorand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(cryptorand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	certFile, keyFile = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	require.NoError(t, os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}), 0o600))
	return certFile, keyFile
}
