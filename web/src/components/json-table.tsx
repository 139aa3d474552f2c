import { ExactNumber } from "../lib/exact-number.ts";
import { showInvisible, showInvisibleInJson } from "../lib/invisible.ts";
import { isObject, type Json } from "../lib/json.ts";
import classes from "./json-table.module.css";
import { LongText } from "./long-text.tsx";

/** Deeper, and with more in it, JSON is easier to read as it is. */
const DEEPEST = 3;
const MOST = 50;

/**
 * An object as lines of names and values, those within it as well; anything else as JSON. People decide by what they read here: so
 * characters that nobody sees are shown.
 */
export function JsonTable({ value, depth = 1 }: { value: unknown; depth?: number }) {
  const json = value as Json;
  const entries = isObject(json) ? Object.entries(json) : undefined;
  if (!entries || entries.length > MOST) return <JsonText value={json} label="value" />;
  if (entries.length === 0) return <p className="dim">Nothing.</p>;
  return (
    <dl className={classes["table"]}>
      {entries.map(([name, one]) => (
        <div key={name}>
          <dt>{showInvisible(name)}</dt>
          <dd>
            <Value value={one} label={name} depth={depth} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Value({ value, label, depth }: { value: Json; label: string; depth: number }) {
  if (typeof value !== "object" || value instanceof ExactNumber)
    return <LongText text={String(value)} written={showInvisible} />;
  if (value === null) return <span className="dim">null</span>;
  if (isObject(value) && depth < DEEPEST) return <JsonTable value={value} depth={depth + 1} />;
  if (Array.isArray(value) && value.length > 0 && value.length <= MOST && value.every(isPlain))
    return showInvisible(value.join(", "));
  return <JsonText value={value} label={label} />;
}

/** Can stand in a list with commas. */
const isPlain = (value: Json): boolean =>
  typeof value === "number" ||
  value instanceof ExactNumber ||
  (typeof value === "string" && value !== "" && !value.includes(","));

/** As long as it is, it scrolls: so the keyboard must reach it. */
const JsonText = ({ value, label }: { value: Json; label: string }) => (
  // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- see above
  <pre className={classes["json"]} tabIndex={0} aria-label={label}>
    <LongText text={JSON.stringify(value, null, 2)} written={showInvisibleInJson} />
  </pre>
);
