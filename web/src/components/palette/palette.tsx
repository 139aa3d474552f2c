/** Go anywhere and run any agent, by a few letters. */
import { useState } from "react";
import { Modal } from "@mantine/core";
import { Command } from "cmdk";
import { useFocusBack } from "../../lib/use-focus-back.ts";
import { Icon } from "../icon.tsx";
import { Problem } from "../notice.tsx";
import classes from "./palette.module.css";
import { ON_THIS_PAGE, useGroups, type Group } from "./use-groups.ts";

const LONGEST_SENTENCE = 1_000;

/** The dialog's own focus comes a moment later, and letters typed until then would be lost. */
const focusAtOnce = (input: HTMLInputElement | null): void => input?.focus();

export function Palette({ onClose, onHelp }: { onClose: () => void; onHelp: () => void }) {
  useFocusBack();
  const [text, setText] = useState("");
  const { groups, isSearching, refusal } = useGroups(text.trim().slice(0, LONGEST_SENTENCE), onHelp);
  const [chosen, setChosen] = useState("");
  const keys = groups.flatMap(({ heading, items }) => items.map((_, index) => keyOf(heading, index)));
  // Enter alone cancels and approves nothing.
  const first = keys.find((key) => text !== "" || !key.startsWith(ON_THIS_PAGE)) ?? "";
  return (
    <Modal.Root opened onClose={onClose} centered={false}>
      <Modal.Overlay backgroundOpacity={0.4} />
      <Modal.Content aria-label="Search or run">
        <Command
          label="Search or run"
          className={classes["palette"]}
          loop
          // The results come from the server, and the first of them is chosen: cmdk leaves none chosen when the one that was is gone.
          shouldFilter={false}
          value={keys.includes(chosen) ? chosen : first}
          onValueChange={setChosen}
        >
          <Command.Input
            value={text}
            onValueChange={(value) => {
              setText(value);
              setChosen("");
            }}
            placeholder="Search or run…"
            className={classes["input"]}
            ref={focusAtOnce}
            data-autofocus
          />
          <Command.List className={classes["list"]}>
            {refusal && <Problem refusal={refusal} />}
            <Command.Empty className={classes["empty"]}>
              {isSearching ? "Searching…" : !refusal && "No match."}
            </Command.Empty>
            {groups.map((group) => (
              <CommandGroup
                key={group.heading}
                group={group}
                onSelect={(act) => {
                  onClose();
                  act();
                }}
              />
            ))}
          </Command.List>
        </Command>
      </Modal.Content>
    </Modal.Root>
  );
}

/** Commands change under the text while it is typed: a place in a group is what stays. */
const keyOf = (heading: string, index: number): string => `${heading} ${index}`;

type GroupProps = { group: Group; onSelect: (act: () => unknown) => void };

const CommandGroup = ({ group: { heading, items }, onSelect }: GroupProps) => (
  <Command.Group heading={heading} className={classes["group"]}>
    {items.map(({ id, word, shape, aside, act }, index) => (
      <Command.Item
        key={id ?? `${word} ${index}`}
        value={keyOf(heading, index)}
        className={classes["item"]}
        onSelect={() => onSelect(act)}
      >
        <Icon shape={shape} /> {word} {aside && <span className="dim">{aside}</span>}
      </Command.Item>
    ))}
  </Command.Group>
);
