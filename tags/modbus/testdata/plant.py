"""Many Modbus servers in one process: plant.py PORT...

Unit 1 of each has 1000 holding registers, of which the number i holds 7 * i.
"""
import asyncio
import sys

from pymodbus.datastore import ModbusSequentialDataBlock, ModbusServerContext, ModbusSlaveContext
from pymodbus.server import StartAsyncTcpServer


def unit():
    return ModbusSlaveContext(hr=ModbusSequentialDataBlock(0, [(i * 7) % 65536 for i in range(1000)]), zero_mode=True)


async def main():
    await asyncio.gather(*(
        StartAsyncTcpServer(context=ModbusServerContext(slaves={1: unit()}, single=False), address=("127.0.0.1", int(port)),
                            allow_reuse_address=True, ignore_missing_slaves=True)
        for port in sys.argv[1:]))


asyncio.run(main())
