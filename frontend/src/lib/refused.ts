// Answers of the server that are none.

/** The error of such an answer: the server's own sentence where it gave one, otherwise its number. */
export async function refused(response: Response, what: string): Promise<Error> {
  const said = (await Promise.resolve(response.json?.()).catch(() => null)) as { error?: string } | null;
  return new Error(said?.error ?? `${what}: the server answered ${response.status}`);
}
