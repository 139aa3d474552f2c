/** The server's version, written in by the build (vite.config.ts). */
declare const __VERSION__: string;
