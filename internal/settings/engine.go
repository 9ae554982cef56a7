package settings

import (
	"encoding/json"
	"time"
)

// Engine holds the settings of the engine.
type Engine struct {
	Server   Server   `koanf:"server" doc:"The port and its limits."`
	Storage  Storage  `koanf:"storage" doc:"Where the engine keeps its data."`
	Auth     Auth     `koanf:"auth" doc:"Accounts and tokens."`
	Log      Log      `koanf:"log" doc:"What the engine writes to standard error."`
	Tracing  Tracing  `koanf:"tracing" doc:"OpenTelemetry traces."`
	Tags     Tags     `koanf:"tags" doc:"Tag configuration, history and the log of writes."`
	Alarms   Alarms   `koanf:"alarms" doc:"Alarms."`
	Alerting Alerting `koanf:"alerting" doc:"Who is told of alarms, and alerts from other systems. A channel is set up by its first setting."`
	AAS      AAS      `koanf:"aas" doc:"Asset administration shells."`
	Drivers  []Driver `koanf:"drivers" doc:"The devices that the engine reads, a list. A file's list replaces the one before it; variables change items, or add the next one."`
}

// Server is the engine's port.
type Server struct {
	Listen            string        `koanf:"listen" doc:"Address of the one port for REST, gRPC, streams and health, as host:port or :port. Port 0 takes a free one."`
	MaxBodyBytes      int64         `koanf:"maxBodyBytes" doc:"Largest body of a request in bytes, 1024 to 1073741824; larger ones are answered 413."`
	MaxConnections    int           `koanf:"maxConnections" doc:"Open connections at once, from 1; more wait."`
	ReadHeaderTimeout time.Duration `koanf:"readHeaderTimeout" doc:"Longest time for the head of a request."`
	IdleTimeout       time.Duration `koanf:"idleTimeout" doc:"How long a connection stays open between two requests."`
	ShutdownTimeout   time.Duration `koanf:"shutdownTimeout" doc:"How long a stop waits for requests that run."`
	TLS               TLS           `koanf:"tls"`
	CORS              CORS          `koanf:"cors"`
}

// TLS turns transport security on.
type TLS struct {
	CertFile          string `koanf:"certFile" doc:"PEM file with the certificate and the intermediate ones. With it the port speaks TLS. Read again when it changes."`
	KeyFile           string `koanf:"keyFile" doc:"PEM file with the private key of the certificate."`
	ClientCAFile      string `koanf:"clientCaFile" doc:"PEM file with the authorities of client certificates; empty asks for none."`
	RequireClientCert bool   `koanf:"requireClientCert" doc:"Refuse clients without a certificate."`
}

// CORS says which web pages of other origins may call.
type CORS struct {
	AllowedOrigins []string `koanf:"allowedOrigins" doc:"Origins such as https://hmi.example.com; * alone for any."`
}

// Storage is where the engine keeps its data.
type Storage struct {
	DataDir string `koanf:"dataDir" doc:"Folder of the keys, the embedded database and the tag configuration."`
	Driver  string `koanf:"driver" doc:"sqlite (embedded, in the data folder) or postgres."`
	DSN     string `koanf:"dsn" secret:"url" doc:"Database of postgres, as a URL or in the key=value form of libpq."`
}

// Auth is about accounts and tokens.
type Auth struct {
	AdminUsername       string `koanf:"adminUsername" doc:"Name of the account that the first start makes."`
	AdminPassword       string `koanf:"adminPassword" secret:"true" doc:"Password of that account; empty makes a random one and prints it once."`
	AccessTokenMinutes  int    `koanf:"accessTokenMinutes" doc:"Life of an access token in minutes, 1 to 1440."`
	RefreshTokenHours   int    `koanf:"refreshTokenHours" doc:"How long a login lives without a refresh, in hours, 1 to 8760."`
	ProtectOpenSurfaces bool   `koanf:"protectOpenSurfaces" doc:"Ask for a token on the surfaces that are open otherwise."`
	Issuer              string `koanf:"issuer" doc:"Claim iss of the engine's own tokens."`
	Audience            string `koanf:"audience" doc:"Claim aud of the engine's own tokens."`
	OIDC                OIDC   `koanf:"oidc"`
}

// OIDC is an outside OpenID Connect issuer whose tokens are accepted too.
type OIDC struct {
	Issuer     string `koanf:"issuer" doc:"URL of an OpenID Connect issuer whose tokens are accepted too, https, or http on a loopback address; empty for none."`
	Audience   string `koanf:"audience" doc:"What the claim aud of its tokens must hold; needed with an issuer."`
	RolesClaim string `koanf:"rolesClaim" doc:"Claim of its tokens with the roles; dots lead into nested claims."`
}

