// @ts-nocheck
// Building elements without a framework.

/** An element with a class and a text; null leaves either out. */
export function element(tag, className = null, text = null) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== null) made.textContent = text;
  return made;
}
