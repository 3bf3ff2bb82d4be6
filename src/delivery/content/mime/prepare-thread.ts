/** The thread that prepares large contents, one after another (see `prepare-pool.ts`). */
import { parentPort } from 'node:worker_threads';
import {
  type EmailContent,
  prepareContent,
  type SharedSignatureInput,
  type TokenContent,
} from './message.ts';
import { type PreparedWhole, prepareWhole, type WholeContent } from './whole.ts';

/** An email, or a letter. */
export type PrepareJob = EmailContent | WholeContent;

/** What the thread returns for one content: for a letter, what it prepared. */
export type ThreadReply =
  | {
      smtpUtf8: boolean;
      opening: string;
      remainder: Uint8Array;
      signed: SharedSignatureInput;
      tracked: TokenContent | null;
    }
  | PreparedWhole
  | { error: string };

function prepared(content: PrepareJob): ThreadReply {
  try {
    if ('letter' in content) return prepareWhole(content);
    const { smtpUtf8, opening, remainder, signed, tracked } = prepareContent(content);
    return { smtpUtf8, opening, remainder: new Uint8Array(remainder), signed: signed(), tracked };
  } catch (error) {
    return { error: (error as Error).message };
  }
}

parentPort?.on('message', (content: PrepareJob) => {
  const reply = prepared(content);
  parentPort?.postMessage(reply, 'remainder' in reply ? [reply.remainder.buffer as ArrayBuffer] : []);
});
parentPort?.postMessage('ready');
