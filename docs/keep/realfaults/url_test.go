//go:build unix

package realfaults

import (
	"crypto/x509"
	"encoding/pem"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/keep/realfaults/redisproc"
)

// certificate writes one for 127.0.0.1 that no CA has signed, and its key.
func certificate(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	web := httptest.NewTLSServer(nil)
	defer web.Close()
	of := web.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(of.PrivateKey)
	require.NoError(t, err)
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: of.Certificate[0]}, keyFile: {Type: "PRIVATE KEY", Bytes: key}} {
		require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(block), 0o600))
	}
	return certFile, keyFile
}

// Stories on what users have: a password, a user, TLS, a cluster. How a connection is made
// does not depend on the step, so the first ones do; what a cluster runs does. They go by the
// clock, so they play by themselves, one run after the other (REALFAULTS=urls, each week).
func TestTheTourTakesURLs(t *testing.T) {
	if os.Getenv("REALFAULTS") != "urls" {
		t.Skip("REALFAULTS=urls plays it, and nothing else should run then")
	}
	secure, err := redisproc.FreeAddr()
	require.NoError(t, err)
	_, port, _ := net.SplitHostPort(secure)
	cert, key := certificate(t)
	one := serve(t, 1, "--tls-port", port, "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert, "--tls-auth-clients", "no")[0].Addr
	admin := adminOf(t, one)
	require.NoError(t, admin.ACLSetUser(ctx, "bob", "on", ">his", "~*", "&*", "+@all").Err())
	require.NoError(t, admin.ConfigSet(ctx, "requirepass", "secret").Err())
	root, err := course.Root()
	require.NoError(t, err)
	for name, args := range map[string][2]string{
		"a password":       {"1", "redis://:secret@" + one},
		"a user":           {"2", "redis://bob:his@" + one + "/3"},
		"TLS, not checked": {"1", "rediss://:secret@" + secure + "?skip_verify=true"},
		"TLS":              {"2", "rediss://bob:his@" + secure},
		"a cluster":        {"5", threeMasters(t)[0]},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("go", "run", "./docs/tour", "real", args[0], args[1])
			cmd.Dir, cmd.Env = root, append(os.Environ(), "SSL_CERT_FILE="+cert)
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Contains(t, string(out), " skipped, 0 failed")
		})
	}
}
