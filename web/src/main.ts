import { watchSetupLink } from "./pages/setup.ts";
import { showStart } from "./pages/start.ts";

showStart();
watchSetupLink();
