// Keeps the files of a site, so that it works offline after a first visit. Python writes SITE before it.
declare const SITE: { version: string; files: string[] };

interface Lifetime extends Event {
  waitUntil(done: Promise<unknown>): void;
}
interface Request_ extends Lifetime {
  request: Request;
  respondWith(answer: Promise<Response>): void;
}

const site = `dmlviz-${SITE.version}`;

addEventListener("install", (event) =>
  (event as Lifetime).waitUntil(caches.open(site).then((cache) => cache.addAll(["./", ...SITE.files]))),
);

addEventListener("activate", (event) =>
  (event as Lifetime).waitUntil(
    caches
      .keys()
      .then((names) =>
        Promise.all(
          names.filter((name) => name.startsWith("dmlviz-") && name !== site).map((name) => caches.delete(name)),
        ),
      ),
  ),
);

addEventListener("fetch", (event) => {
  const { request } = event as Request_;
  if (request.method !== "GET") return;
  const known = caches.match(request, { ignoreSearch: true });
  // eslint-disable-next-line no-restricted-globals -- to the site itself, as the browser would
  (event as Request_).respondWith(known.then((kept) => kept ?? fetch(request)));
});
