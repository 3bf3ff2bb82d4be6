/** The thread that decodes large files, one request after another. */
import { parentPort } from 'node:worker_threads';
import { type DecodedFile, decodeFile, type EncodedFile } from './decode.ts';

export interface DecodeJob {
  files: EncodedFile[];
  blocked: ReadonlySet<string>;
}

export interface DecodeReply {
  files: DecodedFile[];
}

async function decode({ files, blocked }: DecodeJob): Promise<void> {
  const decoded: DecodedFile[] = [];
  for (const file of files) decoded.push(await decodeFile(file, blocked));
  const moved = decoded.map(({ folded }) => folded.buffer);
  parentPort?.postMessage({ files: decoded } satisfies DecodeReply, moved);
}

parentPort?.on('message', (job: DecodeJob) => void decode(job));
parentPort?.postMessage('ready');
