package auth

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/otkit/otkit/accounts"
)

// claims of an access token.
type claims struct {
	jwt.RegisteredClaims
	Name    string   `json:"name"`
	Roles   []string `json:"roles"`
	Session string   `json:"sid"`
}

// ownTokens signs and verifies the tokens of this product.
type ownTokens struct {
	keys             *Keys
	issuer, audience string
	parser           *jwt.Parser
}

func newOwnTokens(keys *Keys, opts Options) ownTokens {
	return ownTokens{
		keys: keys, issuer: opts.Issuer, audience: opts.Audience,
		parser: jwt.NewParser(
			jwt.WithValidMethods([]string{jwt.SigningMethodES256.Alg()}),
			jwt.WithIssuer(opts.Issuer),
			jwt.WithAudience(opts.Audience),
			jwt.WithExpirationRequired(),
			jwt.WithTimeFunc(opts.Now),
			jwt.WithStrictDecoding(),
		),
	}
}

func (o ownTokens) sign(login accounts.Login, id string, now, expires time.Time) (string, error) {
	token := jwt.NewWithClaims(jwt.SigningMethodES256, claims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: o.issuer, Subject: login.Account.Name, Audience: jwt.ClaimStrings{o.audience},
			IssuedAt: jwt.NewNumericDate(now), NotBefore: jwt.NewNumericDate(now),
			ExpiresAt: jwt.NewNumericDate(expires), ID: id,
		},
		Name: login.Account.Name, Roles: []string{string(login.Account.Role)}, Session: login.Session.ID,
	})
	key := o.keys.signing()
	token.Header["kid"] = key.id
	return token.SignedString(key.private)
}

func (o ownTokens) verify(ctx context.Context, token string) (*verified, error) {
	var (
		c       claims
		unknown error // why it is unknown whether there is such a key
	)
	_, err := o.parser.ParseWithClaims(token, &c, func(t *jwt.Token) (any, error) {
		// RFC 7515, 4.1.11: what a token calls critical and the reader does not know refuses it.
		if _, critical := t.Header["crit"]; critical {
			return nil, errors.New("critical header members are not supported")
		}
		id, _ := t.Header["kid"].(string)
		key, err := o.keys.public(ctx, id)
		switch {
		case err != nil:
			unknown = err
			return nil, err
		case key == nil:
			return nil, errors.New("no such key")
		}
		return key, nil
	})
	if unknown != nil {
		return nil, unknown
	}
	if err == nil && (c.Session == "" || c.Subject == "" || len(c.Roles) != 1) {
		err = errors.New("claims are missing")
	}
	if err != nil {
		return nil, ErrUnauthenticated.Wrap(err)
	}
	return &verified{
		principal: &Principal{
			Issuer: c.Issuer, Subject: c.Subject, Name: c.Name, Role: accounts.Role(c.Roles[0]),
			SessionID: c.Session, TokenID: c.ID, ExpiresAt: c.ExpiresAt.Time,
		},
		expires: c.ExpiresAt.Time,
	}, nil
}

// issuerOf reads the claim iss of an unverified token, only to choose who
// verifies it. It returns "" if the text is not a token.
func issuerOf(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return ""
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return ""
	}
	var c struct {
		Issuer string `json:"iss"`
	}
	if json.Unmarshal(payload, &c) != nil {
		return ""
	}
	return c.Issuer
}
