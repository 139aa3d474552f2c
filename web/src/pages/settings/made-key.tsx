import { Button } from "@mantine/core";
import { urlOf } from "../../api/base.ts";
import type { CreateKeyMutation } from "../../api/documents.ts";
import { ToCopy } from "../../components/to-copy.tsx";
import { dayText } from "../../lib/times.ts";
import { useFocusBack } from "../../lib/use-focus-back.ts";
import { useNow } from "../../lib/use-now.ts";
import { commandFor } from "./curl.ts";
import classes from "./settings.module.css";

type Made = NonNullable<CreateKeyMutation["createApiKey"]>;

/** The key itself, this once. */
export function MadeKey({ made, onClose }: { made: Made; onClose: () => void }) {
  useFocusBack();
  const now = useNow(undefined);
  const secret = made.secret!;
  const { does, text } = commandFor({ ...made, secret }, urlOf("graphql"), dayText(now));
  return (
    <section className={classes["once"]} aria-labelledby="made-key">
      <h2 id="made-key">Your key “{made.name}”</h2>
      <p role="status">Copy it now: it is shown only once.</p>
      <ToCopy text={secret} label="Copy the key" />
      <p>Try it in a shell. This {does}:</p>
      <ToCopy text={text} label="Copy the command" />
      <div className={classes["buttons"]}>
        <Button onClick={onClose}>Show all keys</Button>
      </div>
    </section>
  );
}
