# Checks files, whose names are the arguments, with the official checker, and prints what it finds as one line of
# JSON for each: a list of [level, message].
import json
import sys

from aas_test_engines import file

CHECKS = {"aasx": file.check_aasx_file, "xml": file.check_xml_file, "json": file.check_json_file}


def walk(result, found):
    for below in result.sub_results:
        walk(below, found)
    if not result.sub_results and result.level.name != "INFO":
        found.append([result.level.name, result.message])


for name in sys.argv[1:]:
    found = []
    with open(name, "rb") as f:
        walk(CHECKS[name.rsplit(".", 1)[1]](f), found)
    print(json.dumps(found))
