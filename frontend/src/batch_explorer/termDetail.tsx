// One comparison in full: its images, their distances, and the loss's formula with these numbers in it.
import { digits, sentence } from "../lib/format.ts";
import { tileStyle } from "../lib/sprites.ts";
import { css, type Rgb } from "../lib/theme.ts";
import { nameOf, type LoadedBatch, type Measure } from "./batch.ts";
import { DIFFICULTIES } from "./difficultyLegend.tsx";
import { mathml } from "./latexToMathml.ts";
import { figure, termsOf } from "./termFormula.ts";

const SYMBOLS = { euclidean: "d", sqeuclidean: "d^2", cosine: "s" };
const ROLES = { classes: [""], pairs: ["first", "second"], triplets: ["anchor", "positive", "negative"] };
const NOUNS = { pairs: "pair", triplets: "triplet", classes: "" }; // of classes there is one item, called by its noun
const TILE_PX = 42;

interface Props {
  batch: LoadedBatch;
  index: number;
  positive: Rgb;
  negative: Rgb;
}

/** A chosen comparison: its index. Where the batch has none, that is said. */
export function TermDetail({ batch, index, positive, negative }: Props) {
  const { rows, groups, tuples, sheet, images } = batch;
  if (!rows.length) return <p>There are no {tuples.kind} to compare in this batch.</p>;
  const row = rows[index];
  const colorOf = (k: number) => css(groups[row[k]] === groups[row[0]] ? positive : negative);
  return (
    <>
      <div class="who">
        {ROLES[tuples.kind].map((role, k) => (
          <figure title={`training ${batch.noun} ${images[row[k]]}`}>
            <span
              class="tile"
              style={{ ...tileStyle(sheet, row[k], TILE_PX), ...(k && { outlineColor: colorOf(k) }) }}
            />
            <figcaption>
              {role || batch.noun}
              <b>{nameOf(batch, row[k])}</b>
            </figcaption>
          </figure>
        ))}
      </div>
      <div class="said">
        <p>
          <strong>{`${sentence(DIFFICULTIES[batch.hardness[index]])} ${NOUNS[tuples.kind] || batch.noun}.`}</strong>
          <Distances {...{ batch, row }} />
        </p>
        <div class="formulas">
          <Terms {...{ batch, index }} />
        </div>
      </div>
    </>
  );
}

/** Each term with its numbers; the formula of the loss and the values where no formula of a term is declared. */
function Terms({ batch, index }: Pick<Props, "batch" | "index">) {
  const terms = termsOf(batch, index);
  const own = terms.flatMap(({ formulas }) => formulas);
  const notes = own.length ? terms.map(({ note }) => note).filter(Boolean) : [valuesOf(batch, index)];
  return (
    <>
      {(own.length ? own : [batch.loss_of.formula]).map((latex) => (
        <Formula latex={latex} />
      ))}
      {[...new Set(notes)].map((note) => (
        <p class="note">{note}</p>
      ))}
    </>
  );
}

/** The result, in a sentence. */
function valuesOf({ terms, termsError }: LoadedBatch, index: number): string {
  if (!terms) return termsError || "Computing the terms …";
  if (terms.reason) return terms.reason;
  const values = terms.terms[index].map(([value]) => digits(value));
  if (!values.length) return "The loss has no term for this comparison.";
  return `Here ${values.length === 1 ? "it comes" : "its terms come"} to ${values.join(" and ")}.`;
}

function Distances({ batch: b, row }: { batch: LoadedBatch; row: number[] }) {
  if (b.tuples.kind === "classes")
    return <> Class {`${b.classes[row[1]]}; the strongest other class is ${b.classes[row[2]]}.`}</>;
  // A loss that may choose its distance calls it d, one on the sphere speaks of cosines.
  const own = b.loss_of.params.distance as Measure | undefined;
  const measure = own ?? b.thresholds.measure;
  const symbol = own ? "d" : SYMBOLS[measure];
  return (
    <>
      {(b.tuples.kind === "pairs" ? [""] : ["_{ap}", "_{an}"]).map((suffix, k) => {
        const distance = b.space.distance(row[0], row[k + 1], measure);
        const value = figure(symbol === "s" ? 1 - distance : distance);
        return [" ", <Formula latex={`${symbol}${suffix} = ${value}`} as="span" />];
      })}
    </>
  );
}

/** A formula; a plug-in's LaTeX that is beyond this page is shown as it is written. */
function Formula({ latex, as: Tag = "div" }: { latex: string; as?: "div" | "span" }) {
  try {
    return <Tag class="formula" dangerouslySetInnerHTML={{ __html: mathml(latex) }} />; // everything in it is escaped
  } catch {
    return (
      <Tag class="formula">
        <code>{latex}</code>
      </Tag>
    );
  }
}
