package server_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/accounts"
)

func TestTheDemonstrationHubIsToldOfEquipment(t *testing.T) {
	t.Parallel()
	p := start(t)
	c := p.listen("/hubs/demo", "WebSockets", p.token(accounts.Viewer))
	c.await("started")
	registered := func(id, name string) {
		t.Helper()
		got := c.await("OnEquipmentRegistered")[0].(map[string]any)
		require.Len(t, got, 3)
		require.Equal(t, []any{id, name}, []any{got["equipmentId"], got["name"]})
		require.WithinDuration(t, time.Now(), sent(t, got["registeredAt"]), time.Minute)
	}
	german, english := aas.LangString{Language: "de", Text: "Presse"}, aas.LangString{Language: "en-GB", Text: "Press"}
	shell := func(id, idShort string, names ...aas.LangString) {
		t.Helper()
		s := &aas.Shell{AssetInformation: aas.AssetInformation{AssetKind: aas.Instance, GlobalAssetID: "urn:asset"}}
		s.ID, s.IDShort, s.DisplayName = id, idShort, names
		_, err := p.AAS().Shells.Create(t.Context(), s)
		require.NoError(t, err)
	}
	descriptor := func(id, idShort string, names ...aas.LangString) {
		t.Helper()
		_, err := p.AAS().ShellDescriptors.Create(t.Context(), &aas.ShellDescriptor{ID: id, IDShort: idShort, DisplayName: names})
		require.NoError(t, err)
	}

	requireStatusCode(t, p.call(accounts.Admin, http.MethodPost, "/api/v1/aas", shellBody("urn:fan", "Fan")), http.StatusCreated)
	registered("urn:fan", "Fan")
	shell("urn:press", "P1", german, english)
	descriptor("urn:press", "P1") // what is there already is not told twice
	descriptor("urn:mixer", "M1", german)
	shell("urn:mixer", "M1", german)
	shell("urn:nameless", "")
	registered("urn:press", "Press")
	registered("urn:mixer", "Presse")
	registered("urn:nameless", "urn:nameless")

	require.NoError(t, p.AAS().Shells.Delete(t.Context(), "urn:mixer", repository.Match{}))
	shell("urn:mixer", "M2") // it was in the registry all the time
	require.NoError(t, p.AAS().Shells.Delete(t.Context(), "urn:mixer", repository.Match{}))
	require.NoError(t, p.AAS().ShellDescriptors.Delete(t.Context(), "urn:mixer", repository.Match{}))
	descriptor("urn:mixer", "M3")
	shell("urn:last", "")
	registered("urn:mixer", "M3")
	registered("urn:last", "urn:last")
}

func TestTheDemonstrationHubIsToldOfADeviceOnce(t *testing.T) {
	t.Parallel()
	p := start(t, withMachine(t, newMachine()))
	c := p.listen("/hubs/demo", "WebSockets", p.token(accounts.Viewer))
	c.await("started")
	registered := func(id, name string) {
		t.Helper()
		got := c.await("OnEquipmentRegistered")[0].(map[string]any)
		require.Equal(t, []any{id, name}, []any{got["equipmentId"], got["name"]})
		require.WithinDuration(t, time.Now(), sent(t, got["registeredAt"]), time.Minute)
	}
	created := p.call(accounts.Admin, http.MethodPost, "/api/v1/devices", map[string]any{"deviceId": "arm:1", "name": "Arm"})
	requireStatusCode(t, created, http.StatusCreated)
	registered("arm:1", "Arm")
	const shell = "urn:otkit:device:arm:1"
	require.Eventually(t, func() bool { _, err := p.AAS().Shells.Document(t.Context(), shell); return err == nil }, time.Minute, 10*time.Millisecond)
	// The shell is not announced a second time; those that no device has are.
	requireStatusCode(t, p.call(accounts.Admin, http.MethodPost, "/api/v1/aas", shellBody("urn:otkit:device:other", "Other")), http.StatusCreated)
	registered("urn:otkit:device:other", "Other")
	requireStatusCode(t, p.call(accounts.Admin, http.MethodPost, "/api/v1/devices", map[string]any{"deviceId": "arm:2", "name": "Arm 2"}), http.StatusCreated)
	registered("arm:2", "Arm 2")
}
