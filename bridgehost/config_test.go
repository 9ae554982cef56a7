package bridgehost_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/aasx"
	"github.com/otkit/otkit/bridgehost"
	"github.com/otkit/otkit/discovery/license"
)

const shellPath = "/api/bridge/config/aas"

func TestTheShellIsConfigured(t *testing.T) {
	r := start(t)
	admin, viewer := r.people()
	before := r.call("GET", shellPath, viewer, nil).is(200)
	require.Equal(t, []any{"OperationalData", "TimeSeries"}, before.get("activeSubmodels"))
	require.Equal(t, []any{"OperationalData", "Nameplate", "TimeSeries"}, before.get("availableSubmodels"))

	config := before.object()
	config["idShort"], config["activeSubmodels"] = "Press7", []string{"Nameplate", "OperationalData"}
	config["nameplate"] = map[string]string{"manufacturerName": "Acme", "yearOfConstruction": "2026"}
	stale := r.request("PUT", shellPath, admin, config)
	stale.Header.Set("If-Match", `"0000"`)
	r.do(stale).problem(412, "VERSION_CHANGED")
	right := r.request("PUT", shellPath, admin, config)
	right.Header.Set("If-Match", before.header.Get("ETag"))
	stored := r.do(right).is(200)
	require.Equal(t, "Press7", stored.get("idShort"))
	require.NotEqual(t, before.header.Get("ETag"), stored.header.Get("ETag"))
	again := r.call("GET", shellPath, viewer, nil).is(200)
	require.JSONEq(t, string(stored.body), string(again.body))
	require.Equal(t, stored.header.Get("ETag"), again.header.Get("ETag"))
	r.call("PUT", shellPath, admin, again.object()).is(200)
	manifest := r.call("GET", "/api/bridge/manifest", viewer, nil).is(200)
	require.Equal(t, []any{"Nameplate", "OperationalData"}, manifest.get("activeSubmodels"))

	r.stop()
	restarted := start(t, func(o *bridgehost.Options) { o.DataDir = r.dir })
	export := restarted.call("GET", shellPath+"/export", "", nil).is(200)
	require.Contains(t, string(export.body), "Acme")
}

func TestMembersOfTheShellThatAreAbsentStay(t *testing.T) {
	r := start(t)
	admin := r.admin()
	r.call("PUT", shellPath, admin, map[string]any{"nameplate": map[string]string{"manufacturerName": "Acme", "serialNumber": "7"}}).is(200)
	stored := r.call("PUT", shellPath, admin, map[string]any{"id": "urn:plant:press-7", "nameplate": map[string]string{"serialNumber": ""}}).is(200)
	require.Equal(t, map[string]any{"id": "urn:plant:press-7", "idShort": "b1", "globalAssetId": "urn:otkit:asset:bridge:b1",
		"activeSubmodels": []any{"OperationalData", "TimeSeries"}, "availableSubmodels": []any{"OperationalData", "Nameplate", "TimeSeries"},
		"nameplate": map[string]any{"manufacturerName": "Acme"}}, stored.object())
	shell := r.call("GET", "/api/bridge/manifest", admin, nil).is(200).get("shell")
	require.Equal(t, map[string]any{"id": "urn:plant:press-7", "idShort": "b1", "assetKind": "Instance", "globalAssetId": "urn:otkit:asset:bridge:b1",
		"nameplate": map[string]any{"manufacturerName": "Acme"}}, shell)
	require.Equal(t, []any{}, r.call("PUT", shellPath, admin, map[string]any{"activeSubmodels": []string{}}).is(200).get("activeSubmodels"))
	require.Equal(t, []any{}, r.call("PUT", shellPath, admin, map[string]any{}).is(200).get("activeSubmodels"))
}

