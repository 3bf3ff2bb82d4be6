import { parseEmailAddress, type EmailAddress } from '../../../delivery/terms/addresses/email.ts';
import type { DomainFinding } from './mail-hosts.ts';
import type { DomainLookups } from './domain-lookups.ts';
import { isDisposable, isRole, meantDomain } from './local-checks.ts';
import type { MailboxFinding, MailboxProbe } from './mailbox-probe.ts';
import type { OutsideFinding, OutsideValidator } from './outside-validator.ts';
import { decisiveReason, verdictOfReason, type Reason, type Verdict } from './verdict.ts';

/** An address to check. */
export interface AddressCandidate {
  /** Returned with the result. */
  id: string;
  email: string;
  /**
   * What the brand's own history says. `bounced`: a recent hard bounce, which decides at once. `active`: a delivery,
   * open or click within 90 days, so neither the probe nor the outside validator is needed. Null: nothing.
   */
  history?: 'bounced' | 'active' | null;
  /** Whether this is the second check, ten minutes after the first one was greylisted. */
  retry?: boolean;
}

/** One finding per check; null if the check was not made. Stored with the item in this form. */
export interface AddressChecks {
  syntax: boolean;
  domain: 'exists' | 'missing' | 'timeout' | null;
  mail_server: 'mx' | 'address' | 'null_mx' | 'none' | null;
  disposable: boolean | null;
  role: boolean | null;
  history: 'bounced' | 'active' | null;
  /** What the domain's mail server says. */
  mailbox: MailboxFinding | null;
  /** What the outside validator says. */
  outside: Verdict | null;
}

export interface CheckedAddress {
  id: string;
  verdict: Verdict;
  reason: Reason;
  checks: AddressChecks;
  /** The address that was probably meant; null if there is no similar one. */
  suggestion: string | null;
  /** For `greylisted` at the first check: when to check again, with `retry`. */
  retryAt?: Date;
}

export interface CheckOptions {
  /** Accounts take turns. */
  accountId: string;
  /** Look-ups without an answer are remembered for this operation only, across calls. */
  operationId: string;
  /** Whether an operator has enabled the outside validator for the account. */
  outsideValidator?: boolean;
  /** Ends the iteration with the signal's reason. */
  signal?: AbortSignal;
}

/** Checks addresses. One per process: its limits and caches cover all accounts and operations. */
export interface AddressChecker {
  /**
   * Yields each candidate's result once, as soon as it is known, in no particular order. With the probe, a page may
   * take many minutes, because mail servers are queried slowly.
   * @param candidates at most 1,000
   * @throws the signal's reason
   */
  check(candidates: readonly AddressCandidate[], options: CheckOptions): AsyncIterable<CheckedAddress>;
  /** Forgets what is remembered for one operation, so that its next call looks everything up again. */
  forget(operationId: string): void;
  /** Closes connections to mail servers. */
  close(): void;
}

export interface CheckerParts {
  lookups: DomainLookups;
  /** Null: mail servers are not queried. */
  probe: MailboxProbe | null;
  /** Null: there is no outside validator. */
  outside: OutsideValidator | null;
  /** In milliseconds. */
  now: () => number;
}

const MAX_CANDIDATES = 1_000;
const GREYLISTED_RETRY_MS = 600_000;

const mailboxReasons: Record<MailboxFinding, Reason> = {
  accepted: 'mailbox_accepted',
  missing: 'mailbox_missing',
  full: 'mailbox_full',
  catch_all: 'catch_all',
  greylisted: 'greylisted',
  timeout: 'timeout',
  refused: 'probe_refused',
  not_checked: 'mailbox_not_checked',
};

const domainReasons: Record<Exclude<DomainFinding['kind'], 'accepts_mail'>, Reason> = {
  no_domain: 'no_domain',
  null_mx: 'null_mx',
  no_mail_server: 'no_mail_server',
  timeout: 'timeout',
};

/** What the checks have found about one address. */
interface Findings {
  checks: AddressChecks;
  reasons: Set<Reason>;
  outsideSuggestion: string | null;
}

function firstFindings(candidate: AddressCandidate): Findings {
  const checks: AddressChecks = {
    syntax: true,
    domain: null,
    mail_server: null,
    disposable: null,
    role: null,
    history: candidate.history ?? null,
    mailbox: null,
    outside: null,
  };
  return { checks, reasons: new Set(), outsideSuggestion: null };
}

function recordDomain({ checks, reasons }: Findings, finding: DomainFinding): void {
  checks.domain =
    finding.kind === 'no_domain' ? 'missing' : finding.kind === 'timeout' ? 'timeout' : 'exists';
  if (finding.kind === 'accepts_mail') checks.mail_server = finding.via;
  else if (finding.kind === 'null_mx') checks.mail_server = 'null_mx';
  else if (finding.kind === 'no_mail_server') checks.mail_server = 'none';
  if (finding.kind !== 'accepts_mail') reasons.add(domainReasons[finding.kind]);
}

function recordOutside(findings: Findings, outside: OutsideFinding): void {
  findings.checks.outside = outside.verdict;
  for (const reason of outside.reasons) findings.reasons.add(reason);
  findings.outsideSuggestion = outside.suggestion;
}

function recordLists({ checks, reasons }: Findings, { local, domain }: EmailAddress): void {
  checks.disposable = isDisposable(domain);
  checks.role = isRole(local);
  if (checks.disposable) reasons.add('disposable');
  if (checks.role) reasons.add('role');
}

