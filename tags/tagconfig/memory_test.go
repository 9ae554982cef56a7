package tagconfig_test

import (
	"testing"

	"github.com/otkit/otkit/tags/tagconfig"
	"github.com/otkit/otkit/tags/tagstest"
)

func TestMemory(t *testing.T) {
	tagstest.TestConfigRepository(t, func(testing.TB) tagconfig.Repository { return tagconfig.NewMemory() })
}
