"""Uses the generated client of the engine at the first argument with the token in the second, and prints
what it got as JSON."""
import json
import sys
from datetime import datetime, timedelta, timezone

import openapi_client
from openapi_client.models.batch_read_request import BatchReadRequest

SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"

api = openapi_client.ApiClient(openapi_client.Configuration(host=sys.argv[1], access_token=sys.argv[2]))
config, tags, alarms = openapi_client.ConfigApi(api), openapi_client.TagsApi(api), openapi_client.AlarmsApi(api)


def told(answer):
    return {"added": [c.tag_id for c in answer.added], "changed": [c.tag_id for c in answer.changed]}


sim = tags.read_tag("sim.running").tag
first = config.import_tag_config(body=b"tagId,driverId,dataType,description\ngen.a,sim,Float,gr\xc3\xb6\xc3\x9fer\n", _content_type="text/csv")
sheet = bytes(config.export_tag_config(format="xlsx"))
second = config.import_tag_config(body=b"tagId,driverId,dataType,description\ngen.a,sim,Float,other\n", _content_type="text/csv")
back = config.import_tag_config(body=sheet, _content_type=SHEET)
now = datetime.now(timezone(timedelta(hours=2)))
history = alarms.get_alarm_history(start=now - timedelta(days=1), end=now)
batch = tags.read_tags(BatchReadRequest(tag_names=["sim.running", "none.such"]))
print(json.dumps({
    "csv": told(first), "change": told(second), "xlsx": told(back), "history": history.total_count >= len(history.alarms), "tag": sim.name,
    "batch": [t.name for t in batch.tags], "missing": [e.code for e in batch.errors],
}))
