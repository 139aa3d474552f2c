/** A client in a process of its own, so that neither its CPU nor its memory is the server's: it does one command after the other. */
import { fork } from "node:child_process";
import { once } from "node:events";

export type Client<Commands, Answers extends Record<keyof Commands, object>> = {
  send<Name extends keyof Commands>(name: Name, command: Commands[Name]): Promise<Answers[Name]>;
} & AsyncDisposable;

type Asked = { name: string; command: never };
type Answered = { answer?: object; error?: string };

/** Starts a file that calls `serveCommands`. */
export function startClient<Commands, Answers extends Record<keyof Commands, object>>(
  file: string,
): Client<Commands, Answers> {
  const child = fork(file, { stdio: ["ignore", "inherit", "inherit", "ipc"], serialization: "advanced" });
  const ended = once(child, "exit");
  let waiting: ((answered: Answered) => void) | undefined;
  child.on("message", (answered: Answered) => waiting?.(answered));
  child.once("exit", () => waiting?.({ error: "the process ended" }));
  return {
    async send(name, command) {
      const { answer, error } = await new Promise<Answered>((resolve) => {
        waiting = resolve;
        child.send({ name, command });
      });
      if (!answer) throw new Error(`${file}: ${error}`);
      return answer as Answers[typeof name];
    },
    async [Symbol.asyncDispose]() {
      if (child.connected) child.disconnect();
      await ended;
    },
  };
}

/** In that process. */
export function serveCommands(commands: Record<string, (command: never) => Promise<object>>): void {
  process.once("disconnect", () => process.exit());
  process.on("message", ({ name, command }: Asked) => {
    commands[name]!(command).then(
      (answer) => process.send!({ answer }),
      (error: unknown) => process.send!({ error: String(error) }),
    );
  });
}
