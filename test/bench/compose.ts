import { createDkimSigner, type DkimKey } from '../../src/delivery/content/dkim/sign.ts';
import { createContentRenderer } from '../../src/delivery/content/templates/content-renderer.ts';
import { RenderError, type VersionContent } from '../../src/delivery/content/templates/content.ts';
import type { EmailProvider } from '../../src/delivery/wire/adapters/port.ts';
import type { BatchMessage } from '../../src/delivery/ledger/intend/batch.ts';
import { createEmailChannel } from '../../src/delivery/sender/email/hand-over.ts';
import type { ContentSources } from '../../src/delivery/sender/compose/version-groups.ts';
import { createLinkTracker } from '../../src/features/tracking/links.ts';
import { createTrackingTokens } from '../../src/features/tracking/tokens.ts';
import { createRecipientPages } from '../../src/features/unsubscribe/service.ts';
import { createKeyring } from '../../src/platform/secrets/keyring.ts';
import { campaignHtml, campaignText } from './campaign-content.ts';
import { rounded } from './machine.ts';
import { repeatRuns } from './runs.ts';
import { bareSignatures, generateKeys } from './signatures.ts';

export interface ComposeBenchOptions {
  runs: number;
  messages: number;
  links: number;
  /** Sign, and measure also without signatures, and the bare signatures. */
  dkim: boolean;
}

const BATCH_SIZE = 50;
const keyring = createKeyring('a secret of the benchmark that is long enough');
const tokens = createTrackingTokens(keyring);

const contentOf = (links: number): VersionContent => ({
  id: 12,
  templateId: 3,
  accountId: 7,
  brandId: 2,
  channel: 'email',
  subject: 'News for {{ contact.first_name }}',
  preheader: null,
  html: campaignHtml(links),
  text: campaignText(links),
  paths: ['first_name'],
  segments: null,
  fromName: null,
  fromEmail: null,
  replyTo: null,
});

/** What the messages of a block have in common is read once. */
const tracking = { opens: true, clicks: true, host: 'https://links.bench.test', key: tokens.keyId };
const createdAt = new Date();

export function messageOf(n: number): BatchMessage {
  return {
    messageId: 2 ** 33 + n,
    attempt: 1,
    epoch: 1,
    uncertain: false,
    verdict: 'send',
    accountId: 7,
    brandId: 2,
    hasContacts: true,
    domainId: null,
    channel: 'email',
    class: 2,
    providerId: 0,
    queuedAt: new Date(),
    createdAt,
    to: `recipient${n}@example.com`,
    from: 'Shop <news@shop.example.com>',
    replyTo: null,
    subject: null,
    html: null,
    text: null,
    headers: null,
    tags: null,
    tracking,
    idempotencyKey: null,
    segments: null,
    contentVersionId: 12,
    campaign: { id: 4, name: 'News', variant: 0, contactId: n, contact: { first_name: `Ada${n}` } },
  };
}

/** A provider that accepts everything at once. */
function countingProvider(): EmailProvider & { bytes: number } {
  return {
    name: 'counting',
    concurrency: 1,
    bytes: 0,
    handOver(batch) {
      for (const { built } of batch) this.bytes += 'data' in built ? built.data.length : built.size;
      return Promise.resolve(
        batch.map(() => ({ kind: 'accepted', providerMessageId: null, response: '250', delivered: false })),
      );
    },
    close: () => Promise.resolve(),
  };
}

interface Composer {
  engine: ContentSources['engine'];
  keys: readonly DkimKey[];
}

function openChannel({ engine, keys }: Composer, links: number) {
  const provider = countingProvider();
  const version = contentOf(links);
  const shared = { brand: { company_name: 'Shop' }, campaign: { id: 4, name: 'News' }, linkParameters: [] };
  const signers = keys.map(createDkimSigner);
  const channel = createEmailChannel(provider, {
    mailDomain: 'mail.bench.test',
    returnPathKey: keyring.subkey('return-path').key,
    referenceKey: keyring.subkey('reference').key,
    signersFor: () => signers,
    links: createLinkTracker(tokens),
    contents: {
      versions: () => version,
      shared: () => shared,
      engine,
      pages: createRecipientPages(keyring, 'https://carillon.bench.test'),
    },
  });
  return { provider, channel };
}

async function oneRun(composer: Composer, { messages, links }: ComposeBenchOptions) {
  const { provider, channel } = openChannel(composer, links);
  const all = Array.from({ length: messages }, (_, n) => messageOf(n));
  const before = process.cpuUsage();
  for (let from = 0; from < messages; from += BATCH_SIZE) {
    const outcomes = await channel.handOver(all.slice(from, from + BATCH_SIZE));
    const failed = outcomes.find(({ kind }) => kind !== 'accepted');
    if (failed) throw new Error(JSON.stringify(failed));
  }
  const { user, system } = process.cpuUsage(before);
  await channel.close();
  return {
    cpu_us_per_message: rounded((user + system) / messages),
    bytes_per_message: rounded(provider.bytes / messages, 0),
  };
}

/** What signing adds to a message, beside the bare signatures of the same run. */
async function benchSigned(
  engines: Record<'skeleton' | 'whole', Composer['engine']>,
  options: ComposeBenchOptions,
) {
  const keys = await generateKeys('shop.example.com');
  const { runs, of } = await repeatRuns(options.runs, async () => ({
    skeleton: await oneRun({ engine: engines.skeleton, keys: [] }, options),
    signed_skeleton: await oneRun({ engine: engines.skeleton, keys }, options),
    signatures: bareSignatures(keys, options.messages),
    whole: await oneRun({ engine: engines.whole, keys: [] }, options),
    signed_whole: await oneRun({ engine: engines.whole, keys }, options),
  }));
  type Run = (typeof runs)[number];
  const added = (run: Run, path: 'skeleton' | 'whole') =>
    run[`signed_${path}`].cpu_us_per_message - run[path].cpu_us_per_message;
  return {
    runs,
    medians: {
      signatures_cpu_us_per_message: of((run) => run.signatures.cpu_us_per_message),
      skeleton_dkim_adds_cpu_us: of((run) => added(run, 'skeleton')),
      skeleton_dkim_of_signatures: of((run) => added(run, 'skeleton') / run.signatures.cpu_us_per_message),
      whole_dkim_adds_cpu_us: of((run) => added(run, 'whole')),
      whole_dkim_of_signatures: of((run) => added(run, 'whole') / run.signatures.cpu_us_per_message),
    },
  };
}

/** Renders and composes the emails of a campaign, without sending them. Counts the time of all threads. */
export async function benchCompose(options: ComposeBenchOptions) {
  const { divide, render } = createContentRenderer();
  const skeleton: Composer['engine'] = {
    divide,
    renderBatch: (content, values) =>
      values.map((each) => render(content, each) ?? new RenderError('the content has tags')),
  };
  const engines = { skeleton, whole: { ...skeleton, divide: () => null } };
  if (options.dkim) return benchSigned(engines, options);
  const { runs, of } = await repeatRuns(options.runs, async () => ({
    skeleton: await oneRun({ engine: engines.skeleton, keys: [] }, options),
    whole: await oneRun({ engine: engines.whole, keys: [] }, options),
  }));
  return {
    runs,
    medians: {
      skeleton_cpu_us_per_message: of((run) => run.skeleton.cpu_us_per_message),
      whole_cpu_us_per_message: of((run) => run.whole.cpu_us_per_message),
    },
  };
}
