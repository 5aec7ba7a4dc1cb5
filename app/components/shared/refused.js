/** The error of an answer that is none: the server's own sentence where it gave one, otherwise its number. */
export async function refused(response, what) {
  const said = await Promise.resolve(response.json?.()).catch(() => null);
  return new Error(said?.error ?? `${what}: the server answered ${response.status}`);
}
