// Package sqlstore is a fenced resource in a SQL table: the comparison is in the WHERE of
// the update (check.go).
//
// It is a separate module, because its tests need a SQL driver. The store itself needs
// only database/sql.
package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"example.com/redislock-steps/docs/fencing"
)

// These statements and those of check.go run on SQLite from 3.35 (RETURNING). PostgreSQL
// wants $1, $2, ... instead of the question marks. MySQL has no RETURNING, and counts no
// row for an update that changes nothing, unless the connection sets clientFoundRows=true.
const (
	createTable = `CREATE TABLE IF NOT EXISTS resources (name TEXT PRIMARY KEY, value TEXT NOT NULL, fence BIGINT NOT NULL)`
	create      = `INSERT INTO resources (name, value, fence) VALUES (?, ?, 0) ON CONFLICT (name) DO NOTHING`
	claim       = `UPDATE resources SET fence = fence + 1 WHERE name = ? RETURNING fence`
	highest     = `SELECT fence FROM resources WHERE name = ?`
)

// Table is a fencing.Resource in the SQL table resources, with one row for each name.
type Table struct {
	db *sql.DB
}

var _ fencing.Resource = (*Table)(nil)

// Open returns the resources in db. It creates the table if it does not exist.
func Open(ctx context.Context, db *sql.DB) (*Table, error) {
	if _, err := db.ExecContext(ctx, createTable); err != nil {
		return nil, fmt.Errorf("fencing: open: %w", err)
	}
	return &Table{db}, nil
}

// Create implements fencing.Resource.
func (t *Table) Create(ctx context.Context, name, value string) error {
	if err := validate(1, name); err != nil {
		return wrap("create", name, err)
	}
	_, err := t.db.ExecContext(ctx, create, name, value)
	return wrap("create", name, err)
}

// Read implements fencing.Resource.
func (t *Table) Read(ctx context.Context, token int64, name string) (value string, err error) {
	if err := validate(token, name); err != nil {
		return "", wrap("read", name, err)
	}
	err = t.db.QueryRowContext(ctx, read, token, name, token).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		err = t.rejection(ctx, token, name)
	}
	return value, wrap("read", name, err)
}

// Write implements fencing.Resource. Data in other tables can be fenced as well: write it in
// one transaction with this update, and roll back if the update finds no row.
func (t *Table) Write(ctx context.Context, token int64, name, value string) error {
	if err := validate(token, name); err != nil {
		return wrap("write", name, err)
	}
	result, err := t.db.ExecContext(ctx, write, value, token, name, token)
	if err != nil {
		return wrap("write", name, err)
	}
	rows, err := result.RowsAffected()
	if err == nil && rows == 0 {
		err = t.rejection(ctx, token, name)
	}
	return wrap("write", name, err)
}

// Claim implements fencing.Resource.
func (t *Table) Claim(ctx context.Context, name string) (token int64, err error) {
	if err := validate(1, name); err != nil {
		return 0, wrap("claim", name, err)
	}
	err = t.db.QueryRowContext(ctx, claim, name).Scan(&token)
	if errors.Is(err, sql.ErrNoRows) {
		err = fencing.ErrUnknownResource
	}
	return token, wrap("claim", name, err)
}

// rejection returns why an update found no row. It reads after the update: the highest
// token may have risen since.
func (t *Table) rejection(ctx context.Context, token int64, name string) error {
	var seen int64
	err := t.db.QueryRowContext(ctx, highest, name).Scan(&seen)
	if errors.Is(err, sql.ErrNoRows) {
		return fencing.ErrUnknownResource
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("%w: %d is lower than %d, the highest seen", fencing.ErrStaleToken, token, seen)
}

// validate rejects what is not a fencing token, or not a name.
func validate(token int64, name string) error {
	if token < 1 {
		return fmt.Errorf("token %d is below the minimum of 1", token)
	}
	if name == "" {
		return errors.New("resource name is empty")
	}
	return nil
}

// wrap adds to err what failed and for which resource.
func wrap(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("fencing: %s %q: %w", op, name, err)
}
