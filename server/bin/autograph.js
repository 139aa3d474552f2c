#!/usr/bin/env node
import { main } from "../../tools/commands.js";

await main(["cli", ...process.argv.slice(2)]);
