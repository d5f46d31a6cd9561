package table

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPut_ReplacesTheTableOfItsCommand(t *testing.T) {
	page := t.TempDir() + "/page.md"
	require.NoError(t, os.WriteFile(page, []byte("<!-- table: a -->\n1\n<!-- /table -->\ntext\n<!-- table: b -->\n2\n<!-- /table -->\n"), 0o600))
	text, err := Put(page, "b", "3\n")
	require.NoError(t, err)
	require.Equal(t, "<!-- table: a -->\n1\n<!-- /table -->\ntext\n<!-- table: b -->\n3\n<!-- /table -->\n", text)
	_, err = Put(page, "c", "3\n")
	require.ErrorContains(t, err, "page.md has no <!-- table: c -->")
}
