package main

import (
	"crypto/tls"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/stretchr/testify/require"
)

func TestReal(t *testing.T) {
	buildsMany(t)
	root := inOwnMini(t)
	var five []string
	for range 5 {
		five = append(five, miniredis.RunT(t).Addr())
	}
	addrs := strings.Join(five, ",")
	shows(t, "real 3 "+five[0], 0, "real: the stories of step 03 on "+five[0]+"\n", "ok    TestLeadMutual_exclusion\n", "skip  TestBug\n", "played on redis://"+five[0]+"\n",
		"  9 passed, 2 skipped, 0 failed")
	t.Setenv(realEnv, addrs)
	out, errs, code := tourOf(t, "real 8")
	require.Zero(t, code, errs)
	inOrder(t, out, "the stories of step 08 on "+strings.Join(five, ", "), "played on redis://"+strings.ReplaceAll(addrs, ",", ",redis://"))

	require.NoError(t, write(root+"/step02_expire/bug_test.go", "package redislock\n\nimport \"testing\"\n\nfunc TestBug(t *testing.T) { story(t, 3) }\n"))
	shows(t, "real 2", 1, "FAIL  TestBug\n          0.1ms", "6 passed, 0 skipped, 1 failed", "real 2 failed:\n  TestBug\n")
	require.NoError(t, os.Remove(root+"/"+realDir+"/"+realFile))
	shows(t, "real 3", 1, realFile)
}

// On a cluster only the locks of one server play.
func TestReal_SaysWhatIsWrongWithTheServers(t *testing.T) {
	inMini(t)
	closed, open, hidden := miniredis.RunT(t), miniredis.RunT(t), miniredis.RunT(t)
	free := closed.Addr()
	closed.Close()
	hidden.RequireUserAuth("bob", "s3cret")
	web := httptest.NewTLSServer(nil) // for its certificate
	t.Cleanup(web.Close)
	secure, err := miniredis.RunTLS(&tls.Config{Certificates: web.TLS.Certificates})
	require.NoError(t, err)
	t.Cleanup(secure.Close)
	cluster := miniredis.RunT(t)
	cluster.Server().SetPreHook(func(c *server.Peer, cmd string, _ ...string) bool {
		if cmd == "CLUSTER" {
			c.WriteBulk("cluster_state:ok\r\n")
		}
		return cmd == "CLUSTER"
	})
	asks := func(addr string, servers int) error {
		u, err := parseServer(addr)
		require.NoError(t, err)
		return ping(t.Context(), u, servers)
	}
	require.NoError(t, asks(cluster.Addr(), 1))
	require.ErrorContains(t, asks(cluster.Addr(), 5), "it is a node of a cluster")
	for args, want := range map[string]string{
		free:                                  "refused\nStart one (redis-server --port 6379 --save ''), or say how",
		hidden.Addr():                         "NOAUTH Authentication required.\nStart one",
		"redis://bob:s3cre@" + hidden.Addr():  "WRONGPASS invalid username-password pair",
		secure.Addr():                         "EOF\nStart one",
		"rediss://" + secure.Addr():           "certificate signed by unknown authority\nStart one",
		"redis://bob:s3cret@" + hidden.Addr(): "",
		"redis://" + open.Addr() + "/3":       "",
		"rediss://" + secure.Addr() + "?skip_verify=true": "",
	} {
		if want == "" {
			require.NoError(t, asks(args, 1), args)
			continue
		}
		out, errs, code := tourOf(t, "real 3 "+args)
		require.Equal(t, 1, code, args)
		require.Empty(t, out, args)
		inOrder(t, strings.ReplaceAll(errs, "connection\nrefused", "refused"), "cannot play on 127.0.0.1:", want)
		require.NotContains(t, errs, "s3cre", "it is secret")
	}
}
