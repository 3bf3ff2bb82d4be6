/** Says who sent a mail: SPF, DKIM, DMARC and ARC. */
import { Readable } from 'node:stream';
import { authenticate, type AuthenticateResult, type DKIMResult, spf } from 'mailauth';
import type { Header } from 'postal-mime';
import { getDomain } from 'tldts';
import { valuesOf } from '../../../delivery/content/read/mailboxes.ts';
import type { AcceptedMail, AuthenticationResult, MailAuthentication } from './mail.ts';
import { visibleLine } from '../../../delivery/content/read/visible-text.ts';

/** The connection that delivered the mail. */
export type Session = Pick<AcceptedMail, 'envelopeFrom' | 'ip' | 'helo'>;

/** Looks up records as `dns.promises.resolve` does. */
export type Resolve = (name: string, type: string) => Promise<never>;

const MAX_SIGNATURES = 10;
const MIN_KEY_BITS = 1_024;
const PIECE_BYTES = 64 * 1024;

const MAX_DOMAIN_LENGTH = 255;

/** A domain as the mail or its envelope names it, which may be any text. */
const shownDomain = (domain: string): string => visibleLine(domain, MAX_DOMAIN_LENGTH);

const NONE: AuthenticationResult = { result: 'none', domain: null };

/** The results for a mail that was not authenticated. */
export function unauthenticated(result: 'none' | 'temperror' = 'none'): MailAuthentication {
  const unknown = { result, domain: null };
  return {
    spf: unknown,
    dkim: unknown,
    dmarc: { result, domain: null, policy: null },
    arc: unknown,
    aligned: false,
  };
}

/** Each signature takes time to verify, and real mail has two or three. */
export function hasTooManySignatures(fields: readonly Header[]): boolean {
  return ['dkim-signature', 'arc-seal', 'arc-message-signature', 'arc-authentication-results'].some(
    (name) => valuesOf(fields, name).length > MAX_SIGNATURES,
  );
}

function organizationOf(domain: string): string {
  const name = domain.toLowerCase().replace(/\.$/, '');
  return getDomain(name, { allowPrivateDomains: true }) ?? name;
}

/** Relaxed alignment (RFC 7489, section 3.1). */
function isAligned(domain: string | undefined, author: string | null): boolean {
  return domain !== undefined && author !== null && organizationOf(domain) === organizationOf(author);
}

/** A signature with `l=` leaves the end of the body to anybody. */
function passes({ status }: DKIMResult): boolean {
  return status.result === 'pass' && !status.underSized;
}

function countingSignature(results: readonly DKIMResult[], author: string | null): DKIMResult | undefined {
  return (
    results.find((each) => passes(each) && isAligned(each.signingDomain, author)) ??
    results.find(passes) ??
    results[0]
  );
}

function dkimResult(signature: DKIMResult | undefined): AuthenticationResult {
  if (!signature?.signingDomain) return NONE;
  const partial = signature.status.result === 'pass' && !passes(signature);
  return {
    result: partial ? 'policy' : signature.status.result,
    domain: shownDomain(signature.signingDomain),
  };
}

function arcResult({ arc }: AuthenticateResult): AuthenticationResult {
  if (arc === false) return NONE;
  const sealer = arc.signature === false ? undefined : arc.signature?.signingDomain;
  return { result: arc.status.result, domain: sealer === undefined ? null : shownDomain(sealer) };
}

function spfResultOf({ spf: found }: AuthenticateResult, { ip }: Session): AuthenticationResult {
  return ip === null || found === false
    ? NONE
    : { result: found.status.result, domain: shownDomain(found.domain) };
}

function dmarcResult({ dmarc }: AuthenticateResult): MailAuthentication['dmarc'] {
  // Authors of several domains, or of none, so that no policy applies.
  if (dmarc === false) return { result: 'permerror', domain: null, policy: null };
  // A response without a record has fewer fields than its type says.
  const { status, domain, policy } = dmarc as Partial<typeof dmarc> & Pick<typeof dmarc, 'status'>;
  return { result: status.result, domain: domain ? shownDomain(domain) : null, policy: policy ?? null };
}

/**
 * @param author the domain of the only address in From; null if there is none, or several
 */
function summary(results: AuthenticateResult, session: Session, author: string | null): MailAuthentication {
  const signature = countingSignature(results.dkim.results, author);
  const dkim = dkimResult(signature);
  const spfResult = spfResultOf(results, session);
  const dmarc = dmarcResult(results);
  const bySpf = spfResult.result === 'pass' && isAligned(spfResult.domain ?? undefined, author);
  const byDkim = dkim.result === 'pass' && isAligned(dkim.domain ?? undefined, author);
  return {
    spf: spfResult,
    dkim,
    dmarc,
    arc: arcResult(results),
    // A record may ask for strict alignment; then DMARC fails although the organizations are the same.
    aligned: (bySpf || byDkim) && dmarc.result !== 'fail',
  };
}

/** Hashing a body takes twice the memory of the pieces that it comes in. */
function inPieces(raw: Buffer): Buffer | Readable {
  if (raw.length <= PIECE_BYTES) return raw;
  return Readable.from(
    (function* pieces() {
      for (let at = 0; at < raw.length; at += PIECE_BYTES) yield raw.subarray(at, at + PIECE_BYTES);
    })(),
    { objectMode: false },
  );
}

/**
 * Authenticates a mail. A name that cannot be looked up makes a result `temperror`.
 * @param senderKey the address in From; null if there is none, or several
 */
export async function authenticateMail(
  raw: Buffer,
  session: Session,
  senderKey: string | null,
  resolver: Resolve,
): Promise<MailAuthentication> {
  const { envelopeFrom, ip, helo } = session;
  const results = await authenticate(inPieces(raw), {
    resolver,
    ...(ip === null ? {} : { ip }),
    helo: helo ?? ip ?? 'unknown',
    sender: envelopeFrom,
    trustReceived: false,
    disableBimi: true,
    rejectRsaSha1: true,
    minBitLength: MIN_KEY_BITS,
  });
  return summary(results, session, senderKey?.split('@').at(-1) ?? null);
}

/** Evaluates SPF alone, to find out which records it needs. */
export async function prepareSpf({ envelopeFrom, ip, helo }: Session, resolver: Resolve): Promise<void> {
  if (ip !== null) await spf({ sender: envelopeFrom, ip, helo: helo ?? ip, resolver });
}
