import { headersOf, textOf } from '../../adapters/email-parts.ts';
import {
  type ApiDialect,
  apiConcurrency,
  apiFault,
  apiReply,
  type ApiResponse,
  type ApiResult,
  createSubmitter,
  outcomeOf,
  refusedMessage,
  unverified,
} from '../../adapters/http-api.ts';
import type { NamedProviderDeps, ProviderDeps, ProviderKind } from '../../adapters/kind.ts';
import {
  bareAddress,
  filesOf,
  inlineId,
  mailbox,
  partsRefusal,
  repliesTo,
  typeOf,
} from '../../adapters/letter-parts.ts';
import {
  type EmailProvider,
  type HandOverResult,
  isLetter,
  type OutgoingFile,
  type OutgoingMail,
} from '../../adapters/port.ts';
import { base64OfFile, writeJson } from '../../adapters/request-body.ts';
import type { HandOverOutcome } from '../../../terms/hand-over-outcome.ts';
import {
  POSTMARK,
  postmarkError,
  type PostmarkSettings,
  postmarkSettings,
  requestPostmark,
  serverToken,
} from './api.ts';
import { postmarkCallbacks, REFERENCE_FIELD } from './callbacks.ts';
import { postmarkDomains } from './domains.ts';
import { findAtPostmark } from './look-up.ts';
import { serviceBounce } from '../../adapters/reported-bounce.ts';

const MAX_METADATA = 10;
const MAX_METADATA_NAME = 20;
const MAX_METADATA_VALUE = 80;

/** Codes about the server or the account: https://postmarkapp.com/developer/api/overview#error-codes */
const faults = new Set([10, 100, 405, 409, 410, 412, 413, 429]);

/** Codes about the message stream, which the settings name. */
const isAboutStream = (code: number) => code >= 1_220 && code <= 1_239;

/** Code 300 covers every invalid field. Its message names the field. */
function invalidField(message: string): Extract<HandOverOutcome, { kind: 'refused' }>['code'] {
  if (/'To'/i.test(message)) return 'invalid_recipient';
  if (/'(?:From|Reply-?To)'/i.test(message)) return 'sender_rejected';
  return /body|header|metadata|subject|attachment|too (?:large|long)/i.test(message)
    ? 'content_rejected'
    : 'rejected';
}

function verdict(response: ApiResponse): HandOverOutcome | null {
  const { code, message } = postmarkError(response);
  if (response.status === 413) return refusedMessage(response, 'content_rejected', message);
  if (code === null) return null;
  if (faults.has(code) || isAboutStream(code)) return apiFault(response, dialect);
  const reply = apiReply({ ...response, status: code }, message);
  switch (code) {
    case 406: {
      // Postmark has stopped sending to the address after a hard bounce or a complaint.
      const { bounce } = serviceBounce('hard', 'provider_suppressed', reply);
      return { kind: 'bounced', bounce, response: reply };
    }
    case 300:
      return { kind: 'refused', code: invalidField(message), response: reply };
    // The sender signature is missing or not confirmed.
    case 400:
    case 401:
      return unverified({ ...response, status: code }, message);
    case 411:
      return { kind: 'refused', code: 'content_rejected', response: reply };
  }
  return response.status < 500 ? { kind: 'refused', code: 'rejected', response: reply } : null;
}

/** The verdict of one message of a batch. A message that Postmark delays has no ErrorCode. */
function itemOutcome(json: unknown): HandOverOutcome {
  const text = JSON.stringify(json ?? null);
  const { ErrorCode: code = 0, MessageID: id } = (json ?? {}) as { ErrorCode?: unknown; MessageID?: unknown };
  if (code === 0 && typeof id === 'string') {
    return { kind: 'accepted', providerMessageId: id, response: '200', delivered: false };
  }
  const refused = code === 0 ? null : verdict({ kind: 'response', status: 422, headers: {}, json, text });
  return refused ?? { kind: 'unknown', reason: `${POSTMARK}: no result for the message` };
}

const dialect: ApiDialect = {
  title: POSTMARK,
  repeatable: false,
  accepted: () => ({ kind: 'unknown', reason: `${POSTMARK}: no results for the messages` }),
  verdict,
  errorCode: (response) => postmarkError(response).code,
};

function outcomesOf(result: ApiResult, batch: readonly OutgoingMail[]): HandOverOutcome[] {
  if (result.kind === 'response' && result.status === 200 && Array.isArray(result.json)) {
    const items: unknown[] = result.json;
    if (items.length === batch.length) return items.map(itemOutcome);
  }
  const outcome = outcomeOf(result, dialect);
  return batch.map(() => outcome);
}

function metadataOf({ reference, tags }: OutgoingMail): Record<string, string> {
  const fitting = Object.entries(tags).filter(
    ([name, value]) => name.length <= MAX_METADATA_NAME && value.length <= MAX_METADATA_VALUE,
  );
  return { ...Object.fromEntries(fitting.slice(0, MAX_METADATA - 1)), [REFERENCE_FIELD]: reference };
}

