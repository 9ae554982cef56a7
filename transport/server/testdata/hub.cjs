// The stock client on a hub, driven by a test: options come as JSON in the first argument, and what
// happens goes out as lines of JSON. It ends with standard input.
const signalr = require("@microsoft/signalr");

const options = JSON.parse(process.argv[2]);
const say = (event, args) => process.stdout.write(JSON.stringify({ event, args }) + "\n");

const http = { transport: signalr.HttpTransportType[options.transport] };
if (options.token) http.accessTokenFactory = () => options.token;
const builder = new signalr.HubConnectionBuilder();
if (options.protocol === "messagepack") builder.withHubProtocol(new (require("@microsoft/signalr-protocol-msgpack").MessagePackHubProtocol)());
const hub = builder.withUrl(options.url, http).configureLogging(signalr.LogLevel.None).build();
for (const name of ["ReceiveAlarm", "OnAlarmRaised", "OnAlarmChanged", "OnIngestionStats", "OnEquipmentRegistered", "tags", "alarms", "submodel"]) {
  hub.on(name, (...args) => say(name, args));
}
hub.onclose(() => say("closed"));
process.stdin.on("end", () => process.exit(0)).resume();
// Invocations that follow the start: arrays of a method and its arguments.
const invoke = async () => {
  for (const call of options.invoke || []) {
    await hub.invoke(...call).then((result) => say("answered", [result]), (error) => say("refused", [String(error)]));
  }
};
hub.start().then(() => { say("started"); return invoke(); }, (error) => say("failed", [String(error)]));
