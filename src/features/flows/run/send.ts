/** Creates the messages of steps that send, unless the contact cannot or must not get them. */
import { testOutcome } from '../../../delivery/ledger/accept/test-messages.ts';
import { backlogName, DEFAULT_PROVIDER } from '../../../delivery/terms/backlog.ts';
import { messageClasses } from '../../../delivery/terms/message.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import { countForFlow, type FlowCountChange } from '../counts.ts';
import { findAnsweredEnough } from './answers.ts';
import { findCapped, lockFrequency } from './frequency.ts';
import type { StepResult } from './interpreter.ts';
import {
  judgeRecipient,
  notWritten,
  type RecipientDeps,
  type RecipientState,
  readRecipients,
  type SendRequest,
  type SendResult,
} from './recipients.ts';
import { createSenderOf, type SenderOf } from './sender.ts';
import { type RunMessage, type WriteDeps, writeSends } from './write-sends.ts';

export { lockFrequency } from './frequency.ts';
export { quietUntil, type QuietHours } from './quiet-hours.ts';
export type { SendingRun, SendRequest, SendResult } from './recipients.ts';

export interface FlowSenderDeps extends RecipientDeps, WriteDeps {
  /** The setting MAIL_DOMAIN. */
  mailDomain: string;
}

/** A message that a limit refused when it was to be written. */
export interface RefusedSend {
  runId: number;
  stepId: number;
  /** The code of the limit, such as `sandbox_limit_reached`. */
  reason: string;
}

/** The messages of one transaction. */
export interface FlowSends {
  /**
   * Decides about the messages of steps for the contacts of their runs. A `sent` message is not written before
   * {@link FlowSends.write}, which may change its result to `failed`.
   * @param requests at most one for a contact. If its messages are counted, because its brand has a frequency cap or the
   *   run answers mail, all of them must be written
   * @param asOf the time at which the runs advance
   * @returns for each request `sent` with the message's id; `skipped` with `detail.reason` `no_address`, `no_price`,
   *   `frequency_cap`, `automatic_mail` or `answer_limit`; `failed` with `detail.reason` `sender_not_verified` or
   *   `content_rejected`; or `exit` with `unsubscribed`, `suppressed` or `contact_deleted`: the run ends
   */
  decide(trx: Queryable, requests: readonly SendRequest[], asOf: Date): Promise<SendResult[]>;
  /** The ids of the runs whose messages are not written yet. */
  readonly unwritten: ReadonlySet<number>;
  /**
   * Writes the messages that were decided. Call it last, because the counters of accounts stay locked until the commit.
   * @returns those that a limit refused; their results have become `failed` with its code as `detail.reason`
   */
  write(trx: Queryable): Promise<RefusedSend[]>;
}

/**
 * Begins the messages of a transaction.
 * @param options `onQueued` is called with the backlogs of queued messages: wake `send` with them after the commit
 */
export type FlowSender = (options: { onQueued: (backlog: string) => void }) => FlowSends;

/** The message of a step, from its request to its result. */
interface Draft {
  request: SendRequest;
  state: RecipientState;
  /** Null until it is known. */
  result: SendResult | null;
}

/** A message that is decided but not written. */
interface Unwritten {
  request: SendRequest;
  message: RunMessage;
  /** Changes if a limit refuses the message. */
  result: StepResult;
}

const undecided = (drafts: readonly Draft[]) => drafts.filter(({ result }) => result === null);

/** The mail that the message would answer. */
const mailOf = ({ run, step }: SendRequest) => (step.channel === 'email' ? run.event?.mail : undefined);

/** Skips contacts who have reached the frequency cap. */
async function skipCapped(trx: Queryable, drafts: readonly Draft[], asOf: Date): Promise<void> {
  const counted = drafts.flatMap((draft) => {
    const { request, state } = draft;
    const { brand_id: brandId, contact_id: contactId } = request.run;
    return state.cap ? [{ draft, brandId, contactId, cap: state.cap }] : [];
  });
  if (counted.length === 0) return;
  const capped = await findCapped(trx, counted, asOf);
  for (const { draft, contactId } of counted) {
    if (capped.has(contactId)) draft.result = notWritten('skipped', 'frequency_cap');
  }
}

/** Skips emails that must not answer the mail that caused their run. */
async function skipAnswers(trx: Queryable, drafts: readonly Draft[], asOf: Date): Promise<void> {
  const answers = drafts.flatMap((draft) => {
    const mail = mailOf(draft.request);
    if (!mail) return [];
    if (mail.auto_submitted) draft.result = notWritten('skipped', 'automatic_mail');
    const { brand_id: brandId, contact_id: contactId } = draft.request.run;
    return [{ draft, brandId, contactId, inboxId: mail.inbox_id }];
  });
  const counted = answers.filter(({ draft }) => draft.result === null);
  if (counted.length === 0) return;
  // The runs already hold these locks, unless they were loaded before.
  await lockFrequency(
    trx,
    counted.map(({ contactId }) => contactId),
  );
  const enough = await findAnsweredEnough(trx, counted, asOf);
  for (const { draft, contactId } of counted) {
    if (enough.has(contactId)) draft.result = notWritten('skipped', 'answer_limit');
  }
}

