package email_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"
)

// server is a mail server that keeps what it receives and refuses as its fields require.
type server struct {
	*smtp.Server
	port int
	root *x509.CertPool

	mu    sync.Mutex
	mails []received
	rcpt  func(to string) error
	data  func() error // after the message was read
	dies  bool         // after the message was read, with no answer to it
}

type received struct {
	from, to, user string
	encrypted      bool
	text           string
}

func newServer(t *testing.T, implicit bool) *server {
	t.Helper()
	s := &server{}
	s.Server = smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) { return &session{server: s, conn: c}, nil }))
	s.Domain, s.AllowInsecureAuth, s.ReadTimeout = "localhost", true, time.Minute
	s.ErrorLog = quiet{}
	s.TLSConfig = s.certificate(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s.port = l.Addr().(*net.TCPAddr).Port
	if implicit {
		l = tls.NewListener(l, s.TLSConfig)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(l)
	}()
	t.Cleanup(func() {
		_ = s.Close()
		<-done
	})
	return s
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}
func (quiet) Println(...any)        {}

func (s *server) certificate(t *testing.T) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	s.root = x509.NewCertPool()
	s.root.AddCert(cert)
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
}

func (s *server) got() []received {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]received(nil), s.mails...)
}

type session struct {
	server *server
	conn   *smtp.Conn
	mail   received
}

func (s *session) AuthMechanisms() []string { return []string{sasl.Plain} }

func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if password != "p4ssw0rd!" {
			return smtp.ErrAuthFailed
		}
		s.mail.user = user
		return nil
	}), nil
}

func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	s.mail.from = from
	_, s.mail.encrypted = s.conn.TLSConnectionState()
	return nil
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.mail.to = to
	if s.server.rcpt != nil {
		return s.server.rcpt(to)
	}
	return nil
}

func (s *session) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if s.server.data != nil {
		if err := s.server.data(); err != nil {
			return err
		}
	}
	s.mail.text = string(text)
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.server.mails = append(s.server.mails, s.mail)
	if s.server.dies {
		return s.conn.Conn().Close()
	}
	return nil
}

func (s *session) Reset()        {}
func (s *session) Logout() error { return nil }

func answer(code int, text string) error {
	return &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCode{code / 100, 7, 1}, Message: text}
}

// hanging starts a server that sends the lines and then nothing more, and returns its port. The server calls said for each line
// of the client that begins with last.
func hanging(t *testing.T, lines, last string, said func()) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var wg sync.WaitGroup
	wg.Go(func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer func() { _ = c.Close() }()
		_, _ = io.WriteString(c, lines)
		for r, line := bufio.NewReader(c), ""; err == nil; line, err = r.ReadString('\n') { // until the client leaves
			if strings.HasPrefix(line, last) {
				said()
			}
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		wg.Wait()
	})
	return l.Addr().(*net.TCPAddr).Port
}
