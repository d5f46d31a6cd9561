package main

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/stall"
)

const tests = `package x

import (
	"os"
	"testing"
)

func TestFails(t *testing.T) {
	t.Run("once", func(t *testing.T) {
		if os.Mkdir("been-here", 0o777) == nil {
			t.Error("the first time")
		}
	})
	t.Run("always", func(t *testing.T) {
		t.Parallel()
		if os.Getenv("ALWAYS") != "" {
			t.Error("always")
		}
	})
}

func TestDies(t *testing.T) {
	t.Parallel()
	if os.Getenv("DIES") != "" {
		go panic("this process ends")
		select {}
	}
}
`

func TestPlay_OnlyWhatFailedInAStallIsPlayedAgain(t *testing.T) {
	const never, always = time.Hour, 0
	for _, c := range []struct {
		what, env string
		late      time.Duration
		want      string
	}{
		{"no stall", "X", never, "TestFails/once failed"},
		{"a stall", "X", always, ""},
		{"a stall each time", "ALWAYS", always, "TestFails/once failed"},
		{"the process dies", "DIES", always, "exit status 1\nTestFails/once failed"},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Chdir(t.TempDir())
			require.NoError(t, os.WriteFile("go.mod", []byte("module x\n"), 0o666))
			require.NoError(t, os.WriteFile("x_test.go", []byte(tests), 0o666))
			t.Setenv(c.env, "yes")
			err := play([]string{"-vet=off", "."}, stall.Start(c.late))
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, c.want)
		})
	}
	require.Error(t, play([]string{"./nowhere"}, stall.Start(never)), "no such package")
}