func TestABadShellIsRefused(t *testing.T) {
	r := start(t)
	admin := r.admin()
	good := r.call("GET", shellPath, admin, nil).object()
	for body, fields := range map[string][]string{
		`{"id":"","idShort":"7x","globalAssetId":7,"equipmentCategory":null,"idshort":"x","activeSubmodels":["Secrets","Nameplate","Nameplate"],
			"nameplate":{"yearOfConstruction":"26","serialnumber":"7"}}`: {"equipmentCategory", "globalAssetId", "idshort", "nameplate.serialnumber", "id",
			"idShort", "nameplate.yearOfConstruction", "activeSubmodels[0]", "activeSubmodels[2]"},
		`{"activeSubmodels":null,"nameplate":[]}`: {"activeSubmodels", "nameplate"},
		`{"activeSubmodels":"Nameplate"}`:         {"activeSubmodels"},
	} {
		var problem struct{ Errors []struct{ Field string } }
		require.NoError(t, json.Unmarshal(r.bad("PUT", shellPath, admin, body).is(400).body, &problem))
		var named []string
		for _, d := range problem.Errors {
			named = append(named, d.Field)
		}
		require.Equal(t, fields, named, body)
	}
	for _, body := range []string{`[]`, `null`, `{"id":"urn:x"`, ``} {
		r.bad("PUT", shellPath, admin, body).is(400)
	}
	require.Equal(t, good, r.call("GET", shellPath, admin, nil).object())
}

func TestTheShellIsExportedToEverybody(t *testing.T) {
	r := start(t)
	plain := r.call("GET", shellPath+"/export", "", nil).is(200)
	var env aas.Environment
	require.NoError(t, json.Unmarshal(plain.body, &env))
	require.Empty(t, aas.Findings(&env, 10), "the environment keeps the constraints of the standard")
	require.Equal(t, "urn:otkit:bridge:b1", env.Shells[0].ID)
	require.Len(t, env.Submodels, 2)
	require.NotContains(t, string(plain.body), `"value":"2`, "values are for those who may see them")

	file := r.call("GET", shellPath+"/export?format=aasx", "", nil).is(200)
	require.Equal(t, "application/asset-administration-shell-package", file.header.Get("Content-Type"))
	p, err := aasx.Read(bytes.NewReader(file.body), int64(len(file.body)), aasx.Limits{})
	require.NoError(t, err)
	require.Equal(t, env.Shells[0].ID, p.Environment.Shells[0].ID)
	r.bad("GET", shellPath+"/export?format=pdf", "", nil).problem(400, "INVALID_REQUEST")
}

func TestAnExportThatTheCallerHasIsNotMadeAgain(t *testing.T) {
	r := start(t)
	path := shellPath + "/export"
	given := func(path, etag string) answer {
		req := r.request("GET", path, "", nil)
		req.Header.Set("If-None-Match", etag)
		return r.do(req)
	}
	etag := r.call("GET", path, "", nil).is(200).header.Get("ETag")
	require.Empty(t, given(path, `"other", W/`+etag).is(304).body)
	given(path+"?format=aasx", etag).is(200)
	r.call("PUT", shellPath, r.admin(), map[string]any{"idShort": "Press7"}).is(200)
	changed := given(path, etag).is(200)
	require.Contains(t, string(changed.body), "Press7")
	require.NotEqual(t, etag, changed.header.Get("ETag"))
}

func TestTheSettingsAreShown(t *testing.T) {
	r := start(t)
	_, viewer := r.people()
	require.Equal(t, "****", r.call("GET", "/api/bridge/config", viewer, nil).is(200).get("bridge", "bindSecret"))
}

