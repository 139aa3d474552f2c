/**
 * A pooler in transaction mode on loopback, as small as one can be: each transaction of a client goes to the next of its
 * backends that is free. It lets everybody in and speaks the simple and the extended protocol.
 */
import { once } from "node:events";
import net from "node:net";
import pg from "pg";

type Backend = { socket: net.Socket; client: pg.Client; take: ((message: Buffer) => void) | undefined };

const READY_FOR_QUERY = 0x5a;
const IDLE = 0x49;
const SSL_REQUEST = 80_877_103;

export type Pooler = { url: string } & AsyncDisposable;

/** `mostRecent`: the backend that was freed last is given first, as PgBouncer does; otherwise the one that waited longest. */
export async function startPooler(databaseUrl: string, backends: number, mostRecent = true): Promise<Pooler> {
  const free = await Promise.all(Array.from({ length: backends }, () => openBackend(databaseUrl)));
  const all = [...free];
  const waiting: ((backend: Backend) => void)[] = [];
  const acquire = async (): Promise<Backend> => {
    const backend = mostRecent ? free.pop() : free.shift();
    return backend ?? new Promise((resolve) => waiting.push(resolve));
  };
  const release = (backend: Backend): void => {
    backend.take = undefined;
    const next = waiting.shift();
    if (next) next(backend);
    else free.push(backend);
  };
  const clients = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    clients.add(socket);
    socket.on("error", () => {});
    void serve(socket, acquire, release);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const url = new URL(databaseUrl);
  url.port = String((server.address() as net.AddressInfo).port);
  return {
    url: url.href,
    async [Symbol.asyncDispose]() {
      for (const socket of clients) socket.destroy();
      server.close();
      await Promise.all(all.map((backend) => backend.client.end()));
    },
  };
}

/** Signs in by node-postgres, then takes its socket over. */
async function openBackend(databaseUrl: string): Promise<Backend> {
  const client = new pg.Client(databaseUrl);
  client.on("error", () => {});
  await client.connect();
  const { stream: socket } = (client as unknown as { connection: { stream: net.Socket } }).connection;
  socket.removeAllListeners("data");
  const backend: Backend = { socket, client, take: undefined };
  onMessages(socket, (message) => backend.take?.(message));
  return backend;
}

async function serve(
  client: net.Socket,
  acquire: () => Promise<Backend>,
  release: (backend: Backend) => void,
): Promise<void> {
  let backend: Backend | undefined;
  let signedIn = false;
  let queue = Promise.resolve();
  const forward = async (message: Buffer): Promise<void> => {
    if (message[0] === 0x58 /* Terminate */) return void client.end();
    backend ??= await acquire();
    const mine = backend;
    mine.take = (answer) => {
      client.write(answer);
      if (answer[0] !== READY_FOR_QUERY || answer[5] !== IDLE) return;
      backend = undefined;
      release(mine);
    };
    mine.socket.write(message);
  };
  onMessages(
    client,
    (message) => {
      queue = queue.then(() => forward(message));
    },
    (startup) => {
      if (startup.readInt32BE(4) === SSL_REQUEST) return void client.write("N");
      signedIn = true;
      client.write(welcome());
    },
    () => signedIn,
  );
  client.on("close", () => {
    if (!backend) return;
    const mine = backend;
    // A transaction that its client left open is rolled back before the backend goes back.
    mine.take = (answer) => answer[0] === READY_FOR_QUERY && release(mine);
    mine.socket.write(message("Q", Buffer.from("rollback\0")));
  });
}

/** Cuts the stream into protocol messages: a type byte and a length; only the start-up message has no type. */
function onMessages(
  socket: net.Socket,
  take: (message: Buffer) => void,
  takeStartup: (message: Buffer) => void = () => {},
  isSignedIn: () => boolean = () => true,
): void {
  let pending = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    pending = Buffer.concat([pending, chunk]);
    for (;;) {
      const header = isSignedIn() ? 1 : 0;
      if (pending.length < header + 4) return;
      const length = pending.readInt32BE(header) + header;
      if (pending.length < length) return;
      const whole = pending.subarray(0, length);
      pending = pending.subarray(length);
      if (header === 0) takeStartup(whole);
      else take(whole);
    }
  });
}

function message(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

/** AuthenticationOk, the parameter that node-postgres reads, BackendKeyData, ReadyForQuery. */
const welcome = (): Buffer =>
  Buffer.concat([
    message("R", Buffer.alloc(4)),
    message("S", Buffer.from("server_version\x0018.4\0")),
    message("K", Buffer.alloc(8)),
    message("Z", Buffer.from("I")),
  ]);
