package course

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// The interview's two scripts of a flash sale do what the page says of them, in the order in which
// resends hurt: a sale sent twice, a refund sent three times, and a sale that arrives after both.
func TestCases_TheFlashSaleSellsEachPieceOnceAndPutsItBackOnce(t *testing.T) {
	page, err := os.ReadFile("../../read/interview/cases.md")
	require.NoError(t, err)
	scripts := regexp.MustCompile("(?s)```lua\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	require.Len(t, scripts, 2)
	ctx, server := context.Background(), miniredis.RunT(t)
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer rdb.Close()
	run := func(script, order, customer int) int {
		got, err := rdb.Eval(ctx, scripts[script][1], []string{"stock:{42}", "bought:{42}"},
			fmt.Sprint("order:", order), fmt.Sprint("user:", customer), 1).Int()
		require.NoError(t, err)
		return got
	}
	sell := func(order, customer int) int { return run(0, order, customer) }
	putBack := func(order int) { run(1, order, 0) }

	server.Set("stock:{42}", "10")
	var sold []int
	for order := range 200 {
		first, again := sell(order, order), sell(order, order)
		require.Equal(t, first, again, "order %d was sent twice", order)
		if first == 1 {
			sold = append(sold, order)
		}
	}
	require.Len(t, sold, 10)
	require.Equal(t, 0, sell(200, 200), "sold out")
	for _, order := range sold {
		for range 3 {
			putBack(order)
		}
		require.Equal(t, -2, sell(order, order), "resent after order %d was closed", order)
	}
	stock, _ := server.Get("stock:{42}")
	require.Equal(t, "10", stock)
	putBack(201)
	require.Equal(t, -2, sell(201, 201), "closed before its sale arrived")
	require.Equal(t, 1, sell(202, 202))
	require.Equal(t, -1, sell(203, 202), "the limit of one customer")
}
