package oneport

import (
	"context"
	"crypto/tls"
	"errors"
	"net"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// Credentials returns the credentials for the gRPC server behind a Port: grpc.Creds(Credentials()). The
// handshake is the Port's; what it found (the client's certificate too) is in the peer's AuthInfo,
// a credentials.TLSInfo, as with the gRPC server's own TLS.
func Credentials() credentials.TransportCredentials {
	return portCredentials{insecure.NewCredentials()}
}

type portCredentials struct {
	credentials.TransportCredentials
}

func (p portCredentials) ServerHandshake(c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	t, ok := c.(interface{ ConnectionState() tls.ConnectionState })
	if !ok {
		return p.TransportCredentials.ServerHandshake(c)
	}
	return c, credentials.TLSInfo{
		State:          t.ConnectionState(),
		CommonAuthInfo: credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity},
	}, nil
}

func (portCredentials) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("oneport: these credentials are for servers")
}

func (p portCredentials) Clone() credentials.TransportCredentials { return p }
