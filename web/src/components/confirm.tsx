import { useState, type ReactNode, type SubmitEvent } from "react";
import { Button, Modal, TextInput } from "@mantine/core";
import { useAct } from "../api/use-act.ts";
import { useFocusBack } from "../lib/use-focus-back.ts";
import classes from "./confirm.module.css";
import { Problem } from "./notice.tsx";

type Props = {
  title: string;
  /** The button's label: `Revoke key`. */
  verb: string;
  /** The text that must be typed first, where nothing can bring it back. */
  typed?: string;
  /** Throws Refusal, which is shown. */
  act: () => Promise<unknown>;
  onClose: () => void;
  /** The consequences. */
  children: ReactNode;
};

/** Asks before something that ends something. */
export function Confirm({ title, verb, typed, act, onClose: close, children }: Props) {
  const { act: doIt, isBusy, refusal } = useAct();
  const onClose = (): void => {
    if (!isBusy) close();
  };
  useFocusBack();
  const [text, setText] = useState("");
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    if (!isBusy && (await doIt(act))) onClose();
  };
  return (
    <Modal opened onClose={onClose} title={title} closeButtonProps={{ "aria-label": "Close" }}>
      <form className={classes["body"]} onSubmit={(event) => void submit(event)}>
        {refusal && <Problem refusal={refusal} />}
        {children}
        {typed !== undefined && (
          <TextInput
            label={
              <>
                Type <code>{typed}</code> to go on
              </>
            }
            value={text}
            autoComplete="off"
            spellCheck={false}
            data-autofocus
            onChange={(event) => setText(event.currentTarget.value)}
          />
        )}
        <div className={classes["buttons"]}>
          <Button variant="default" onClick={onClose} data-autofocus={typed === undefined ? true : undefined}>
            Cancel
          </Button>
          <Button type="submit" color="red" loading={isBusy} disabled={typed !== undefined && text !== typed}>
            {verb}
          </Button>
        </div>
      </form>
    </Modal>
  );
}
