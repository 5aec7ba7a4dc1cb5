"""A TCP relay on loopback whose traffic can be held up: a network that is away for a while."""

import asyncio
import threading

from tests.waiting import free_port


class Relay:
    """Passes on what comes at `port` to another port of this machine, unless it is cut."""

    def __init__(self, to_port):
        self.port = free_port()
        self._to = to_port
        self._loop = asyncio.new_event_loop()
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(ready,), daemon=True)
        self._thread.start()
        ready.wait(10)

    def cut(self):
        """Hold everything up from now on."""
        self._loop.call_soon_threadsafe(self._open.clear)

    def mend(self):
        """Pass on what was held up, and all that follows."""
        self._loop.call_soon_threadsafe(self._open.set)

    def end(self):
        """End every connection, and take no new one."""

        def end():
            self._server.close()
            for writer in [*self._writers]:
                writer.transport.abort()

        self._loop.call_soon_threadsafe(end)

    def begin(self):
        """Take connections again after `end`."""
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(10)

    def close(self):
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)

    def _run(self, ready):
        asyncio.set_event_loop(self._loop)
        self._open = asyncio.Event()
        self._open.set()
        self._writers = set()
        self._loop.run_until_complete(self._listen())
        ready.set()
        self._loop.run_forever()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()

    async def _listen(self):
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)

    async def _accept(self, reader, writer):
        self._writers.add(writer)
        try:
            there_reader, there_writer = await asyncio.open_connection("127.0.0.1", self._to)
        except OSError:
            writer.close()
            return
        try:
            await asyncio.gather(self._pass_on(reader, there_writer), self._pass_on(there_reader, writer))
        finally:
            self._writers.discard(writer)

    async def _pass_on(self, reader, writer):
        try:
            while data := await reader.read(1 << 16):
                await self._open.wait()
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()
