// @ts-nocheck
// What Python leaves unsaid because it follows from the rest: a highlight should weigh little on the wire. Pure: no DOM.

const linked = (items = [], distance) => items.map((item, rank) => (rank ? { item } : { item, distance }));

/** `data` with the addresses of what the server keeps of the run (`kept`), and neighbours as {item, distance}. */
export function told({ kept = [], distance, ...data }) {
  const { api = "/api", run, view, begun } = data;
  const addresses = {
    watched: { watched_url: `${api}/runs/${run}/layout.json?${begun}` },
    nearest: { nearest_url: `${api}/runs/${run}/nearest.bin?${begun}` },
    values: { values: `${api}/runs/${run}/values/${view}/{name}.f32?${begun}` },
  };
  const query = data.query && { ...data.query, neighbours: linked(data.query.neighbours) };
  return Object.assign({}, ...kept.map((name) => addresses[name]), data, {
    neighbours: linked(data.neighbours, distance),
    query,
  });
}
