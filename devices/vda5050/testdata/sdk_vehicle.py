"""A vehicle made with vda5050-sdk, for the tests of package vda5050: sdk_vehicle.py PORT X Y."""

import asyncio
import math
import sys

from vda5050 import ActionStatus, ArrivalToleranceDefaults, Factsheet, Load, VehicleConfig, Visualization
from vda5050.client.agv import OrderExecutor, VehicleClient

STEP = 0.05  # seconds
SPEED = 3.0  # metres a second
MANUFACTURER, SERIAL = "other maker", "sdk-1"


def factsheet():
    return Factsheet(
        header_id=0, timestamp="", version="2.1.0", manufacturer=MANUFACTURER, serial_number=SERIAL,
        type_specification={"series_name": "SDK", "agv_kinematic": "DIFF", "agv_class": "CARRIER", "max_load_mass": 50,
                            "localization_types": ["NATURAL"], "navigation_types": ["AUTONOMOUS"]},
        physical_parameters={"speed_min": 0, "speed_max": SPEED, "acceleration_max": 1, "deceleration_max": 1,
                             "height_max": 1, "width": 0.5, "length": 0.7},
        protocol_limits={"max_string_lens": {}, "max_array_lens": {}, "timing": {"min_order_interval": 0, "min_state_interval": 0}},
        protocol_features={"optional_parameters": [], "agv_actions": []}, agv_geometry={}, load_specification={})


class Executor(OrderExecutor):
    """Drives in steps and handles one load."""

    def __init__(self, client):
        super().__init__(client.publisher, arrival_defaults=ArrivalToleranceDefaults(tolerance_xy=0.2, tolerance_theta=0.1))
        self.client = client

    async def visit_node(self, node):
        target, publisher = node.node_position, self.client.publisher
        while True:
            await asyncio.sleep(STEP)
            if publisher.paused:
                continue
            here = publisher.agv_position
            dx, dy = target.x - here.x, target.y - here.y
            left = math.hypot(dx, dy)
            if left <= SPEED * STEP:
                theta = here.theta if target.theta is None else target.theta
                publisher.update_position(x=target.x, y=target.y, theta=theta, map_id=target.map_id)
                return
            publisher.set_driving(True)  # the SDK leaves it off after a pause
            publisher.update_position(x=here.x + dx / left * SPEED * STEP, y=here.y + dy / left * SPEED * STEP,
                                      theta=math.atan2(dy, dx), map_id=here.map_id)
            await self.client.publish_visualization(Visualization(
                header_id=0, timestamp="", version="", manufacturer="", serial_number="", agv_position=publisher.agv_position))

    async def run_action(self, action, *, node=None, edge=None):
        publisher = self.client.publisher
        publisher.report_action(action.action_id, ActionStatus.RUNNING, action_type=action.action_type)
        await asyncio.sleep(2 * STEP)
        publisher.set_loads([Load(load_id="box")] if action.action_type == "pick" else [])
        publisher.report_action(action.action_id, ActionStatus.FINISHED, action_type=action.action_type)


async def drive(client, order):
    publisher, executor = client.publisher, Executor(client)
    try:
        # OrderExecutor takes a first node at which the vehicle stands already for done and leaves its actions WAITING, and it
        # fails if there is no other node.
        first = order.nodes[0]
        stands = (first.node_id, first.sequence_id) == (publisher.last_node_id, publisher.last_node_sequence_id)
        for action in first.actions if stands else []:
            await executor.run_action(action, node=first)
        if not stands or len(order.nodes) > 1:
            await executor.run(order)
    finally:
        publisher.set_driving(False)


async def main():
    port, x, y = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
    client = VehicleClient(VehicleConfig(broker_url=f"mqtt://127.0.0.1:{port}", manufacturer=MANUFACTURER, serial_number=SERIAL,
                                         state_interval=1, keepalive=5, validate_messages=True), factsheet_provider=factsheet)
    driving = None

    @client.on_order
    def begin(order):
        # Not awaited: the SDK reads no message, such as cancelOrder, before this returns.
        nonlocal driving
        driving = asyncio.create_task(drive(client, order))

    @client.on_instant_actions
    def cancel(message):
        # The SDK itself reports the order as canceled; what drives is ours.
        if driving is not None and any(a.action_type == "cancelOrder" for a in message.actions):
            driving.cancel()

    await client.connect()
    client.update_position(x=x, y=y, theta=0.0, map_id="hall")
    await asyncio.Event().wait()


asyncio.run(main())
