// Many stock clients in one process, for measuring: counts the messages that come and those that come
// before one that was sent earlier.
const signalr = require("@microsoft/signalr");
const readline = require("readline");

const { url, transport, clients, messages } = JSON.parse(process.argv[2]);
const say = (event) => process.stdout.write(JSON.stringify(event) + "\n");
let received = 0, misplaced = 0;
const all = [];
for (let i = 0; i < clients; i++) {
  const hub = new signalr.HubConnectionBuilder()
    .withUrl(url, { transport: signalr.HttpTransportType[transport] })
    .configureLogging(signalr.LogLevel.None)
    .build();
  let last = -1;
  hub.on("ReceiveAlarm", (message) => {
    const n = Number(message.slice(message.lastIndexOf(" ") + 1));
    if (n !== last + 1) misplaced++;
    last = n;
    if (++received === clients * messages) say({ event: "done", misplaced });
  });
  all.push(hub);
}
readline.createInterface({ input: process.stdin }).on("close", () => process.exit(0));
Promise.all(all.map((hub) => hub.start())).then(() => say({ event: "started" }), (error) => say({ event: "failed", error: String(error) }));
