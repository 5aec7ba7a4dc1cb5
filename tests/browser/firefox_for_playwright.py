#!/usr/bin/env python
"""Starts Firefox as Playwright wants it, with a proxy for WebDriver BiDi between both.

Playwright asks every page for media features, by a command that Firefox's ESR of today does not know yet and answers
with an error. The proxy says yes to it, and hands on everything else as it is.
"""

import asyncio
import json
import os
import re
import signal
import sys

from websockets.asyncio.client import connect
from websockets.asyncio.server import serve

UNKNOWN = "emulation.setMediaFeaturesOverride"
MAX_SIZE = 2**28  # bytes of a message: a screenshot


async def main() -> None:
    firefox = await asyncio.create_subprocess_exec(
        os.environ["DMLVIZ_FIREFOX"], *sys.argv[1:], stderr=asyncio.subprocess.PIPE, limit=MAX_SIZE
    )
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, firefox.terminate)
    endpoint = ""

    async def handle(playwright):
        async with connect(endpoint + playwright.request.path, max_size=MAX_SIZE) as browser:

            async def there() -> None:
                async for message in playwright:
                    asked = json.loads(message)
                    if asked["method"] == UNKNOWN:
                        await playwright.send(json.dumps({"type": "success", "id": asked["id"], "result": {}}))
                    else:
                        await browser.send(message)

            async def back() -> None:
                async for message in browser:
                    await playwright.send(message)

            ways = [asyncio.ensure_future(there()), asyncio.ensure_future(back())]
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)

    async with serve(handle, "127.0.0.1", 0, max_size=MAX_SIZE) as proxy:
        port = proxy.sockets[0].getsockname()[1]
        async for line in firefox.stderr:
            if found := re.search(rb"WebDriver BiDi listening on (ws://\S+)", line):
                endpoint = found[1].decode()
                line = f"WebDriver BiDi listening on ws://127.0.0.1:{port}\n".encode()
            sys.stderr.buffer.write(line)
            sys.stderr.buffer.flush()
        sys.exit(await firefox.wait())


asyncio.run(main())
