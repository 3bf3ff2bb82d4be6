/**
 * Every path by which a message can leave the service, from the row that waits to the record of its outcome. This file
 * alone names the functions of the sender that claim, intend and record; tests name paths.
 */
import { rerouteBlocks } from '../../src/delivery/sender/failover/reroute-blocks.ts';
import { rerouteLetters } from '../../src/delivery/ledger/intend/reroute-letters.ts';
import { rerouteBacklog } from '../../src/delivery/sender/failover/reroute.ts';
import { requeueUnknown } from '../../src/delivery/ledger/blocks/campaign-blocks.ts';
import { claimBlock } from '../../src/delivery/ledger/blocks/claim-blocks.ts';
import { endBlockClaim } from '../../src/delivery/ledger/blocks/claimed-blocks.ts';
import { BLOCKS_CLASS, DEFAULT_PROVIDER } from '../../src/delivery/terms/backlog.ts';
import { recordFacts } from '../../src/delivery/ledger/facts/facts.ts';
import type { QueueChannel } from '../../src/delivery/terms/channels/queue-channel.ts';
import { type Channel, channels, messageClasses } from '../../src/delivery/terms/message.ts';
import type { HandOverOutcome } from '../../src/delivery/terms/hand-over-outcome.ts';
import { claimBacklog } from '../../src/delivery/ledger/claim/claim.ts';
import type { Claim } from '../../src/delivery/ledger/ownership/claims.ts';
import { takePlainMessages } from '../../src/delivery/ledger/claim/take.ts';
import type { ProviderChannel } from '../../src/delivery/sender/compose/provider-channel.ts';
import { recoverDeadSender } from '../../src/delivery/ledger/upkeep/dead-process.ts';
import type { BatchMessage } from '../../src/delivery/ledger/intend/batch.ts';
import { intendBlock } from '../../src/delivery/ledger/intend/block-batch.ts';
import { intendMessages } from '../../src/delivery/ledger/intend/queue-batch.ts';
import { findUnknownOfFlow, requeueUnknownOfFlow } from '../../src/delivery/ledger/release/resend-of-flow.ts';
import { outcomeRecords, recordsOfBlock } from '../../src/delivery/ledger/record/outcomes.ts';
import { type BatchRecord, createBatchRecording } from '../../src/delivery/ledger/record/record.ts';
import type { Database } from '../../src/platform/db/database.ts';
import { inTransaction } from '../../src/platform/db/queryable.ts';
import { writeCampaign } from './campaigns.ts';
import { testEvents } from './events.ts';
import { send, testFlowSender, writeContact, writeFlow, writeRun } from './flow-sends.ts';
import { outcomes, type ReportName, reportTypes } from './outcomes.ts';
import { queueLetter } from './letters.ts';
import { insertAccount, insertSender, queueEmails, type QueuedAccount } from './queued.ts';
import { TEST_LIMITS } from './sending.ts';
import { createTexts } from './text-sends.ts';
import { testKeyring } from './webhooks.ts';

/** A message that waits for a sender, with the account that has no other. */
export interface Waiting extends QueuedAccount {
  messageId: number;
  channel: Channel;
  /** Where it waits, if not in the queue of its channel. */
  queue?: QueueChannel;
  /** Its provider before it is rerouted. */
  providerId: number;
  /** Whether senders ignore tags such as `+news` when they compare addresses; by default not. */
  plusAddresses?: boolean;
}

/** What a sender has: claims without an intent or, of plain messages, claims with one. */
export interface Taken {
  claims: Claim[];
  intended: { seq: number; messages: BatchMessage[] } | null;
}

interface WayOut {
  /** Writes the message of a new account as its feature does. */
  write(): Promise<Waiting>;
  /** What happens to the waiting message before a sender can claim it. */
  prepare?(waiting: Waiting): Promise<unknown>;
  /** In which part of the queue it waits. A plain message is taken in one call, if nothing stands in its way. */
  from: keyof typeof messageClasses | 'plain' | 'block';
  /** The provider that it is claimed for, if not that of the settings. */
  providerId?: number;
}

