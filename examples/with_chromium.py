"""A shop whose pages are made by JavaScript, read through headless Chromium. SHOP_URL says where it is.

One browser a worker, spoken to over a pair of pipes (its DevTools protocol): nothing but Chromium has to be installed.
It ends with its worker, since its pipe does. Redirects, and what is no HTML, come as they are; of HTML the page is read
as it stands when nothing has been loaded for half a second. What a page loads besides is the browser's own affair:
limpet neither counts nor slows that down, and does not look where it comes from.
"""

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import tempfile
import time

from limpet import FetchFailed, Page, Record, Request, Response, Site

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome") or "chromium"
OPTIONS = [
    "--headless", "--disable-gpu", "--disable-extensions", "--disable-background-networking", "--disable-sync",
    "--disable-component-update", "--disable-dev-shm-usage", "--no-first-run", "--mute-audio",
    "--remote-debugging-pipe",
]  # fmt: skip
ITS_OWN = ("accept", "accept-encoding", "connection")  # headers that a browser chooses itself


class Chromium:
    """A transport: `fetch` for limpet, and a browser in which each page gets a tab of its own."""

    def __init__(self):
        self.browser = self.profile = None

    def fetch(self, request: Request, deadline: float) -> Response:
        if request.method != "GET":
            raise FetchFailed("this browser only sends a GET", host=False, final=True)
        self.until = time.monotonic() + deadline
        if self.has_ended():
            self.close()
            self.start()
        tab = self.call("Target.createTarget", url="about:blank")["targetId"]
        try:
            return self.visit(request, tab)
        finally:
            self.send("Target.closeTarget", targetId=tab)

    def visit(self, request, tab):
        self.tab, self.main, self.idle = tab, None, set()
        self.session = self.call("Target.attachToTarget", targetId=tab, flatten=True)["sessionId"]
        headers = {name: value for name, value in request.headers.items() if name.lower() not in ITS_OWN}
        document = {"resourceType": "Document", "requestStage": "Response"}
        self.ask("Network.setUserAgentOverride", userAgent=headers.pop("User-Agent", ""))
        self.ask("Network.enable")
        self.ask("Network.setExtraHTTPHeaders", headers=headers)
        self.ask("Fetch.enable", patterns=[document])
        self.ask("Page.enable")
        self.ask("Page.setLifecycleEventsEnabled", enabled=True)
        load = self.ask("Page.navigate", url=request.url)
        if self.main is None:
            raise ConnectionError(load.get("errorText", "no answer"))
        status, headers, body = self.main
        if body is None:
            self.pump_until(lambda: load["loaderId"] in self.idle)
            found = self.ask("Runtime.evaluate", expression="document.documentElement.outerHTML")
            body, headers["content-type"] = found["result"]["value"].encode(), "text/html; charset=utf-8"
        return Response(request.url, status, headers, body)

    def heard(self, event, about):
        """An event of the browser: the page's own answer, before it is shown, and the end of its loading."""
        if event == "Page.lifecycleEvent" and about["name"] == "networkIdle":
            self.idle.add(about["loaderId"])
        if event != "Fetch.requestPaused":
            return
        paused = {"requestId": about["requestId"]}
        if about["frameId"] != self.tab or "responseStatusCode" not in about:
            self.send("Fetch.continueRequest", self.session, **paused)
            return
        headers = {each["name"].lower(): each["value"] for each in about["responseHeaders"]}
        body = None
        if about["responseStatusCode"] in (301, 302, 303, 307, 308):
            body = b""
        elif "html" not in headers.get("content-type", "html"):
            body = self.ask("Fetch.getResponseBody", **paused)
            body = base64.b64decode(body["body"]) if body["base64Encoded"] else body["body"].encode()
        self.main = about["responseStatusCode"], headers, body
        if body is None:
            self.send("Fetch.continueRequest", self.session, **paused)
        else:
            self.send("Fetch.failRequest", self.session, errorReason="Aborted", **paused)

    # -- the protocol: JSON objects with a NUL behind each

    def ask(self, method, **params):
        return self.call(method, self.session, **params)

    def call(self, method, session=None, **params):
        number = self.send(method, session, **params)
        self.pump_until(lambda: number in self.answers)
        answer = self.answers.pop(number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def send(self, method, session=None, **params):
        self.sent += 1
        message = {"id": self.sent, "method": method, "params": params}
        os.write(self.out, json.dumps(message | ({"sessionId": session} if session else {})).encode() + b"\0")
        return self.sent

    def pump_until(self, done):
        while not done():
            while b"\0" not in self.unread:
                if not select.select([self.into], [], [], max(0.0, self.until - time.monotonic()))[0]:
                    raise TimeoutError("the browser is not done with the page")
                if not (data := os.read(self.into, 1 << 20)):
                    raise ConnectionError("the browser has ended")
                self.unread += data
            text, self.unread = self.unread.split(b"\0", 1)
            message = json.loads(text)
            if "id" in message:
                self.answers[message["id"]] = message
            else:
                self.heard(message["method"], message["params"])

    # -- the process

    def start(self):
        self.profile = tempfile.TemporaryDirectory(prefix="limpet-chromium-", ignore_cleanup_errors=True)
        options = [*OPTIONS, f"--user-data-dir={self.profile.name}"]
        if os.getuid() == 0:
            options.append("--no-sandbox")  # Chromium refuses to run as root with one
        reads, self.out = _pipe()
        self.into, writes = _pipe()
        pipes = [(os.POSIX_SPAWN_DUP2, reads, 3), (os.POSIX_SPAWN_DUP2, writes, 4)]
        quiet = [(os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)]
        command = [CHROMIUM, *options, "about:blank"]
        self.browser = os.posix_spawnp(CHROMIUM, command, os.environ, file_actions=pipes + quiet)
        os.close(reads)
        os.close(writes)
        self.unread, self.answers, self.sent = b"", {}, 0

    def has_ended(self):
        if self.browser and os.waitpid(self.browser, os.WNOHANG) != (0, 0):
            self.browser = None
        return self.browser is None

    def close(self):
        if not self.profile:
            return
        os.close(self.out)  # that ends it
        os.close(self.into)
        until = time.monotonic() + 5
        while not self.has_ended():
            if time.monotonic() > until:
                os.kill(self.browser, signal.SIGKILL)
            time.sleep(0.02)
        self.profile.cleanup()
        self.profile = None


def _pipe():
    """A pipe whose ends are not 3 or 4: those are the browser's."""
    ends = os.pipe()
    moved = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends]
    for end in ends:
        os.close(end)
    return moved


site = Site("with-chromium", seeds=[os.environ.get("SHOP_URL", "http://127.0.0.1:8000/")], transport=Chromium)


@site.page("/")
def listing(page: Page):
    yield from page.links("a.product")


@site.page("/product/{n}")
def product(page: Page):
    yield Record("product", key=page.params["n"], data={"name": page.one("h1"), "price": page.one(".price")})