type Sender = NonNullable<Awaited<ReturnType<SenderOf>>>;

function messageOf({ run, step }: SendRequest, state: RecipientState, sender: Sender): RunMessage {
  const { channel } = step;
  const message: RunMessage = {
    id: state.messageId,
    account_id: run.account_id,
    brand_id: run.brand_id,
    flow_id: run.flow_id,
    channel,
    status: 'queued',
    test: run.test,
    to_address: state.address ?? '',
    to_key: state.key ?? '',
    reply_to: channel === 'email' ? state.replyTo : null,
    template_id: state.templateId,
    content_version_id: state.versionId,
    version_bytes: state.versionBytes,
    flow_run_id: run.id,
    flow_step_id: step.id,
    contact_id: state.contactId,
    ...(run.event?.mail ? { answers_mail: true as const } : {}),
    ...sender,
  };
  return run.test ? { ...message, ...testOutcome(message) } : message;
}

/** Counts the messages that were not created, except those of test runs. */
async function countUnsent(
  trx: Queryable,
  drafts: readonly { request: SendRequest; result: SendResult | null }[],
): Promise<void> {
  const changes = drafts.flatMap(({ request: { run, step }, result }): FlowCountChange[] => {
    if (run.test || result === null || !('outcome' in result) || result.outcome === 'sent') return [];
    const name = `${result.outcome as 'skipped' | 'failed'}:${String(result.detail?.reason)}` as const;
    return [{ flowId: run.flow_id, stepId: step.id, name, n: 1 }];
  });
  await countForFlow(trx, changes);
}

/** Changes the result of a message that a limit has refused. */
function refuse({ request: { run, step }, result }: Unwritten, reason: string): RefusedSend {
  delete result.messageId;
  Object.assign(result, notWritten('failed', reason));
  return { runId: run.id, stepId: step.id, reason };
}

/** The messages of a transaction that wait to be written. */
class WaitingSends {
  readonly #deps: WriteDeps;
  readonly #onQueued: (backlog: string) => void;
  readonly runs = new Set<number>();
  #waiting: Unwritten[] = [];

  constructor(deps: WriteDeps, onQueued: (backlog: string) => void) {
    this.#deps = deps;
    this.#onQueued = onQueued;
  }

  add(unwritten: Unwritten): void {
    this.#waiting.push(unwritten);
    this.runs.add(unwritten.request.run.id);
  }

  /** @returns the messages that a limit refused */
  async write(trx: Queryable): Promise<RefusedSend[]> {
    const waiting = this.#waiting;
    if (waiting.length === 0) return [];
    this.#waiting = [];
    this.runs.clear();
    const outcomes = await writeSends(
      trx,
      this.#deps,
      waiting.map(({ message }) => message),
    );
    const refused: RefusedSend[] = [];
    const backlogs = new Set<string>();
    for (const each of waiting) {
      const { id, channel, account_id: accountId, test } = each.message;
      const outcome = outcomes.get(id);
      if (!outcome) throw new Error(`message ${id} was not written`);
      if ('refused' in outcome) refused.push(refuse(each, outcome.refused));
      else if (!test) {
        const providerId = outcome.provider_id ?? DEFAULT_PROVIDER;
        backlogs.add(backlogName({ channel, class: messageClasses.flow, accountId, providerId }));
      }
    }
    await countUnsent(trx, waiting);
    for (const backlog of backlogs) this.#onQueued(backlog);
    return refused;
  }
}

export function createFlowSender(deps: FlowSenderDeps): FlowSender {
  const senderOf = createSenderOf(deps.mailDomain);

  /** Leaves without a result what may be sent. */
  async function readDrafts(trx: Queryable, requests: readonly SendRequest[]): Promise<Draft[]> {
    const states = await readRecipients(trx, requests, deps);
    return requests.map((request, n) => {
      const state = states[n] as RecipientState;
      return { request, state, result: judgeRecipient(deps, request, state) };
    });
  }

  async function addMessage(trx: Queryable, draft: Draft, waiting: WaitingSends): Promise<void> {
    const { request, state } = draft;
    const sender = await senderOf(trx, request.run, request.step.channel, state);
    if (!sender) {
      draft.result = notWritten('failed', 'sender_not_verified');
      return;
    }
    const result: StepResult = { outcome: 'sent', messageId: state.messageId };
    draft.result = result;
    waiting.add({ request, message: messageOf(request, state, sender), result });
  }

  return ({ onQueued }) => {
    const waiting = new WaitingSends(deps, onQueued);
    return {
      unwritten: waiting.runs,
      async decide(trx, requests, asOf) {
        if (requests.length === 0) return [];
        const drafts = await readDrafts(trx, requests);
        await skipCapped(trx, undecided(drafts), asOf);
        await skipAnswers(trx, undecided(drafts), asOf);
        for (const draft of undecided(drafts)) await addMessage(trx, draft, waiting);
        await countUnsent(trx, drafts);
        return drafts.map(({ result }) => result as SendResult);
      },
      write: (trx) => waiting.write(trx),
    };
  };
}
