// Formulas: the LaTeX that the declarations are written in, and that terms fill with numbers, as MathML.

/** The pieces of a formula, and which comes next. */
interface Reader {
  tokens: string[];
  at: number;
}

const SIGNS: Record<string, string> = {
  alpha: "α",
  beta: "β",
  gamma: "γ",
  delta: "δ",
  epsilon: "ε",
  eta: "η",
  theta: "θ",
  kappa: "κ",
  lambda: "λ",
  mu: "μ",
  nu: "ν",
  xi: "ξ",
  pi: "π",
  rho: "ρ",
  sigma: "σ",
  tau: "τ",
  phi: "φ",
  chi: "χ",
  psi: "ψ",
  omega: "ω",
  cdot: "·",
  cdots: "⋯",
  ldots: "…",
  in: "∈",
  ne: "≠",
  pm: "±",
  oplus: "⊕",
  int: "∫",
  notin: "∉",
  times: "×",
  infty: "∞",
  le: "≤",
  ge: "≥",
  to: "→",
  "|": "‖",
  lVert: "‖",
  rVert: "‖",
  "{": "{",
  "}": "}",
  approx: "≈",
  top: "⊤",
  lfloor: "⌊",
  rfloor: "⌋",
};
const WORDS = new Set(["tanh", "log", "max", "min", "cos", "sin", "tan", "exp", "sum"]);
const SPACES: Record<string, number> = { ",": 0.17, ";": 0.28, "!": 0, " ": 0.3, quad: 1, qquad: 1.6 };
const SIZES = new Set(["big", "Big", "bigl", "bigr", "Bigl", "Bigr", "left", "right"]);
const ACCENTS: Record<string, string> = { bar: "¯", hat: "^", overline: "¯", tilde: "˜" };

/** MathML (as text) of a formula in the LaTeX of the declarations; raises Error for a command it does not know. */
export function mathml(latex: string, display = false): string {
  const tokens = latex.match(/\\(?:text|mathrm)\{[^}]*\}|\\[A-Za-z]+|\\.|[0-9]+(?:\.[0-9]+)?|\s+|./gsu) ?? [];
  const reader = { tokens: tokens.filter((token) => token.trim() || token === "\\ "), at: 0 };
  const inside = series(reader, null);
  return `<math${display ? ' display="block"' : ""}><mrow>${inside}</mrow></math>`;
}

function series(reader: Reader, end: string | null): string {
  let markup = "";
  while (reader.at < reader.tokens.length) {
    if (reader.tokens[reader.at] === end) {
      reader.at += 1;
      return markup;
    }
    markup += withScripts(reader);
  }
  if (end) throw new Error(`a formula lacks a ${end}`);
  return markup;
}

function withScripts(reader: Reader): string {
  const base = atom(reader);
  let sub: string | null = null;
  let sup: string | null = null;
  for (;;) {
    const sign = reader.tokens[reader.at];
    if (sign === "_" && sub === null) {
      reader.at += 1;
      sub = atom(reader);
    } else if (sign === "^" && sup === null) {
      reader.at += 1;
      sup = atom(reader);
    } else break;
  }
  if (sub !== null && sup !== null) return `<msubsup>${base}${sub}${sup}</msubsup>`;
  if (sub !== null) return `<msub>${base}${sub}</msub>`;
  return sup !== null ? `<msup>${base}${sup}</msup>` : base;
}

function atom(reader: Reader): string {
  const token = reader.tokens[reader.at++];
  if (token === undefined) return "<mrow></mrow>";
  if (token === "{") return `<mrow>${series(reader, "}")}</mrow>`;
  if (token === "'") return "<mo>′</mo>";
  if (!token.startsWith("\\")) return toText(token);
  if (token.endsWith("}") && token.length > 2)
    return `<mtext>${toWords(token.slice(token.indexOf("{") + 1, -1))}</mtext>`;
  const name = token.slice(1);
  if (name in SPACES) return `<mspace width="${SPACES[name]}em"></mspace>`;
  if (SIZES.has(name)) return atom(reader);
  if (name === "frac" || name === "tfrac") return `<mfrac>${argument(reader)}${argument(reader)}</mfrac>`;
  if (name === "sqrt") return `<msqrt>${argument(reader)}</msqrt>`;
  if (name in ACCENTS) return `<mover accent="true">${atom(reader)}<mo>${ACCENTS[name]}</mo></mover>`;
  if (name === "sum") return '<mo movablelimits="false">∑</mo>';
  if (WORDS.has(name)) return `<mi>${name}</mi>`;
  if (name in SIGNS) return /[α-ω]/u.test(SIGNS[name]) ? `<mi>${SIGNS[name]}</mi>` : `<mo>${SIGNS[name]}</mo>`;
  throw new Error(`a formula has an unknown \\${name}`);
}

/** The argument of a command: a group, or one sign; of a number only its first digit. */
function argument(reader: Reader): string {
  const token = reader.tokens[reader.at];
  if (/^[0-9]./.test(token)) reader.tokens.splice(reader.at, 1, token[0], token.slice(1));
  return atom(reader);
}

function toText(token: string): string {
  if (/^[0-9]/.test(token)) return `<mn>${token}</mn>`;
  if (/^\p{L}$/u.test(token)) return `<mi>${token}</mi>`;
  if (token === "°") return '<mi mathvariant="normal">°</mi>';
  if (token === "-") return "<mo>−</mo>";
  const safe = ESCAPED[token] ?? token;
  return /^[()[\]|]$/.test(token) ? `<mo stretchy="false">${safe}</mo>` : `<mo>${safe}</mo>`;
}

const ESCAPED: Record<string, string> = { "<": "&lt;", ">": "&gt;", "&": "&amp;" };

const toWords = (text: string): string => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/^ | $/g, "\u00a0");