// Log is what the engine logs.
type Log struct {
	Level    string `koanf:"level" doc:"Least level: debug, info, warn or error."`
	Format   string `koanf:"format" doc:"text or json."`
	Requests bool   `koanf:"requests" doc:"One line for each HTTP request."`
}

// Tracing sends traces to an OpenTelemetry collector.
type Tracing struct {
	Endpoint    string  `koanf:"endpoint" secret:"url" doc:"URL of a collector, such as http://collector:4318; empty for no tracing."`
	Protocol    string  `koanf:"protocol" doc:"OTLP over http or grpc."`
	SampleRatio float64 `koanf:"sampleRatio" doc:"Share of new traces that are recorded, above 0 to 1."`
}

// Tags is about the tag engine.
type Tags struct {
	ModelPath      string        `koanf:"modelPath" env:"PLATFORM_MODEL_PATH" doc:"Model file of the tag configuration; empty for config/equipment_model.json in the data folder."`
	History        History       `koanf:"history"`
	WriteLogMaxAge time.Duration `koanf:"writeLogMaxAge" doc:"How long the outcomes of writes can be read."`
}

// History is the history of tag values.
type History struct {
	Enabled    bool          `koanf:"enabled" doc:"Keep the history of tag values."`
	MaxAge     time.Duration `koanf:"maxAge" doc:"Older samples are removed; negative for no limit."`
	MaxBytes   int64         `koanf:"maxBytes" doc:"Beyond this size in bytes the oldest samples are removed; negative for no limit."`
	FlushEvery time.Duration `koanf:"flushEvery" doc:"Longest time that a sample waits to be stored, up to 1m."`
}

// Driver is one device. Zero takes the default of the driver or of the engine.
type Driver struct {
	ID             string          `koanf:"id" doc:"Driver id, the prefix of its tags' names; required, one of its own."`
	Type           string          `koanf:"type" doc:"Type of driver, such as Modbus or Simulation; required."`
	IPAddress      string          `koanf:"ipAddress" doc:"Address or host name of the device, for types that have one."`
	Port           int             `koanf:"port" doc:"Port of the device, 1 to 65535; 0 for the default of the type."`
	PollIntervalMs int             `koanf:"pollIntervalMs" doc:"Polling interval of tags without one of their own, in milliseconds; 0 for 1000."`
	TimeoutMs      int             `koanf:"timeoutMs" doc:"Longest time of one exchange with the device, in milliseconds; 0 for 5000."`
	BackoffMaxMs   int             `koanf:"backoffMaxMs" doc:"Attempts to connect come ever later, up to this time apart, in milliseconds; 0 for 30000."`
	Settings       json.RawMessage `koanf:"settings" doc:"What the type of driver defines, tags included."`
}

// EngineDefaults gives the engine's settings when nothing is set.
func EngineDefaults() Engine {
	return Engine{
		Server: Server{
			Listen: ":5001", MaxBodyBytes: 8 << 20, MaxConnections: 16384,
			ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, ShutdownTimeout: 30 * time.Second,
		},
		Storage: Storage{DataDir: "data", Driver: "sqlite"},
		Auth: Auth{
			AdminUsername: "admin", AccessTokenMinutes: 60, RefreshTokenHours: 7 * 24,
			Issuer: "otkit", Audience: "otkit", OIDC: OIDC{RolesClaim: "roles"},
		},
		Log:     Log{Level: "info", Format: "text", Requests: true},
		Tracing: Tracing{Protocol: "http", SampleRatio: 1},
		Tags: Tags{
			History:        History{Enabled: true, MaxAge: 31 * 24 * time.Hour, MaxBytes: 1 << 30, FlushEvery: time.Second},
			WriteLogMaxAge: 31 * 24 * time.Hour,
		},
		Alarms: Alarms{MaxAge: 400 * 24 * time.Hour, DriverOffline: DriverOffline{Enabled: true, Delay: 30 * time.Second, Severity: "Error"}, Analytics: Analytics{
			Operators: 1, RateAcceptable: 6, RateMax: 12, FloodWindow: 10 * time.Minute, FloodStart: 10, FloodEnd: 5,
			ChatterCount: 3, ChatterWindow: time.Minute, StaleAfter: 24 * time.Hour, Top: 10,
		}},
		Alerting: Alerting{
			HistoryMaxAge: 400 * 24 * time.Hour,
			Routes: Routes{
				Critical: []string{"email", "teamchat", "sms", "tts", "dashboard", "fcm", "apns"},
				Error:    []string{"teamchat", "telegram", "line", "dashboard", "fcm", "apns"},
				Warning:  []string{"dashboard"},
				Info:     []string{"dashboard"},
			},
			Email:    Email{Security: "starttls"},
			TeamChat: TeamChat{Format: "slack"},
		},
		AAS: AAS{Verification: "strict", MaxFileBytes: 32 << 20, Events: AASEvents{Topic: "otkit/aas", QoS: 1}},
	}
}
