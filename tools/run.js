// Stands before each npm script's command: installs, finds a new enough Node and builds, as far as needed.
import { main } from "./commands.js";

await main(process.argv.slice(2));
