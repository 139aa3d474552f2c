/**
 * The server's part of `node:http`. An `import` of that module reads all its exports, and thereby loads a client that nobody here uses: 25 ms of
 * processor time at each start.
 */
export const { createServer, STATUS_CODES } = process.getBuiltinModule("node:http");
