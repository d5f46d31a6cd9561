package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	_ "modernc.org/sqlite"

	"example.com/redislock-steps/docs/fencing"
)

const stock = "stock"

var ctx = context.Background()

// openTable returns a table in its own database file, with 100 coupons.
func openTable(t *testing.T) (*Table, *sql.DB) {
	t.Helper()
	// Connections that conflict wait for each other inside SQLite. The file need not
	// survive a power failure.
	dsn := "file:" + filepath.ToSlash(filepath.Join(t.TempDir(), "shop.db")) + "?_pragma=busy_timeout(30000)&_pragma=synchronous(off)"
	db, err := sql.Open("sqlite", dsn)
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	table, err := Open(ctx, db)
	require.NoError(t, err)
	require.NoError(t, table.Create(ctx, stock, "100"))
	return table, db
}

func readStock(t *testing.T, table *Table, token int64) int {
	t.Helper()
	value, err := table.Read(ctx, token, stock)
	require.NoError(t, err, "the current holder cannot read the stock")
	n, err := strconv.Atoi(value)
	require.NoError(t, err)
	return n
}

func writeStock(table *Table, token int64, n int) error {
	return table.Write(ctx, token, stock, strconv.Itoa(n))
}

func TestKleppmannsFigure_TheLateWriteIsRefused(t *testing.T) {
	table, _ := openTable(t)
	left := readStock(t, table, 33)
	// Alice is paused: a garbage collection, a page fault, SIGSTOP.
	require.NoError(t, writeStock(table, 34, readStock(t, table, 34)-1), "bob holds the lock, but he cannot write")
	err := writeStock(table, 33, left-10)
	require.ErrorIs(t, err, fencing.ErrStaleToken, "alice wrote with 33 after bob had written with 34, but it was accepted: his sale is lost")
	require.ErrorContains(t, err, "33 is lower than 34", "alice's write was rejected, but the error does not name both numbers")
	require.Equal(t, 99, readStock(t, table, 34), "alice's write was rejected, but the stock changed anyway")
}

func TestTheNextOwnerHasReadAndNotYetWritten_TheLateWriteIsRefused(t *testing.T) {
	table, _ := openTable(t)
	left, bobSaw := readStock(t, table, 33), readStock(t, table, 34)
	err := writeStock(table, 33, left-10)
	require.NoError(t, writeStock(table, 34, bobSaw-1))
	require.ErrorIs(t, err, fencing.ErrStaleToken,
		"alice wrote between bob's read and his write and her write was accepted, but then he overwrote it: her sale is lost")
}

func TestTheLateHolderReads_IsToldThatItIsLate(t *testing.T) {
	table, _ := openTable(t)
	require.NoError(t, writeStock(table, 34, 99))
	_, err := table.Read(ctx, 33, stock)
	require.ErrorIs(t, err, fencing.ErrStaleToken, "alice read with 33 after bob had written with 34, but she got the stock as if it were hers")
}

// A trigger records the table's history, so the order in which the writes took effect is
// known.
func TestSixteenWritersWithRandomTokens_TheTableNeverGoesBackwards(t *testing.T) {
	const writers, writes, tokens = 16, 50, 400
	table, db := openTable(t)
	for _, statement := range []string{
		`CREATE TABLE history (seq INTEGER PRIMARY KEY AUTOINCREMENT, value TEXT, fence BIGINT)`,
		`CREATE TRIGGER remember AFTER UPDATE ON resources BEGIN
			INSERT INTO history (value, fence) VALUES (NEW.value, NEW.fence);
		END`,
	} {
		_, err := db.ExecContext(ctx, statement)
		require.NoError(t, err)
	}

	var accepted atomic.Int64
	var together errgroup.Group
	for range writers {
		together.Go(func() error {
			for range writes {
				token := 1 + rand.Int64N(tokens)
				switch err := writeStock(table, token, int(token)); {
				case err == nil:
					accepted.Add(1)
				case !errors.Is(err, fencing.ErrStaleToken):
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, together.Wait())

	var total, mixed, backwards int64
	require.NoError(t, db.QueryRowContext(ctx, `
		SELECT count(*), count(*) FILTER (WHERE value <> CAST(fence AS TEXT)), count(*) FILTER (WHERE fence < before)
		FROM (SELECT value, fence, lag(fence) OVER (ORDER BY seq) AS before FROM history)`).Scan(&total, &mixed, &backwards))
	require.Zero(t, mixed, "the value of one writer is next to the token of another")
	require.Zero(t, backwards, "a write of the table came with a lower token than the one before: it went backwards")
	require.Equal(t, accepted.Load(), total, "the writers did not count the accepted writes that the table has seen")
	require.Less(t, total, int64(writers*writes), "no token was stale: the test shows nothing")
}

// Also passes on resources without the check, because no write must be rejected, and neither a
// claim nor Create checks a token.
func TestTheHolderWritesAgain_ClaimsCountUp_AndCreateEmptiesNothing(t *testing.T) {
	table, db := openTable(t)
	for _, n := range []int{98, 98, 99} { // also the same again, which changes nothing
		require.NoError(t, writeStock(table, 33, n), "alice wrote with her token before, but her write was rejected: an equal token is the same holder")
		require.Equal(t, n, readStock(t, table, 33))
	}
	for want := int64(34); want < 38; want++ {
		token, err := table.Claim(ctx, stock)
		require.NoError(t, err)
		require.Equal(t, want, token)
	}
	again, err := Open(ctx, db)
	require.NoError(t, err)
	require.NoError(t, again.Create(ctx, stock, "100"))
	require.Equal(t, 99, readStock(t, table, 37), "a claim has changed the stock, or bob's service has created it anew over alice's sale")
}

// Also passes on resources without the check, because bad input is rejected before any
// check.
func TestBadInput_IsRefusedBeforeAnyStatement(t *testing.T) {
	table, db := openTable(t)
	require.NoError(t, db.Close()) // a statement would now be another error
	for _, token := range []int64{0, -1} {
		_, readErr := table.Read(ctx, token, stock)
		for _, err := range []error{writeStock(table, token, 1), readErr} {
			require.ErrorContains(t, err, fmt.Sprintf(`"stock": token %d is below`, token), "alice has no token, but the error does not say so")
			require.NotErrorIs(t, err, fencing.ErrStaleToken)
		}
	}
	_, readErr := table.Read(ctx, 1, "")
	_, claimErr := table.Claim(ctx, "")
	for _, err := range []error{table.Create(ctx, "", "1"), table.Write(ctx, 1, "", "1"), readErr, claimErr} {
		require.ErrorContains(t, err, "resource name is empty", "alice made a mistake, but the error does not name it")
	}

	err := writeStock(table, 1, 1)
	require.Error(t, err, "the database is closed, but alice got no error")
	require.NotErrorIs(t, err, fencing.ErrStaleToken, "the database is closed, but the error says that alice's token is stale")
}

// Also passes on resources without the check, because an unknown resource has no token to
// check.
func TestAnUnknownResource_IsNotMadeByAWrite(t *testing.T) {
	table, _ := openTable(t)
	for range 2 { // the second time, too: the first one has not made it
		_, readErr := table.Read(ctx, 1, "stok")
		_, claimErr := table.Claim(ctx, "stok")
		for _, err := range []error{table.Write(ctx, 1, "stok", "1"), readErr, claimErr} {
			require.ErrorIs(t, err, fencing.ErrUnknownResource, "there is no such resource, but alice did not get ErrUnknownResource")
			require.ErrorContains(t, err, `"stok"`)
		}
	}
}
