import { useState } from "react";
import { useAct } from "../../api/use-act.ts";

/** Asks a model when told to, and keeps what came of it until it is asked again. `ask` throws Refusal. */
export function useTest<Test>(ask: () => Promise<Test>) {
  const [test, setTest] = useState<Test>();
  const { act, isBusy, refusal } = useAct();
  const run = (): void => {
    setTest(undefined);
    void act(async () => setTest(await ask()));
  };
  return { run, test, isBusy, refusal };
}