func TestLicense(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	vendor := func(o *bridgehost.Options) { o.Vendors = []ed25519.PublicKey{public} }
	r := start(t, vendor)
	admin := r.admin()
	none := r.call("GET", "/api/bridge/license", admin, nil).is(200)
	require.Equal(t, map[string]any{"edition": "community", "valid": false, "features": []any{}}, none.object())

	sign := func(l license.License) string {
		key, err := license.Sign(private, l)
		require.NoError(t, err)
		return key
	}
	now := time.Now()
	good := license.License{Licensee: "Acme", Edition: "professional", BridgeID: "b1", IssuedAt: now.Add(-time.Hour), ExpiresAt: now.Add(time.Hour)}
	other, expired := good, good
	other.BridgeID, expired.ExpiresAt = "b2", now.Add(-time.Minute)
	activate := func(key string) answer {
		return r.call("POST", "/api/bridge/license/activate", admin, map[string]string{"licenseKey": key})
	}
	activate(sign(other)).problem(400, "LICENSE_OTHER_BRIDGE")
	activate(sign(expired)).problem(400, "LICENSE_EXPIRED")
	activate("otkit1.e30.AAAA").problem(400, "LICENSE_MALFORMED")
	tampered := []byte(sign(good))
	tampered[20] ^= 1
	activate(string(tampered)).is(400)
	r.bad("POST", "/api/bridge/license/activate", admin, `{}`).problem(400, "INVALID_REQUEST")
	key := sign(good)
	require.Equal(t, "professional", activate(key).is(200).get("edition"))
	require.NotContains(t, string(r.call("GET", "/api/bridge/audit", admin, nil).is(200).body), key)

	r.stop()
	again := start(t, vendor, func(o *bridgehost.Options) { o.DataDir = r.dir })
	require.Equal(t, "Acme", again.call("GET", "/api/bridge/license", again.admin(), nil).is(200).get("licensee"))
}

func TestWithoutAVendorNoLicenseIsActivated(t *testing.T) {
	r := start(t)
	r.call("POST", "/api/bridge/license/activate", r.admin(), map[string]string{"licenseKey": "otkit1.e30.AAAA"}).problem(409, "LICENSE_NO_VENDOR")
}

func TestNoSecretIsInTheAuditLog(t *testing.T) {
	r := start(t)
	admin, viewer := r.people()
	token := r.bind()
	r.call("DELETE", bindPath, token, nil).is(204)
	r.call("POST", "/api/bridge/auth/login", "", credentials("ann", "wrong-password-9")).is(401)
	log := r.call("GET", "/api/bridge/audit?pageSize=100", viewer, nil).is(200)
	for _, secret := range []string{adminPassword, viewerPassword, token, admin, "wrong-password-9", r.SetupCode()} {
		require.NotContains(t, string(log.body), secret)
	}
	var page struct {
		Items []struct{ Action, Actor, Outcome string }
	}
	require.NoError(t, json.Unmarshal(log.body, &page))
	type act struct{ action, actor, outcome string }
	var acts []act
	for i := len(page.Items) - 1; i >= 0; i-- {
		acts = append(acts, act{page.Items[i].Action, page.Items[i].Actor, page.Items[i].Outcome})
	}
	require.Equal(t, []act{{"setup", "anonymous", "succeeded"}, {"login", "ann", "succeeded"}, {"addAccount", "ann", "succeeded"}, {"login", "vic", "succeeded"},
		{"bind", "anonymous", "succeeded"}, {"unbind", "engine e1", "succeeded"}, {"login", "ann", "refused"}}, acts)
	require.Equal(t, true, r.call("GET", "/api/bridge/audit/verification", viewer, nil).is(200).get("intact"))
	require.EqualValues(t, 1, r.call("GET", "/api/bridge/audit?action=bind", viewer, nil).is(200).get("totalCount"))
	r.bad("GET", "/api/bridge/audit?pageSize=501", viewer, nil).problem(400, "PAGE_SIZE_EXCEEDED")
	r.bad("GET", "/api/bridge/audit?page=0", viewer, nil).is(400)
	require.Contains(t, string(log.body), `"role":"admin"`, "as accounts have it")
	require.NotContains(t, string(log.body), `"role":"Admin"`)
	for query, want := range map[string]string{"page=x": "must be an integer", "start=yesterday": "must be an RFC 3339 time"} {
		e := r.bad("GET", "/api/bridge/audit?"+query, viewer, nil).problem(400, "INVALID_REQUEST").get("errors").([]any)
		require.Equal(t, want, e[0].(map[string]any)["message"])
	}
	require.NoFileExists(t, filepath.Join(r.dir, "nothing"))
	for _, file := range []string{"binding.json", "aas.json", "license.key"} {
		if info, err := os.Stat(filepath.Join(r.dir, file)); err == nil {
			require.EqualValues(t, 0o600, info.Mode().Perm(), file)
		}
	}
}
