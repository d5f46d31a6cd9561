// Package sqlstore is a fenced resource in a SQL table: the comparison is in the WHERE of
// the update (check.go).
//
// It has a module of its own, because it needs a SQL driver to be tested. The store
// itself needs database/sql only.
package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"example.com/redislock-steps/docs/fencing"
)

// These statements and those of check.go run on SQLite from 3.35 (RETURNING). PostgreSQL
// wants $1, $2, ... instead of the question marks. MySQL has no RETURNING, and reports an
// update that changes nothing as no row unless the connection says clientFoundRows=true.
const (
	createTable = `CREATE TABLE IF NOT EXISTS resources (name TEXT PRIMARY KEY, value TEXT NOT NULL, fence BIGINT NOT NULL)`
	create      = `INSERT INTO resources (name, value, fence) VALUES (?, ?, 0) ON CONFLICT (name) DO NOTHING`
	claim       = `UPDATE resources SET fence = fence + 1 WHERE name = ? RETURNING fence`
	highest     = `SELECT fence FROM resources WHERE name = ?`
)

// Table is a fencing.Resource in the table resources, a row for each name.
type Table struct {
	db *sql.DB
}

var _ fencing.Resource = (*Table)(nil)

// Open returns the resources in db, and makes the table if it is not there.
func Open(ctx context.Context, db *sql.DB) (*Table, error) {
	if db == nil {
		return nil, errors.New("fencing: open: the database is nil")
	}
	if _, err := db.ExecContext(ctx, createTable); err != nil {
		return nil, fmt.Errorf("fencing: open: %w", err)
	}
	return &Table{db}, nil
}

// Create implements fencing.Resource.
func (t *Table) Create(ctx context.Context, name, value string) error {
	if err := check(1, name); err != nil {
		return fail("create", name, err)
	}
	_, err := t.db.ExecContext(ctx, create, name, value)
	return fail("create", name, err)
}

// Read implements fencing.Resource.
func (t *Table) Read(ctx context.Context, token int64, name string) (value string, err error) {
	if err := check(token, name); err != nil {
		return "", fail("read", name, err)
	}
	err = t.db.QueryRowContext(ctx, read, token, name, token).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		err = t.refusal(ctx, token, name)
	}
	return value, fail("read", name, err)
}

// Write implements fencing.Resource. What stands in other tables can be fenced, too:
// write it in one transaction with this update, and roll back if that finds no row.
func (t *Table) Write(ctx context.Context, token int64, name, value string) error {
	if err := check(token, name); err != nil {
		return fail("write", name, err)
	}
	result, err := t.db.ExecContext(ctx, write, value, token, name, token)
	if err != nil {
		return fail("write", name, err)
	}
	rows, err := result.RowsAffected()
	if err == nil && rows == 0 {
		err = t.refusal(ctx, token, name)
	}
	return fail("write", name, err)
}

// Claim implements fencing.Resource.
func (t *Table) Claim(ctx context.Context, name string) (token int64, err error) {
	if err := check(1, name); err != nil {
		return 0, fail("claim", name, err)
	}
	err = t.db.QueryRowContext(ctx, claim, name).Scan(&token)
	if errors.Is(err, sql.ErrNoRows) {
		err = fencing.ErrUnknownResource
	}
	return token, fail("claim", name, err)
}

// refusal says why an update found no row. It looks later than the update did: the
// highest token may have grown.
func (t *Table) refusal(ctx context.Context, token int64, name string) error {
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

// check refuses what is neither a fencing token nor a name.
func check(token int64, name string) error {
	if token < 1 {
		return fmt.Errorf("the token is %d, it must be at least 1", token)
	}
	if name == "" {
		return errors.New("the name of the resource is empty")
	}
	return nil
}

// fail says which resource err is about.
func fail(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("fencing: %s %q: %w", op, name, err)
}
