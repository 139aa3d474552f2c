/** A key's scopes: those of a preset, or exactly those that are ticked. */
import { Checkbox, Radio } from "@mantine/core";
import type { KeysQuery } from "../../api/documents.ts";
import classes from "./create-key.module.css";
import { SCOPES } from "./scopes.ts";
import type { Caller } from "./use-caller.ts";

export type Preset = NonNullable<KeysQuery["apiKeyPresets"]>[number];

const OWN = "own";

/** The safest first: what a key for a program usually is. */
export const inOrder = (presets: readonly Preset[]): Preset[] =>
  presets.toSorted((a, b) => rank(a) - rank(b) || a.scopes.length - b.scopes.length);
const rank = ({ id, scopes }: Preset): number => (id === "run-agent" ? 0 : scopes.includes("admin") ? 2 : 1);

type Props = {
  caller: Caller;
  presets: readonly Preset[];
  /** Undefined: `own` are the scopes. */
  preset: Preset | undefined;
  own: readonly string[];
  problem: string | undefined;
  onPreset: (preset: Preset | undefined) => void;
  onOwn: (scopes: string[]) => void;
};

export const KeyScopes = ({ caller, presets, preset, own, problem, onPreset, onOwn }: Props) => (
  <>
    <Radio.Group
      label="What it may do"
      value={preset?.id ?? OWN}
      onChange={(chosen) => onPreset(presets.find(({ id }) => id === chosen))}
    >
      <div className={classes["presets"]}>
        {presets.map(({ id, title }) => (
          <Radio key={id} value={id} label={title} />
        ))}
        <Radio value={OWN} label="Choose scopes" />
      </div>
      <p className="dim">{preset?.description ?? "Exactly what you tick."}</p>
    </Radio.Group>
    {!preset && (
      <Checkbox.Group label="Scopes" value={[...own]} onChange={onOwn} error={problem}>
        <div className={classes["scopes"]}>
          {SCOPES.filter(({ scope }) => caller.may(scope)).map(({ scope, does }) => (
            <Checkbox key={scope} value={scope} label={scope} description={does} />
          ))}
        </div>
      </Checkbox.Group>
    )}
  </>
);
