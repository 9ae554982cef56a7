// The stock client, driven by a test: options come as JSON in the first argument, commands as lines
// of standard input, and what happens goes out as lines of JSON.
const signalr = require("@microsoft/signalr");
const readline = require("readline");

const options = JSON.parse(process.argv[2]);
const say = (event) => process.stdout.write(JSON.stringify(event) + "\n");
const text = (error) => (error ? String(error.message || error) : "");

const http = { transport: signalr.HttpTransportType[options.transport], skipNegotiation: options.skipNegotiation };
if (options.tokens) {
  let asked = 0;
  http.accessTokenFactory = () => options.tokens[Math.min(asked++, options.tokens.length - 1)];
}
const builder = new signalr.HubConnectionBuilder();
if (options.messagePack) builder.withHubProtocol(new (require("@microsoft/signalr-protocol-msgpack").MessagePackHubProtocol)());
const hub = builder
  .withUrl(options.url, http)
  .withAutomaticReconnect({ nextRetryDelayInMilliseconds: () => 50 })
  .configureLogging(signalr.LogLevel.None)
  .build();
hub.on("ReceiveAlarm", (...args) => say({ event: "message", args }));
hub.onreconnecting((error) => say({ event: "reconnecting", error: text(error) }));
hub.onreconnected(() => say({ event: "reconnected" }));
hub.onclose((error) => say({ event: "closed", error: text(error) }));

const answer = (promise) => promise.then(
  (result) => say({ event: "answered", args: [result === undefined ? "nothing" : result] }),
  (error) => say({ event: "refused", error: text(error) }));
const commands = {
  echo: () => answer(hub.invoke("Echo", "größer", 1.5, [null, { a: true }])),
  watch: () => answer(hub.invoke("Watch", ["a", "b"], 50)),
  tell: () => hub.send("Watch", ["c"], 60),
  stuck: () => answer(hub.invoke("Stuck")),
  stop: () => hub.stop().then(() => say({ event: "stopped" })),
  send: () => hub.send("Nothing", 1).then(() => say({ event: "sent" })),
  invoke: () => hub.invoke("Nothing", { a: 1 }).then(
    () => say({ event: "invoked" }),
    (error) => say({ event: "refused", error: text(error) })),
};
readline.createInterface({ input: process.stdin })
  .on("line", (command) => commands[command]())
  .on("close", () => process.exit(0));
hub.start().then(() => say({ event: "started" }), (error) => say({ event: "failed", error: text(error) }));
