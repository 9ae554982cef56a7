package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out))
	require.Regexp(t, `^FailurePrediction: trained with \d+ lives of 4 equipments, judged by \d+ lives
RUL: trained with .*
fan1: Failure within a day \(probability \S+\); 0\.\d to [01]\.\d days left\. .*
fan2: Normal within .*
fan3: Normal within .*
fan4: Normal within .* No action needed: continue to monitor\.
$`, out.String())
}
