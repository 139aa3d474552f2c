/** The official MCP server of 2026-07-28 over stdio, as a command: `reject` or `serve` says what it does with `initialize`. */
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { shop } from "./mcp-shop.ts";

serveStdio(shop, { legacy: process.argv[2] === "serve" ? "serve" : "reject" });
