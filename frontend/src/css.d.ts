/** A style sheet is imported as its text; see build.mjs. */
declare module "*.css" {
  const text: string;
  export default text;
}
