"""The client signalrcore, driven by a test like client.cjs: options come as JSON in the first argument,
commands as lines of standard input, and what happens goes out as lines of JSON."""
import json
import logging
import sys
import threading

from signalrcore.hub_connection_builder import HubConnectionBuilder
from signalrcore.types import HttpTransportType, HubProtocolEncoding

options = json.loads(sys.argv[1])
one = threading.Lock()


def say(event, **more):
    with one:
        print(json.dumps({"event": event, **more}), flush=True)


http = {"skip_negotiation": options.get("skipNegotiation", False)}
if "transport" in options:
    http["transport"] = HttpTransportType(options["transport"])
if "tokens" in options:
    http["access_token_factory"] = lambda: options["tokens"][0]
builder = (HubConnectionBuilder()
           .with_url(options["url"], options=http)
           .configure_logging(logging.CRITICAL)
           .with_automatic_reconnect({"type": "raw", "keep_alive_interval": 10, "reconnect_interval": 1}))
if options.get("messagePack"):
    builder.with_hub_protocol(HubProtocolEncoding.binary)
hub = builder.build()
hub.on_open(lambda: say("started"))
hub.on_close(lambda: say("closed"))
hub.on_reconnect(lambda: say("reconnected"))
hub.on_error(lambda completion: say("refused", error=str(completion.error)))
hub.on("ReceiveAlarm", lambda args: say("message", args=args))
try:
    hub.start()
except Exception as err:
    say("failed", error=str(err))
for command in sys.stdin:
    if command.strip() == "invoke":
        hub.invoke("Nothing", [{"a": 1}])
    else:
        hub.stop()
        say("stopped")
