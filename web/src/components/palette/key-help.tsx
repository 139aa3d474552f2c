import { useState } from "react";
import { Kbd, Modal, Switch } from "@mantine/core";
import { useFocusBack } from "../../lib/use-focus-back.ts";
import { areSingleKeysOn, setSingleKeys } from "../../lib/use-keys.ts";
import { PLACES } from "../places.ts";
import { MOD } from "./mod.ts";
import classes from "./keys.module.css";

const KEYS: readonly (readonly [keys: string, what: string])[] = [
  [`${MOD} K`, "Search, go anywhere, run an agent, say in a sentence what to run, act on what is shown"],
  ...PLACES.map(({ key, word }) => [`g ${key}`, word] as const),
  ["j  k", "Next and previous, in a list"],
  ["Enter", "Open it"],
  ["x", "Select the run, with Shift all up to it"],
  ["f  /", "Filter the list"],
  ["a  r", "Approve, reject the open approval"],
  ["u", "Undo the decision"],
  ["←  →", "Fold and unfold a step"],
  [`${MOD} Enter`, "Read the sentence"],
  ["Esc", "Close the step"],
  ["?", "These keys"],
];

/** All keys, and the switch for those that are one character. */
export function KeyHelp({ onClose }: { onClose: () => void }) {
  useFocusBack();
  return (
    <Modal opened onClose={onClose} title="Keyboard shortcuts" closeButtonProps={{ "aria-label": "Close" }}>
      <SingleKeys />
      <dl className={classes["keys"]}>
        {KEYS.map(([keys, what]) => (
          <div key={keys}>
            <dt>
              {keys.split("  ").map((one) => (
                <Kbd key={one}>{one}</Kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Modal>
  );
}

function SingleKeys() {
  const [isOn, setIsOn] = useState(areSingleKeysOn);
  return (
    <Switch
      label="Single keys"
      description={`Off: only ${MOD} K, Enter, Esc and the arrows do something.`}
      mb="md"
      checked={isOn}
      onChange={({ currentTarget: { checked } }) => {
        setSingleKeys(checked);
        setIsOn(checked);
      }}
    />
  );
}