/** https://postmarkapp.com/developer/api/email-api#send-batch-emails */
function messageOf(email: OutgoingMail, settings: PostmarkSettings, mailDomain: string) {
  const { content, tags } = email;
  const { html } = content;
  const replies = repliesTo(email).map((address) => mailbox(address.name, bareAddress(address)));
  const files = filesOf(email);
  // Postmark replaces the Message-ID unless it is asked to keep it.
  const headers = { ...headersOf(email, mailDomain), 'X-PM-KeepID': 'true' };
  return {
    From: mailbox(content.from.name, email.from),
    To: email.to,
    ...(replies.length > 0 ? { ReplyTo: replies.join(', ') } : {}),
    Subject: content.subject,
    ...(html ? { HtmlBody: html } : {}),
    TextBody: textOf(content) || (html ? undefined : ' '),
    // Splits Postmark's statistics by brand.
    ...(tags.brand_id === undefined ? {} : { Tag: `brand-${tags.brand_id}` }),
    Metadata: metadataOf(email),
    Headers: Object.entries(headers).map(([Name, Value]) => ({ Name, Value })),
    TrackOpens: false,
    TrackLinks: 'None',
    MessageStream: settings.message_stream,
    ...(files.length > 0 ? { Attachments: files.map(attachmentOf) } : {}),
  };
}

function attachmentOf(file: OutgoingFile) {
  const id = inlineId(file);
  return {
    Name: file.filename,
    Content: base64OfFile(file),
    ContentType: typeOf(file),
    ...(id === null ? {} : { ContentID: `cid:${id}` }),
  };
}

function createPostmarkProvider(settings: PostmarkSettings, deps: NamedProviderDeps): EmailProvider {
  async function submit(batch: readonly OutgoingMail[]): Promise<HandOverOutcome[]> {
    const messages = batch.map((email) => messageOf(email, settings, deps.config.MAIL_DOMAIN));
    const body = batch.some(isLetter) ? await writeJson(messages) : messages;
    const request = { method: 'POST', path: '/email/batch', body } as const;
    return outcomesOf(await requestPostmark(settings, deps.egress, serverToken(settings), request), batch);
  }

  const alone = createSubmitter(
    async (email: OutgoingMail) =>
      (await submit([email]))[0] ?? { kind: 'unknown', reason: `${POSTMARK}: no result` },
  );

  /** Postmark refuses a whole batch because of one invalid message. Each message is then handed over alone. */
  async function submitAll(batch: readonly OutgoingMail[]): Promise<HandOverResult[]> {
    if (batch.length === 0) return [];
    const outcomes = await submit(batch);
    const spoiled = batch.length > 1 && outcomes.every((outcome) => outcome === outcomes[0]);
    return spoiled && outcomes[0]?.kind === 'refused' ? alone.handOver(batch) : outcomes;
  }

  return {
    name: 'postmark',
    concurrency: apiConcurrency(deps.config),
    async handOver(batch) {
      const refusals = batch.map((email) => partsRefusal(email, POSTMARK));
      const taken = batch.filter((_email, index) => refusals[index] === null);
      const letters = taken.filter(isLetter);
      // Letters may be too large to share a request.
      const [ofLetters, ofOthers] = await Promise.all([
        alone.handOver(letters),
        submitAll(taken.filter((email) => !isLetter(email))),
      ]);
      return batch.map(
        (email, index) =>
          refusals[index] ?? (isLetter(email) ? ofLetters : ofOthers).shift() ?? { kind: 'not_tried' },
      );
    },
    async findAccepted(email) {
      const id = await findAtPostmark(email, settings, deps.egress);
      return id === null
        ? null
        : { kind: 'accepted', providerMessageId: id, response: '200 found', delivered: false };
    },
    // A request that has a whole batch is finished.
    stop: () => alone.stop(),
    close: () => Promise.resolve(),
  };
}

async function check(settings: PostmarkSettings, { egress }: ProviderDeps): Promise<string | null> {
  const ask = async (token: Record<string, string>, path: string) => {
    const result = await requestPostmark(settings, egress, token, { method: 'GET', path });
    if (result.kind !== 'response') throw new Error(result.reason);
    if (result.status !== 200) throw new Error(`${result.status} ${postmarkError(result).message}`);
    return result.json as Record<string, unknown> | undefined;
  };
  try {
    const server = await ask(serverToken(settings), '/server');
    if (server?.DeliveryType === 'Sandbox') return 'the Postmark server is a sandbox, which delivers nothing';
    await ask(serverToken(settings), `/message-streams/${settings.message_stream}`);
    if (settings.account_token === undefined) return null;
    await ask({ 'x-postmark-account-token': settings.account_token }, '/domains?count=1&offset=0');
    return null;
  } catch (error) {
    return `${POSTMARK}: ${(error as Error).message}`;
  }
}

/** Postmark. It builds messages from their parts, takes a batch at a time, and has no idempotency keys. */
export const postmark: ProviderKind<PostmarkSettings, 'email'> = {
  name: 'postmark',
  channel: 'email',
  title: POSTMARK,
  settings: postmarkSettings,
  secrets: ['server_token', 'account_token'],
  repeatable: false,
  create: createPostmarkProvider,
  check,
  domains: postmarkDomains,
  callbacks: postmarkCallbacks,
};
