/** The contract does not depend on the embedded engine: one in which every process advances runs meets it too. */
import { describeEngine } from "./engine.testsuite.ts";
import { LeaseEngine } from "./leases.testsuite.ts";

describeEngine("lease", (options) => new LeaseEngine(options));
