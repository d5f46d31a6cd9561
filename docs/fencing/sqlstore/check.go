package sqlstore

// The check: a statement that finds no row if the fence is higher than the token.
// unfenced/check.go leaves it out.
const (
	read  = `UPDATE resources SET fence = ? WHERE name = ? AND fence <= ? RETURNING value`
	write = `UPDATE resources SET value = ?, fence = ? WHERE name = ? AND fence <= ?`
)
