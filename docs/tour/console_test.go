package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWrap(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []string
	}{
		{"", []string{""}},
		{"0123456789", []string{"0123456789"}},
		{"0123 567 9ab def", []string{"0123 567", "9ab def"}},
		{"0123456789ab def", []string{"0123456789ab", "def"}},
		{"first\nthe second line", []string{"first", "the second", "line"}},
		{"  an  old  table that", []string{"  an  old", "  table", "  that"}},
		{"äöü äöü äöü", []string{"äöü äöü", "äöü"}},
		{"一二三四五六", []string{"一二三四五", "六"}},
		{"一二三四五，六", []string{"一二三四", "五，六"}},
		{"一二三四（五六）", []string{"一二三四", "（五六）"}},
		{"key 不存在", []string{"key 不存在"}},
		{"调用 TryLock 时", []string{"调用", "TryLock 时"}},
		{"用TryLock加锁", []string{"用TryLock", "加锁"}},
	} {
		require.Equal(t, tt.want, wrap(10, tt.text), tt.text)
	}
}
