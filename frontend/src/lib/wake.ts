// Says when the computer was asleep, or is in a network again: what was connected before may be dead without a word.

const LOOK_MS = 1000;
const ASLEEP_MS = 4000; // a gap between two looks that no busy page makes

/** Call `act` whenever the page comes back from a sleep or gets a network; the arguments stand in for the browser's. */
export function onWake(
  act: () => void,
  {
    onOnline = (listener: () => void) => globalThis.addEventListener("online", listener),
    setInterval = globalThis.setInterval as (look: () => void, wait: number) => unknown,
    now = () => Date.now(),
    hidden = () => globalThis.document.hidden, // a browser lets a hidden page look once a minute
  } = {},
): void {
  let last = now();
  onOnline(act);
  setInterval(() => {
    if (hidden()) return;
    const gap = now() - last;
    last = now();
    if (gap > ASLEEP_MS) act();
  }, LOOK_MS);
}