/** Suggests another address if this one is not known to work. */
function suggestionFor(
  parsed: EmailAddress,
  verdict: Verdict,
  outsideSuggestion: string | null,
): string | null {
  if (verdict === 'deliverable') return null;
  const domain = meantDomain(parsed.domain, verdict === 'undeliverable');
  if (domain !== null) return `${parsed.local}@${domain}`;
  const outside = outsideSuggestion === null ? null : parseEmailAddress(outsideSuggestion);
  return outside === null || 'error' in outside || outside.key === parsed.key ? null : outside.address;
}

class Checker implements AddressChecker {
  readonly #parts: CheckerParts;

  constructor(parts: CheckerParts) {
    this.#parts = parts;
  }

  async *check(
    candidates: readonly AddressCandidate[],
    options: CheckOptions,
  ): AsyncGenerator<CheckedAddress, void, undefined> {
    if (candidates.length > MAX_CANDIDATES) throw new RangeError(`more than ${MAX_CANDIDATES} candidates`);
    options.signal?.throwIfAborted();
    // Also stops the running checks if the consumer leaves the loop.
    const ended = new AbortController();
    const signal = options.signal ? AbortSignal.any([options.signal, ended.signal]) : ended.signal;
    try {
      yield* asTheyEnd(
        candidates.map((candidate) => this.#check(candidate, { ...options, signal })),
        signal,
      );
    } finally {
      ended.abort();
    }
  }

  forget(operationId: string): void {
    this.#parts.lookups.forget(operationId);
    this.#parts.probe?.forget(operationId);
  }

  close(): void {
    this.#parts.probe?.close();
  }

  async #check(candidate: AddressCandidate, options: CheckOptions): Promise<CheckedAddress> {
    const findings = firstFindings(candidate);
    const parsed = parseEmailAddress(candidate.email);
    if ('error' in parsed) {
      findings.checks.syntax = false;
      findings.reasons.add('syntax');
      return this.#conclude(candidate, findings, null);
    }
    recordLists(findings, parsed);
    if (candidate.history === 'bounced') findings.reasons.add('recent_bounce');
    else await this.#checkDomain(parsed, candidate, options, findings);
    return this.#conclude(candidate, findings, parsed);
  }

  async #checkDomain(
    parsed: EmailAddress,
    candidate: AddressCandidate,
    options: CheckOptions,
    findings: Findings,
  ): Promise<void> {
    const finding = await this.#parts.lookups.find(parsed.domain, options);
    recordDomain(findings, finding);
    if (candidate.history === 'active') findings.reasons.add('recent_activity');
    // More would not change the verdict of a disposable address that has a mail server.
    else if (finding.kind === 'accepts_mail' && !findings.checks.disposable) {
      await this.#checkMailbox(parsed, finding, options, findings);
    }
  }

  /** Asks the outside validator if the account has it, else the mail server if the probe is on. */
  async #checkMailbox(
    parsed: EmailAddress,
    { hosts }: DomainFinding & { kind: 'accepts_mail' },
    { accountId, operationId, outsideValidator, signal }: CheckOptions,
    findings: Findings,
  ): Promise<void> {
    const { outside, probe } = this.#parts;
    const given = outside && outsideValidator ? await outside.check(parsed.address, accountId, signal) : null;
    if (given) return recordOutside(findings, given);
    if (!probe) return;
    const question = { recipient: parsed, hosts, accountId, operationId, ...(signal ? { signal } : {}) };
    findings.checks.mailbox = await probe.ask(question);
    findings.reasons.add(mailboxReasons[findings.checks.mailbox]);
  }

  #conclude(
    { id, retry = false }: AddressCandidate,
    { checks, reasons, outsideSuggestion }: Findings,
    parsed: EmailAddress | null,
  ): CheckedAddress {
    const reason = decisiveReason(reasons);
    const verdict = verdictOfReason[reason];
    const suggestion = parsed && suggestionFor(parsed, verdict, outsideSuggestion);
    const again = checks.mailbox === 'greylisted' && reason === 'greylisted' && !retry;
    const retryAt = again ? { retryAt: new Date(this.#parts.now() + GREYLISTED_RETRY_MS) } : {};
    return { id, verdict, reason, checks, suggestion, ...retryAt };
  }
}

/**
 * Yields the results of promises as they settle.
 * @throws the first error, or the signal's reason
 */
async function* asTheyEnd<T>(
  work: readonly Promise<T>[],
  signal: AbortSignal,
): AsyncGenerator<T, void, undefined> {
  const ended: T[] = [];
  const failures: unknown[] = [];
  let wake = (): void => undefined;
  const fail = (error: unknown): void => {
    failures.push(error);
    wake();
  };
  const onAbort = (): void => fail(signal.reason);
  signal.addEventListener('abort', onAbort);
  for (const each of work) {
    each.then((result) => {
      ended.push(result);
      wake();
    }, fail);
  }
  try {
    for (let left = work.length; left > 0;) {
      if (failures.length > 0) throw failures[0];
      // Do not await anything between this check and the wait: a promise that settles in between would go unnoticed.
      if (ended.length === 0) {
        await new Promise<void>((resolve) => (wake = resolve));
        continue;
      }
      const batch = ended.splice(0);
      left -= batch.length;
      yield* batch;
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Creates a process's checker from its parts. */
export function createAddressChecker(parts: CheckerParts): AddressChecker {
  return new Checker(parts);
}