export const paths = [
  'general',
  'plain',
  'reply',
  'template test',
  'letter',
  'rerouted letter',
  'rerouted',
  'text',
  'after a crash',
  'flow',
  'flow reply',
  'rerouted flow',
  'flow text',
  'flow after a crash',
  'flow resend',
  'test run',
  'block',
  'rerouted block',
  'block of texts',
  'retry',
  'resend',
] as const;

export type Path = (typeof paths)[number];

/** Paths on which a sender first tries to take the message in one call. */
export const plainPaths: readonly Path[] = ['plain', 'reply', 'template test', 'rerouted', 'after a crash'];

const PROVIDER = 'relay';
const MAX_ROUNDS = 3;
/** Ids of processes that die. */
const FIRST_DEAD = 1_000_000;

const settingsOf = ({ plusAddresses = false }: Waiting) => ({
  ...TEST_LIMITS,
  suppress_plus_addresses: plusAddresses ? 1 : 0,
});

/** The outcome of a message that the provider accepts, and may deliver at once. */
export const acceptedBy = ({ channel, messageId }: BatchMessage, delivered = false): HandOverOutcome => ({
  ...{ kind: 'accepted', providerMessageId: `id-${messageId}`, response: '250 ok', delivered },
  ...(channel === 'sms' ? { segments: 1 } : {}),
});

/** Channels whose providers accept all messages. @param onMessage called with the id of each */
export const acceptingChannels = (onMessage: (messageId: number) => void): ProviderChannel[] =>
  channels.map((channel) => ({
    ...{ channel, providerId: DEFAULT_PROVIDER, provider: PROVIDER, reportSeconds: 0, concurrency: 2 },
    handOver(batch) {
      for (const { messageId } of batch) onMessage(messageId);
      return Promise.resolve(batch.map((message) => acceptedBy(message)));
    },
    close: () => Promise.resolve(),
  }));

