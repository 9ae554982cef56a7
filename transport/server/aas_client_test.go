package server_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/openapi/client"
)

func TestTheGoClientSpeaksInTheTypesOfTheModel(t *testing.T) {
	t.Parallel()
	p := start(t)
	ctx := t.Context()
	api, err := client.NewClientWithResponses(p.url, client.WithHTTPClient(p.client), client.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+p.token(accounts.Admin))
		return nil
	}))
	require.NoError(t, err)

	for _, id := range []string{"https://example.com/shells/1?a=b+c%2F", "0173-1#02-AAO677#002"} {
		shell := aas.Shell{AssetInformation: aas.AssetInformation{AssetKind: aas.Instance, GlobalAssetID: "urn:asset"}, Submodels: []aas.Reference{aas.RefTo(id)}}
		shell.ID, shell.IDShort = id, "Pump"
		created, err := api.CreateShellWithResponse(ctx, shell)
		require.NoError(t, err)
		require.Equal(t, &shell, created.JSON201, "%s", created.Body)
		read, err := api.GetShellWithResponse(ctx, id, nil)
		require.NoError(t, err)
		require.Equal(t, &shell, read.JSON200)
		list, err := api.SearchShellsWithResponse(ctx, &client.SearchShellsParams{IDShort: "pump"})
		require.NoError(t, err)
		require.Contains(t, list.JSON200.Items, shell)

		text := "21.5"
		submodel := aas.Submodel{Elements: []aas.Element{&aas.Property{ElementCommon: aas.ElementCommon{Referable: aas.Referable{IDShort: "speed"}}, ValueType: "xs:double", Value: &text}}}
		submodel.ID = id
		made, err := api.CreateSubmodelWithResponse(ctx, submodel)
		require.NoError(t, err)
		require.Equal(t, &submodel, made.JSON201, "%s", made.Body)
		value, err := api.GetElementValueWithResponse(ctx, id, "speed")
		require.NoError(t, err)
		require.Equal(t, "21.5", string(*value.JSON200))
		old, err := api.UpdateSubmodelWithResponse(ctx, id, &client.UpdateSubmodelParams{IfMatch: `"9"`}, submodel)
		require.NoError(t, err)
		require.Equal(t, "VERSION_CHANGED", old.JSON412.ErrorCode)
		gone, err := api.DeleteShellWithResponse(ctx, id, nil)
		require.NoError(t, err)
		require.Equal(t, http.StatusNoContent, gone.StatusCode())
	}
}
