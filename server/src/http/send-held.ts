/** Sends an answer that is counted as held until its reader has it. */
import type { OutgoingHttpHeaders } from "node:http";
import { PIECE_BYTES, type PieceWriter } from "./write-pieces.ts";
import { sendHead, sendText, type Exchange } from "./write-response.ts";

type Sent = { status: number; text: string; headers: OutgoingHttpHeaders | undefined };

/** Calls `sent` when the reader has the answer, or never will have it. */
export function sendHeld(
  writer: PieceWriter,
  exchange: Exchange,
  { status, text, headers }: Sent,
  sent: () => void,
): void {
  const { request, response } = exchange;
  if (text.length > PIECE_BYTES) {
    const bytes = Buffer.from(text);
    sendHead(exchange, status, bytes.length, headers);
    return void sendPieces(writer, exchange, bytes).then(sent);
  }
  sendText(exchange, status, text, headers);
  // Nearly always the kernel has already taken it.
  if (response.socket && request.socket.writableLength === 0) return sent();
  void writer.taken(request.socket, (done) => response.once("finish", done)).then(sent);
}

async function sendPieces(writer: PieceWriter, { request, response }: Exchange, bytes: Buffer): Promise<void> {
  const writePiece = (piece: Buffer, _isLast: boolean, done: (error?: Error | null) => void): void =>
    void response.write(piece, done);
  if (await writer.pieces(request.socket, bytes, writePiece)) response.end();
}
