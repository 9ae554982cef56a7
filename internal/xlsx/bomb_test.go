package xlsx_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/xlsx"
)

// Texts that cells share cost their sender little: neither many empty ones, nor cells that repeat long ones, nor cells beyond the last
// column take memory.
func TestSharedTextsDoNotMultiply(t *testing.T) {
	limits := xlsx.Limits{Columns: 256, Bytes: 512 << 20, Strings: 8 << 20, Text: 8 << 20}
	long := "<sst>" + strings.Repeat("<si><t>"+strings.Repeat("x", 1000_000)+"</t></si>", 4) + "</sst>"
	short := "<sst><si><t>" + strings.Repeat("x", 4000) + "</t></si></sst>"
	cell := `<c t="s"><v>0</v></c>`
	for name, data := range map[string][]byte{
		"empty texts":     workbook(t, sheetOf(""), "<sst>"+strings.Repeat("<si/>", 3_000_000)+"</sst>"),
		"a wide row":      workbook(t, sheetOf("<row>"+strings.Repeat(cell, 250)+"</row>"), long),
		"an endless row":  workbook(t, sheetOf("<row>"+strings.Repeat(cell, 10_000)+"</row>"), short),
		"one cell":        workbook(t, sheetOf("<row><c>"+strings.Repeat("<v>0</v>", 2)+"</c></row>"+strings.Repeat("<row>"+cell+"</row>", 100)), long),
		"one text":        workbook(t, sheetOf("<row><c><is>"+strings.Repeat("<t>"+strings.Repeat("x", 1000_000)+"</t>", 9)+"</is></c></row>"), short),
		"one shared text": workbook(t, sheetOf(""), "<sst><si>"+strings.Repeat("<t>"+strings.Repeat("x", 1000_000)+"</t>", 9)+"</si></sst>"),
		"many short rows": workbook(t, sheetOf(strings.Repeat("<row>"+cell+"</row>", 3000)), short),
	} {
		var most int
		err := xlsx.Read(bytes.NewReader(data), int64(len(data)), limits, func(_ int, cells []string) error {
			sum := 0
			for _, c := range cells {
				sum += len(c)
			}
			most = max(most, sum)
			return nil
		})
		require.ErrorIs(t, err, xlsx.ErrTooLarge, name)
		require.LessOrEqual(t, most, limits.Text, name)
	}
}
