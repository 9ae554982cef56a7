"""A Modbus server for the tests: server.py PORT tcp|rtu|serial [MILLISECONDS]

PORT is a TCP port, or for serial a serial port. Every answer takes so many milliseconds.
Unit 1 has all four tables, 1000 items each. Unit 2 has holding registers 0..9 and 12..19 only, so that
reading across 10 and 11 is refused. Other units give no answer, as behind a gateway.
"""
import asyncio
import sys
import time

from pymodbus.datastore import (
    ModbusSequentialDataBlock,
    ModbusServerContext,
    ModbusSlaveContext,
    ModbusSparseDataBlock,
)
from pymodbus.server import StartAsyncSerialServer, StartAsyncTcpServer
from pymodbus.transaction import ModbusRtuFramer, ModbusSocketFramer


class Slow(ModbusSlaveContext):
    def getValues(self, *args, **kwargs):
        time.sleep(delay)  # one request after the other, as a device does
        return super().getValues(*args, **kwargs)


def full():
    return Slow(
        co=ModbusSequentialDataBlock(0, [i % 3 == 0 for i in range(1000)]),
        di=ModbusSequentialDataBlock(0, [i % 2 == 1 for i in range(1000)]),
        ir=ModbusSequentialDataBlock(0, [(i * 31) % 65536 for i in range(1000)]),
        hr=ModbusSequentialDataBlock(0, [(i * 7) % 65536 for i in range(1000)]),
        zero_mode=True,
    )


def sparse():
    return ModbusSlaveContext(
        hr=ModbusSparseDataBlock({i: 100 + i for i in [*range(10), *range(12, 20)]}),
        zero_mode=True,
    )


async def main():
    options = {
        "context": ModbusServerContext(slaves={1: full(), 2: sparse()}, single=False),
        "framer": ModbusSocketFramer if sys.argv[2] == "tcp" else ModbusRtuFramer,
        "ignore_missing_slaves": True,
    }
    if sys.argv[2] == "serial":  # without parity, which a pseudo terminal has not
        await StartAsyncSerialServer(port=sys.argv[1], baudrate=19200, **options)
        return
    await StartAsyncTcpServer(address=("127.0.0.1", int(sys.argv[1])), allow_reuse_address=True, **options)


delay = float(sys.argv[3]) / 1000 if len(sys.argv) > 3 else 0
asyncio.run(main())
