// Waits for what the server does in the background.
import { LIVE_STATES, type WorkStatus } from "../protocol.ts";
import { fetchServer, refusal, ROUTES } from "./server.ts";

const RETRY_MS = 3000; // after an answer that did not come, and for work that has not begun yet

/** True of a state in which work waits or is under way. */
export const isLive = (state = ""): boolean => LIVE_STATES.includes(state);

/** Wait until a piece of work is over, or the server does not know it; return how it ended. */
export async function workOver(id: string): Promise<WorkStatus | null> {
  while (true) {
    const response = await fetchServer(`${ROUTES}/work/${id}?wait=1`).catch(() => null);
    const status = response?.ok ? ((await response.json()) as WorkStatus) : null;
    if (status && !status.live) return status;
    if (!status) await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    if (response && !status) return null;
  }
}

/** Stop a piece of work; raises the server's sentence where it goes on. */
export async function stopWork(id = ""): Promise<void> {
  const response = await fetchServer(`${ROUTES}/work/${id}`, { method: "DELETE" });
  if (!response.ok) throw await refusal(response, "The work");
}
