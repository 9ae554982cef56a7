package main_test

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMailToAServerWithAnAuthorityOfItsOwn(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	pair, err := tls.X509KeyPair(ca.issue(x509.ExtKeyUsageServerAuth))
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	box := serveMailWith(t, listener, &tls.Config{Certificates: []tls.Certificate{pair}})
	env := with(known, mailTo(listener.Addr().String()), []string{"Alerting__Email__Security=starttls", "Alerting__Routes__Warning=email"})
	trusting := start(t, with(env, []string{"Alerting__Email__CaFile=" + file(t, "ca.pem", string(pemOf("CERTIFICATE", ca.cert.Raw)))}), "-data", t.TempDir())
	wary := start(t, env, "-data", t.TempDir())
	wary.told(alert("warning", "pump-1", "Too hot"))
	eventually(t, "the wary engine does not fail", func() bool {
		_, r := wary.report("/health")
		figures, _ := r.Results["alerting"].Data["email"].(map[string]any)
		return figures["failingRecipients"] == 1.0
	})
	require.Empty(t, box.got())
	wary.says("unknown authority")
	trusting.told(alert("warning", "pump-2", "Too hot"))
	eventually(t, "no mail comes", func() bool { return len(box.got()) == 1 })
	require.Contains(t, run(t, with(env, []string{"Alerting__Email__CaFile=/nowhere"}), "", "config", "check").err, "caFile")
}
