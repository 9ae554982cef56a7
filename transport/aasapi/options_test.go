package aasapi_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/transport/aasapi"
)

func TestOptions(t *testing.T) {
	service, err := repository.New(repository.NewMemory(), repository.Options{})
	require.NoError(t, err)
	_, err = aasapi.New(nil, aasapi.Options{})
	require.Error(t, err)
	for field, o := range map[string]aasapi.Options{
		"MaxBodyBytes": {MaxBodyBytes: -1}, "MaxDocumentBytes": {MaxDocumentBytes: -1}, "MaxFileBytes": {MaxFileBytes: -1}, "PageSize": {PageSize: 2000}, "MaxPageSize": {MaxPageSize: -1},
		"MaxInvocations": {MaxInvocations: -1}, "KeepResults": {KeepResults: -time.Second}, "InvocationTimeout": {InvocationTimeout: -time.Second},
	} {
		_, err := aasapi.New(service, o)
		require.ErrorContains(t, err, field)
	}
	// A page is never larger than what a repository gives.
	_, err = aasapi.New(service, aasapi.Options{MaxPageSize: repository.MaxPage + 1})
	require.ErrorContains(t, err, "MaxPageSize")
}
