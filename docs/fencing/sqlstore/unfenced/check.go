package sqlstore

//lint:file-ignore U1000 It replaces ../check.go when go test -overlay leaves out the check.

// SQLite ignores the argument that is left over.
const (
	read  = `UPDATE resources SET fence = ? WHERE name = ? RETURNING value`
	write = `UPDATE resources SET value = ?, fence = ? WHERE name = ?`
)
