import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { createDkimSigner } from '../../src/delivery/content/dkim/sign.ts';
import { createEmailChannel } from '../../src/delivery/sender/email/hand-over.ts';
import type { BatchMessage } from '../../src/delivery/ledger/intend/batch.ts';
import type { LetterFile } from '../../src/delivery/terms/letter.ts';
import { type EmailProvider, isLetter } from '../../src/delivery/wire/adapters/port.ts';
import { type BlobStore, newBlobKey } from '../../src/platform/storage/blob-store.ts';
import { foldedStore } from '../../src/platform/storage/folded.ts';
import { createHomeStore } from '../../src/platform/storage/local-disk.ts';
import { createKeyring } from '../../src/platform/secrets/keyring.ts';
import { messageOf } from './compose.ts';
import { rounded } from './machine.ts';
import { repeatRuns } from './runs.ts';
import { generateKeys } from './signatures.ts';

export interface LettersBenchOptions {
  runs: number;
  messages: number;
  fileKb: number;
}

/** The bytes of files in a batch are bounded, so that few large files leave together. */
const BATCH_SIZE = 10;
const keyring = createKeyring('a secret of the benchmark that is long enough');

/** A provider that reads each letter to its end. */
function readingProvider(): EmailProvider & { bytes: number } {
  const provider: EmailProvider & { bytes: number } = {
    name: 'reading',
    concurrency: 1,
    bytes: 0,
    async handOver(batch) {
      for (const mail of batch) {
        if (!isLetter(mail)) continue;
        for await (const piece of mail.built.pieces()) provider.bytes += piece.length;
      }
      return batch.map(() => ({
        kind: 'accepted',
        providerMessageId: null,
        response: '250',
        delivered: false,
      }));
    },
    close: () => Promise.resolve(),
  };
  return provider;
}

function letterOf(n: number, file: LetterFile | undefined): BatchMessage {
  const message = messageOf(n);
  return {
    ...message,
    subject: 'Your invoice',
    html: '<p>Your invoice is attached.</p>',
    contentVersionId: null,
    campaign: null,
    tracking: null,
    letter: {
      id: message.messageId,
      replyTo: null,
      recipients: [{ kind: 'to', address: message.to }],
      files: file ? [file] : [],
    },
  };
}

async function storeFile(store: BlobStore, size: number): Promise<LetterFile> {
  const storageKey = newBlobKey('attachments', 1);
  const source = Readable.from([randomBytes(size)]);
  const { sha256 } = await foldedStore(store).putStream(storageKey, source, { maxBytes: size });
  return {
    n: 1,
    filename: 'invoice.pdf',
    contentType: 'application/pdf',
    contentId: null,
    disposition: 'attachment',
    size,
    sha256,
    storageKey,
  };
}

/** Composes emails, each with a file of its own in its batch, whose bytes a provider reads. Counts the time of all threads. */
export async function benchLetters({ runs: count, messages, fileKb }: LettersBenchOptions) {
  const home = await mkdtemp(join(tmpdir(), 'carillon-bench-'));
  const store = createHomeStore(home);
  const filed = await Promise.all(Array.from({ length: BATCH_SIZE }, () => storeFile(store, fileKb * 1_000)));
  const signers = (await generateKeys('shop.example.com')).map(createDkimSigner);

  async function oneRun(files: readonly LetterFile[]) {
    const provider = readingProvider();
    const channel = createEmailChannel(provider, {
      mailDomain: 'mail.bench.test',
      returnPathKey: keyring.subkey('return-path').key,
      referenceKey: keyring.subkey('reference').key,
      signersFor: () => signers,
      letterFiles: store,
    });
    const before = process.cpuUsage();
    const startedAt = performance.now();
    for (let from = 0; from < messages; from += BATCH_SIZE) {
      const batch = Array.from({ length: BATCH_SIZE }, (_, n) => letterOf(from + n, files[n]));
      const failed = (await channel.handOver(batch)).find(({ kind }) => kind !== 'accepted');
      if (failed) throw new Error(JSON.stringify(failed));
    }
    const { user, system } = process.cpuUsage(before);
    const seconds = (performance.now() - startedAt) / 1_000;
    await channel.close();
    return {
      cpu_us_per_message: rounded((user + system) / messages),
      per_second: rounded(messages / seconds),
      bytes_per_message: rounded(provider.bytes / messages, 0),
    };
  }

  try {
    const { runs, of } = await repeatRuns(count, async () => ({
      without: await oneRun([]),
      with_file: await oneRun(filed),
    }));
    return {
      runs,
      medians: {
        without_cpu_us_per_message: of((run) => run.without.cpu_us_per_message),
        with_file_cpu_us_per_message: of((run) => run.with_file.cpu_us_per_message),
        with_file_per_second: of((run) => run.with_file.per_second),
        peak_memory_mb: rounded(process.resourceUsage().maxRSS / 1_000, 0),
      },
    };
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}
