// @ts-nocheck
// What a map needs to know before the first frame: labels, which items are watched, nearest neighbours.

const cache = new Map();
const watchedAt = new Map(); // by address; a run that has begun watches the same items to its end

/** Fetch once a page. */
function bytes(url) {
  if (!cache.has(url)) {
    const wait = fetch(url).then((response) => {
      if (!response.ok) throw new Error(`${url}: the server answered ${response.status}`);
      return response.arrayBuffer();
    });
    wait.catch(() => cache.delete(url));
    cache.set(url, wait);
  }
  return cache.get(url);
}

/** Labels, a byte an item. */
export async function loadLabels(data) {
  if (Array.isArray(data.labels)) return Uint8Array.from(data.labels);
  return new Uint8Array(await bytes(data.labels_url));
}

/**
 * Watched items: a list, or an address of JSON (the list, or an object with `watched`) or of int32. Null when
 * they are not known (yet).
 */
export async function loadWatched(data) {
  if (Array.isArray(data.watched)) return Int32Array.from(data.watched);
  if (!data.watched_url) return null;
  if (watchedAt.has(data.watched_url)) return watchedAt.get(data.watched_url);
  const response = await fetch(data.watched_url, { cache: "no-store" }); // not known before the run starts
  if (!response.ok) throw new Error(`${data.watched_url}: the server answered ${response.status}`);
  const watched = itemsOf(await response.arrayBuffer());
  if (watched) watchedAt.set(data.watched_url, watched);
  return watched;
}

function itemsOf(buffer) {
  const first = new TextDecoder().decode(buffer.slice(0, 1));
  if (first !== "{" && first !== "[") return new Int32Array(buffer);
  const json = JSON.parse(new TextDecoder().decode(buffer));
  const watched = Array.isArray(json) ? json : json.watched;
  return watched && Int32Array.from(watched);
}

/** Nearest neighbour of every item in the embedding: int32 items, then float32 distances. Null when not known. */
export async function loadNearest(data, n) {
  if (!data.nearest_url) return null;
  const buffer = await bytes(data.nearest_url);
  if (!buffer.byteLength) return null;
  return { items: new Int32Array(buffer, 0, n), distances: new Float32Array(buffer, 4 * n, n) };
}

/** Title and caution of every projection, by name. */
export async function loadMethods(api) {
  return JSON.parse(new TextDecoder().decode(await bytes(`${api}/methods.json`)));
}

/** A number for each of `n` items, NaN where there is none. */
export async function loadNumbers(url, n) {
  return new Float32Array(await bytes(url), 0, n);
}
