import type { Language } from "./pages/agent/completion/language.ts";

declare global {
  /** The server's version, written in by the build (vite.config.ts). */
  const __VERSION__: string;

  /** The language of definitions, written in by the build (language.ts). */
  const __LANGUAGE__: Language;
}
