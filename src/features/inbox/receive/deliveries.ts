import { isIP } from 'node:net';
import type pg from 'pg';
import { parseEmailAddress } from '../../../delivery/terms/addresses/email.ts';
import type { ArrivalRates } from '../../../delivery/wire/inbound/arrival-rates.ts';
import { beginPieces } from '../../../delivery/wire/inbound/arriving-mail.ts';
import { AccountFull } from '../../../delivery/wire/inbound/inboxes.ts';
import { findRecipient } from '../../../delivery/wire/inbound/recipients.ts';
import {
  type Addressed,
  type Envelope,
  takeMail,
  type TakeMailDeps,
  TooManyMails,
} from '../../../delivery/wire/inbound/take-mail.ts';
import { AppError, invalid, tooMany, type ValidationErrors } from '../../../errors.ts';
import { FairGate } from '../../../platform/processes/fair-gate.ts';
import { inboundTokenDigest } from '../inboxes/operators.ts';

export interface DeliveriesDeps extends TakeMailDeps {
  pool: pg.Pool;
  /** `MAIL_DOMAIN`. */
  mailDomain: string;
}

/** Mail that a client delivers over HTTP. */
export interface Deliveries {
  /** Finds the account of a token. @returns null if it is unknown */
  accountOf(token: string): Promise<number | null>;
  /**
   * Checks the query of a request.
   * @throws AppError validation_error that names what is wrong; `unavailable` if a recipient accepts no mail at the
   *   moment; rate_limited
   */
  readEnvelope(accountId: number, query: URLSearchParams): Promise<Envelope>;
  /**
   * Takes a message. Once this resolves, it is committed.
   * @param check is given the beginning of the message, and throws if it is none
   * @throws AppError rate_limited; unavailable if the account, the storage or the database has no room or is down
   */
  take(
    envelope: Envelope,
    pieces: AsyncGenerator<Buffer, void>,
    check: (head: Buffer) => void,
  ): Promise<void>;
}

const MAX_RECIPIENTS = 20;
const MAX_HELO = 255;
/** Of one account. A process takes 16 such bodies at once, and each may take minutes. */
const MAX_ARRIVING = 8;
const RETRY_SECONDS = 60;
const names = ['from', 'to', 'ip', 'helo'];

function unavailable(message: string, cause?: unknown): AppError {
  return new AppError('unavailable', message, { headers: { 'Retry-After': String(RETRY_SECONDS) }, cause });
}

function problemsOfClient(query: URLSearchParams): ValidationErrors {
  const errors: ValidationErrors = {};
  const ip = query.get('ip');
  if (ip !== null && isIP(ip) === 0) errors['ip'] = ['must be an IP address'];
  const helo = query.get('helo') ?? '';
  if (helo.length > MAX_HELO || /[^\x21-\x7e]/.test(helo)) errors['helo'] = ['must be a host name'];
  return errors;
}

/** What is wrong with the query, apart from the recipients. */
function problemsOf(query: URLSearchParams): ValidationErrors {
  const errors: ValidationErrors = {};
  for (const name of query.keys())
    if (!names.includes(name)) errors[name] = ['is not a known query parameter'];
  for (const name of ['from', 'ip', 'helo'])
    if (query.getAll(name).length > 1) errors[name] = ['must be given once'];
  const from = query.get('from') ?? '';
  const sender = from === '' ? null : parseEmailAddress(from);
  if (sender !== null && 'error' in sender) errors['from'] = [sender.error];
  Object.assign(errors, problemsOfClient(query));
  const { length } = query.getAll('to');
  if (length === 0) errors['to'] = ['is required'];
  if (length > MAX_RECIPIENTS) errors['to'] = [`must be given at most ${MAX_RECIPIENTS} times`];
  return errors;
}

/** The name under which the mails of an account are counted. */
const networkOf = (accountId: number) => `account ${accountId}`;

function envelopeOf(accountId: number, query: URLSearchParams, recipients: Addressed[]): Envelope {
  const sender = parseEmailAddress(query.get('from') ?? '');
  return {
    source: 'http',
    envelopeFrom: 'error' in sender ? '' : sender.address,
    ip: query.get('ip'),
    helo: query.get('helo') || null,
    network: networkOf(accountId),
    recipients,
  };
}

const tooManyMails = () => tooMany('too many mails from this sender', RETRY_SECONDS);

/** @throws AppError rate_limited */
function limit(rates: ArrivalRates, { network, ip, envelopeFrom: sender, recipients }: Envelope): void {
  const admitted = recipients.every(
    (one) => one.kind !== 'inbox' || rates.admit({ network, ip, sender, inboxId: one.inbox.id }),
  );
  if (!admitted) throw tooManyMails();
}

/** The answer to a mail that could not be taken. */
function answerTo(error: unknown): unknown {
  if (error instanceof TooManyMails) return tooManyMails();
  return error instanceof AccountFull ? unavailable(error.message, error) : error;
}

export function createDeliveries(deps: DeliveriesDeps): Deliveries {
  const { pool, mailDomain, keys, inboxes, rates } = deps;
  const arriving = new FairGate<string>({
    slots: Number.POSITIVE_INFINITY,
    perKey: MAX_ARRIVING,
    maxWaiting: 0,
    refusal: () => tooMany(`at most ${MAX_ARRIVING} mails of an account arrive at once`, RETRY_SECONDS),
  });

  /** @returns null if the address is not one of the account's */
  async function recipientOf(accountId: number, address: string): Promise<Addressed | null> {
    const known = findRecipient(address, mailDomain, keys);
    if (known)
      return known.kind === 'return_path' && known.message.accountId === accountId
        ? { kind: 'return_path', message: known.message, address }
        : null;
    const found = await inboxes.resolve(address);
    if (found.kind === 'inbox') {
      if (found.accountId !== accountId) return null;
      const { id, brandId, address: inboxAddress } = found;
      return { kind: 'inbox', inbox: { id, accountId, brandId, address: inboxAddress }, address };
    }
    if (found.status === 550) return null;
    throw unavailable(`${address} accepts no mail at the moment`);
  }

  return {
    async accountOf(token) {
      const { rows } = await pool.query<{ account_id: number }>({
        name: 'account_of_inbound_token',
        text: 'select account_id from inbound_tokens where digest = $1',
        values: [inboundTokenDigest(token)],
      });
      return rows[0]?.account_id ?? null;
    },
    async readEnvelope(accountId, query) {
      const errors = problemsOf(query);
      if (Object.keys(errors).length > 0) throw invalid(errors);
      const recipients: Addressed[] = [];
      for (const [index, address] of query.getAll('to').entries()) {
        const recipient = await recipientOf(accountId, address);
        if (recipient) recipients.push(recipient);
        else errors[`to.${index}`] = ['is not the address of an inbox of the account that accepts mail'];
      }
      if (Object.keys(errors).length > 0) throw invalid(errors);
      const envelope = envelopeOf(accountId, query, recipients);
      limit(rates, envelope);
      return envelope;
    },
    take: (envelope, pieces, check) =>
      arriving
        .run(envelope.network, async () => {
          const mail = await beginPieces(pieces);
          check(mail.head);
          await takeMail(mail, envelope, deps);
        })
        .catch((error: unknown) => {
          throw answerTo(error);
        }),
  };
}