/** @param owner the sender's process, see `insertSender` */
export function createWaysOut(database: Database, owner: number) {
  const { pool } = database;
  const left = new Map<number, number>();
  const recordBatches = createBatchRecording({ pool, events: testEvents });
  let seq = 0;
  let phones = 0;

  const query = (text: string, ...values: unknown[]) => pool.query(text, values);
  /** Every recipient has a tag. */
  const prefixOf = ({ accountId }: QueuedAccount) => `a${accountId}+tag`;
  const phone = () => `+49151${String(20_000_000 + ++phones)}`;

  async function claim(waiting: Waiting, way: WayOut, by = owner): Promise<Taken> {
    const { accountId, channel, queue = channel } = waiting;
    const { from, providerId = 0 } = way;
    const of = { channel, queue, accountId, providerId, owner: by };
    const settings = settingsOf(waiting);
    if (from === 'block') {
      const { claims } = await claimBlock(pool, { ...of, messages: 1_000 }, settings);
      return { claims, intended: null };
    }
    if (from === 'plain') {
      const intent = { owner: by, seq: ++seq, provider: PROVIDER, reportSeconds: 0 };
      const request = { ...intent, accountId, providerId, messages: 50 };
      const taken = await takePlainMessages(pool, request, settings);
      if (taken) return { claims: taken.claims, intended: { seq: intent.seq, messages: taken.messages } };
    }
    const priority = messageClasses[from === 'plain' ? 'transactional' : from];
    const request = { ...of, class: priority, quantum: 50 };
    return { claims: await claimBacklog(pool, request, settings), intended: null };
  }

  async function intend(
    claims: Claim[],
    { plusAddresses = false }: Waiting,
    by = owner,
  ): Promise<{ seq: number; messages: BatchMessage[] }> {
    const request = {
      ...{ owner: by, seq: ++seq, provider: PROVIDER, claims },
      ...{ keyring: testKeyring, plusAddresses },
    };
    const block = claims[0]?.block;
    const messages = block ? await intendBlock(pool, request, block) : await intendMessages(pool, request);
    return { seq: request.seq, messages };
  }

  function recordOf(
    { claims }: Taken,
    intended: { seq: number; messages: BatchMessage[] },
    outcomeOf: (message: BatchMessage, n: number) => HandOverOutcome,
  ): BatchRecord {
    const leaving = intended.messages.filter(({ verdict }) => verdict === 'send');
    const given = leaving.map(outcomeOf);
    const records = outcomeRecords(PROVIDER, intended.messages, given);
    const block = claims[0]?.block;
    return block
      ? { owner, seq: intended.seq, block, outcomes: recordsOfBlock(records, leaving, given) }
      : { owner, seq: intended.seq, outcomes: records };
  }

  /** Records batches in one transaction, as a sender does with those that are ready. */
  async function record(...batches: BatchRecord[]): Promise<void> {
    const written = batches.filter(({ outcomes }) => outcomes.length > 0);
    if (written.length > 0) await recordBatches(written);
    for (const { block } of batches) if (block) await endBlockClaim(pool, owner, block);
  }

  /** Intends, hands over and records what is taken. */
  async function finish(taken: Taken, waiting: Waiting): Promise<void> {
    const intended = taken.intended ?? (await intend(taken.claims, waiting));
    for (const { messageId, verdict } of intended.messages)
      if (verdict === 'send') left.set(messageId, (left.get(messageId) ?? 0) + 1);
    await record(recordOf(taken, intended, (message) => acceptedBy(message)));
  }

  /** Another sender hands the message over, and dies before it has recorded the outcome. */
  async function handOverAndDie(waiting: Waiting, from: WayOut['from']): Promise<void> {
    const dead = FIRST_DEAD + waiting.accountId;
    await insertSender(database, dead);
    const { claims } = await claim(waiting, { ...ways.general, from }, dead);
    await intend(claims, waiting, dead);
    await inTransaction(pool, (trx) => recoverDeadSender(trx, dead));
    await query('delete from processes where id = $1', dead);
  }

  async function writeEmail(of: QueuedAccount, columns = '', providerId = 0): Promise<Waiting> {
    const [messageId = 0] = await queueEmails(database, of, 1, { prefix: prefixOf(of), providerId });
    if (columns !== '') await query(`update messages set ${columns} where id = $1`, messageId);
    return { ...of, messageId, channel: 'email', providerId };
  }

  async function writeLetter(of: QueuedAccount): Promise<Waiting> {
    const recipients = [{ kind: 'to', address: `${prefixOf(of)}0@example.com` } as const];
    const [messageId = 0] = await queueLetter(database, of, { recipients });
    return { ...of, messageId, channel: 'email', queue: 'email_whole', providerId: 0 };
  }

  const newAccount = () => insertAccount(database);

  async function writeText(): Promise<Waiting> {
    const of = await newAccount();
    const [messageId = 0] = await queueEmails(database, of, 1, { channel: 'sms' });
    await query('update messages set to_address = $2, to_key = $2 where id = $1', messageId, phone());
    return { ...of, messageId, channel: 'sms', providerId: 0 };
  }

  async function writeFlowEmail({ reply = false, test = false } = {}): Promise<Waiting> {
    const of = await newAccount();
    const { flowId, steps } = await writeFlow(database, of);
    const contactId = await writeContact(database, of, { email: `${prefixOf(of)}0@example.com` });
    const mail = { conversation_message_id: 1, inbox_id: 1, auto_submitted: false };
    const event = reply ? { name: 'mail.received', mail } : null;
    const run = await writeRun(database, of, flowId, contactId, { test, event });
    const { messageId } = await send(database, testFlowSender(), run, steps[0]);
    return { ...of, messageId, channel: 'email', providerId: 0 };
  }

  /** A message whose sender died, and whose flow has it sent again. */
  async function writeFlowAgain(): Promise<Waiting> {
    const waiting = await writeFlowEmail();
    await query(`update flows set unknown = 'resend' where account_id = $1`, waiting.accountId);
    await handOverAndDie(waiting, 'flow');
    return waiting;
  }

  /** A message whose sender died, and that a client sends again. */
  async function writeFlowResend(): Promise<Waiting> {
    const waiting = await writeFlowEmail();
    const { accountId, messageId, channel } = waiting;
    await handOverAndDie(waiting, 'flow');
    const { rows } = await pool.query<{ id: number }>('select id from flows where account_id = $1', [
      accountId,
    ]);
    const found = await findUnknownOfFlow(pool, rows[0]?.id ?? 0, 100);
    if (found[0]?.id !== messageId) throw new Error('the message is not found as unknown');
    const route = { domainId: null, providerId: null };
    await requeueUnknownOfFlow(pool, { accountId, channel, ...route, messageIds: [messageId] });
    return waiting;
  }

  async function writeFlowText(): Promise<Waiting> {
    const of = await newAccount();
    const { messageId } = await createTexts(database, of, owner).flowTo(phone(), 1);
    return { ...of, messageId, channel: 'sms', providerId: 0 };
  }

  async function writeBlock(providerId = 0): Promise<Waiting> {
    const of = await newAccount();
    const campaign = await writeCampaign(database, of, {
      ...{ recipients: 1, prefix: prefixOf(of), providerId },
    });
    return { ...of, messageId: campaign.messageIds[0] ?? 0, channel: 'email', providerId };
  }

  async function writeBlockOfTexts(): Promise<Waiting> {
    const of = await newAccount();
    const campaign = await createTexts(database, of, owner).campaignTo([phone()], 1);
    return { ...of, messageId: campaign.messageIds[0] ?? 0, channel: 'sms', providerId: 0 };
  }

  /** A recipient whose first attempt was refused temporarily, so that it has a queue row. */
  async function writeRetry(): Promise<Waiting> {
    const waiting = await writeBlock();
    const taken = await claim(waiting, ways.block);
    await record(recordOf(taken, await intend(taken.claims, waiting), () => outcomes.deferred));
    await query('update send_queue set due_at = now() where message_id = $1', waiting.messageId);
    return waiting;
  }

  /** A recipient of a campaign that has ended, whose sender died, and that a client sends again. */
  async function writeResend(): Promise<Waiting> {
    const waiting = await writeBlock();
    await handOverAndDie(waiting, 'block');
    const { rows } = await pool.query<{ id: number }>(
      `update campaigns set status = 'completed', phase = 'done' where account_id = $1 returning id`,
      [waiting.accountId],
    );
    await inTransaction(pool, (trx) => requeueUnknown(trx, rows[0]?.id ?? 0, 100));
    return waiting;
  }

  /** A provider of the account that fails, before the one in the settings. @returns its id */
  async function addFailing({ accountId }: QueuedAccount): Promise<number> {
    const { rows } = await pool.query<{ id: number }>(
      `insert into providers (name, kind, channel, settings_sealed, callback_token_sealed, callback_digest)
       values ($1, 'smtp', 'email', '', '', decode(md5($1), 'hex')) returning id`,
      [`failing-${accountId}`],
    );
    const id = rows[0]?.id ?? 0;
    await query('update accounts set email_provider_ids = $2 where id = $1', accountId, [id, 0]);
    await query(
      `insert into provider_outages (channel, provider_id, since, retry_at) values ('email', $1, now(), now() + interval '1 hour')`,
      id,
    );
    return id;
  }

  const reroute =
    (priority: keyof typeof messageClasses) =>
    ({ accountId, channel, providerId }: Waiting) =>
      rerouteBacklog(pool, { channel, accountId, providerId, class: messageClasses[priority] });

  async function moveTo(waiting: Waiting, table: 'send_queue' | 'campaign_blocks'): Promise<Waiting> {
    const providerId = await addFailing(waiting);
    await query(`update ${table} set provider_id = $2 where account_id = $1`, waiting.accountId, providerId);
    return { ...waiting, providerId };
  }

  const ways: Record<Path, WayOut> = {
    general: { write: async () => writeEmail(await newAccount()), from: 'transactional' },
    plain: { write: async () => writeEmail(await newAccount()), from: 'plain' },
    reply: { write: async () => writeEmail(await newAccount(), 'answers_mail = true'), from: 'plain' },
    'template test': { write: async () => writeEmail(await newAccount(), 'test = true'), from: 'plain' },
    letter: { write: async () => writeLetter(await newAccount()), from: 'transactional' },
    'rerouted letter': {
      write: async () => moveTo(await writeLetter(await newAccount()), 'send_queue'),
      prepare: ({ accountId, providerId }) =>
        rerouteLetters(...[pool, { class: 0, accountId, providerId }], {
          repeatableKinds: [],
          defaultKind: null,
        }),
      from: 'transactional',
    },
    rerouted: {
      write: async () => moveTo(await writeEmail(await newAccount()), 'send_queue'),
      prepare: reroute('transactional'),
      from: 'plain',
    },
    text: { write: writeText, from: 'transactional' },
    'after a crash': {
      async write() {
        const waiting = await writeEmail(await newAccount());
        await handOverAndDie(waiting, 'transactional');
        return waiting;
      },
      from: 'plain',
    },
    flow: { write: () => writeFlowEmail(), from: 'flow' },
    'flow reply': { write: () => writeFlowEmail({ reply: true }), from: 'flow' },
    'rerouted flow': {
      write: async () => moveTo(await writeFlowEmail(), 'send_queue'),
      prepare: reroute('flow'),
      from: 'flow',
    },
    'flow text': { write: writeFlowText, from: 'flow' },
    'flow after a crash': { write: writeFlowAgain, from: 'flow' },
    'flow resend': { write: writeFlowResend, from: 'flow' },
    'test run': { write: () => writeFlowEmail({ test: true }), from: 'flow' },
    block: { write: () => writeBlock(), from: 'block' },
    'rerouted block': {
      write: async () => moveTo(await writeBlock(), 'campaign_blocks'),
      prepare: ({ accountId, channel, providerId }) =>
        rerouteBlocks(pool, { channel, accountId, providerId }),
      from: 'block',
    },
    'block of texts': { write: writeBlockOfTexts, from: 'block' },
    retry: { write: writeRetry, from: 'campaign' },
    resend: { write: writeResend, from: 'campaign' },
  };

  return {
    /** Writes a message that waits on the path. */
    write: (path: Path): Promise<Waiting> => ways[path].write(),

    /** What happens to it before a sender can claim it. */
    prepare: (path: Path, waiting: Waiting) => ways[path].prepare?.(waiting),

    /**
     * Sends what waits, as often as a sender finds something.
     * @param meanwhile called once, when a sender has claimed the message and not written its intent yet
     * @returns whether the message was taken as a plain one, in one call
     */
    async leave(path: Path, waiting: Waiting, meanwhile?: () => Promise<unknown>): Promise<boolean> {
      const way = ways[path];
      // No other statement can run between the claim and the intent of a plain message.
      const first = meanwhile && way.from === 'plain' ? ({ ...way, from: 'transactional' } as const) : way;
      let taken = await claim(waiting, first);
      const isPlain = taken.intended !== null;
      await meanwhile?.();
      for (let round = 0; round < MAX_ROUNDS && taken.claims.length > 0; round += 1) {
        await finish(taken, waiting);
        taken = await claim(waiting, way);
      }
      return isPlain;
    },

    /**
     * Hands over what waits, without a record of its outcome.
     * @returns what to record for given outcomes, by message or by its number in the batch
     */
    async handOver(path: Path, waiting: Waiting) {
      const taken = await claim(waiting, ways[path]);
      const intended = taken.intended ?? (await intend(taken.claims, waiting));
      return (outcomeOf: Parameters<typeof recordOf>[2]) => recordOf(taken, intended, outcomeOf);
    },

    record,

    /** Recovers the sender as if it were dead. */
    die: () => inTransaction(pool, (trx) => recoverDeadSender(trx, owner)),

    /** Records a report of the provider about the message. */
    report: ({ accountId, messageId }: Waiting, name: ReportName) =>
      inTransaction(pool, (trx) =>
        recordFacts(
          trx,
          [
            {
              ...{ accountId, messageId, occurredAt: new Date(), providerMessageId: null, response: null },
              ...{ source: { kind: 'callback', provider: PROVIDER }, suppresses: false },
              ...{ bounce: null, failure: null },
              ...reportTypes[name],
            },
          ],
          testEvents,
        ),
      ),

    /** How often the message was handed over. */
    handedOver: ({ messageId }: Waiting): number => left.get(messageId) ?? 0,

    /** The backlog that the message waits in before it is rerouted. */
    backlogOf: (path: Path, { accountId, channel, queue = channel, providerId }: Waiting) => {
      const { from } = ways[path];
      const priority =
        from === 'block' ? BLOCKS_CLASS : messageClasses[from === 'plain' ? 'transactional' : from];
      return { accountId, channel, queue, providerId, class: priority };
    },
  };
}

export type WaysOut = ReturnType<typeof createWaysOut>;
