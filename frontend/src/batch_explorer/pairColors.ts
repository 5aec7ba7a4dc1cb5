// The colors of what should be near and of what should be far.
import type { Rgb } from "../lib/theme.ts";

type Themed = Record<"light" | "dark", Rgb>;

export const POSITIVE_COLOR: Themed = { light: [31, 138, 124], dark: [62, 190, 172] };
export const NEGATIVE_COLOR: Themed = { light: [201, 62, 85], dark: [240, 110, 128] };
