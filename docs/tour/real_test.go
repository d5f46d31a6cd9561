package main

import (
	"net"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/course"
)

// serve answers every connection with these words, and returns where.
func serve(t *testing.T, words string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.Read(make([]byte, 64))
			conn.Write([]byte(words))
			conn.Close()
		}
	}()
	return l.Addr().String()
}

func TestReal(t *testing.T) {
	buildsMany(t)
	root := inOwnMini(t)
	var five []string
	for range 5 {
		five = append(five, serve(t, "+PONG\r\n"))
	}
	addrs := strings.Join(five, ",")
	shows(t, "real 3 "+five[0], 0, "real: the stories of step 03 on "+five[0]+"\n", "ok    TestLeadMutual_exclusion\n", "skip  TestBug\n", "played on "+five[0]+"\n",
		"  9 passed, 2 skipped, 0 failed")
	t.Setenv(realEnv, addrs)
	var out strings.Builder
	tr, ctx, err := newTour(t.Context(), console{out: &out, err: &out})
	require.NoError(t, err)
	defer tr.Close()
	require.NoError(t, tr.runReal(ctx, request{steps: []course.Step{course.Steps[0], course.Steps[7]}, names: five}))
	eight := wrap(columns, "real: the stories of step 08 on "+strings.Join(five, ", "))
	inOrder(t, out.String(), "the stories of step 01 on "+five[0]+"\n", strings.Join(eight, "\n")+"\n", "played on "+addrs)

	require.NoError(t, write(root+"/step02_expire/bug_test.go", "package redislock\n\nimport \"testing\"\n\nfunc TestBug(t *testing.T) { story(t, 3) }\n"))
	shows(t, "real 2", 1, "FAIL  TestBug\n          0.1ms", "6 passed, 1 skipped, 1 failed", "real 2 failed:\n  TestBug\n")
	require.NoError(t, os.Remove(root+"/"+realDir+"/"+realFile))
	shows(t, "real 3", 1, realFile)
}

func TestReal_SaysWhatIsWrongWithTheServers(t *testing.T) {
	inMini(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	free := l.Addr().String()
	l.Close()
	shows(t, "real 3 localhost", 1, "no Redis at localhost", "missing port in address")
	shows(t, "real 3 "+free, 1, "no Redis at "+free, "refused", "Start one (redis-server --port 6379 --save '')")
	shows(t, "real 3 "+serve(t, "-NOAUTH Authentication required.\r\n"), 1, "it answers PING with", "-NOAUTH")
	shows(t, "real 3 "+serve(t, ""), 1, `it answers PING with ""`)
}

func TestTheSlowestStory_IsThere(t *testing.T) {
	require.Contains(t, storyNames(t, course.Steps[6]), slowest)
	require.Contains(t, storyNames(t, course.Steps[7]), slowest)
}
