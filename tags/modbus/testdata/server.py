"""A Modbus server for the tests: server.py PORT tcp|rtu

Unit 1 has all four tables, 1000 items each. Unit 2 has holding registers 0..9 and 12..19 only, so that
reading across 10 and 11 is refused. Other units give no answer, as behind a gateway.
"""
import asyncio
import sys

from pymodbus.datastore import (
    ModbusSequentialDataBlock,
    ModbusServerContext,
    ModbusSlaveContext,
    ModbusSparseDataBlock,
)
from pymodbus.server import StartAsyncTcpServer
from pymodbus.transaction import ModbusRtuFramer, ModbusSocketFramer


def full():
    return ModbusSlaveContext(
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
    await StartAsyncTcpServer(
        context=ModbusServerContext(slaves={1: full(), 2: sparse()}, single=False),
        address=("127.0.0.1", int(sys.argv[1])),
        framer=ModbusRtuFramer if sys.argv[2] == "rtu" else ModbusSocketFramer,
        ignore_missing_slaves=True,
        allow_reuse_address=True,
    )


asyncio.run(main())
