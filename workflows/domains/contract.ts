/** The watch of one sending domain, which runs for as long as the domain exists. This file imports nothing. */
export const watchDomainType = 'watchDomain';

/** What the workflow starts with, and carries into its next run. */
export interface WatchDomainInput {
  schema: 1;
  domainId: number;
  accountId: number;
}

export function domainWorkflowId(domainId: number): string {
  return `domain/${domainId}`;
}

/** Signals, without arguments. */
export const domainSignals = {
  /** From Carillon: read the row again. A client asked for a check, or the domain was deleted. */
  wake: 'wake',
  /** From an operator: check the records now. */
  recheck: 'recheck',
} as const;

/** Queries. */
export const domainQueries = { state: 'state' } as const;

/** Of the domain, with its named provider. `waiting`: the provider was not reached. `done`: also without such a provider. */
export type DomainRegistration = 'waiting' | 'refused' | 'done';

/** What the workflow does and waits for, as the query and the current details show it. Times are ISO 8601. */
export interface DomainWatchState {
  phase: 'registering' | 'checking' | 'releasing' | 'sleeping' | 'unregistering' | 'done';
  status: 'pending' | 'verified' | 'failed';
  registration: DomainRegistration;
  /** With `refused`: the service's words. */
  providerError: string | null;
  /** Required records that are wrong or not known, as in `dkim_rsa: false`. */
  problems: string[];
  /** Since when required records are wrong, although the domain is still verified. */
  failingSince: string | null;
  /** Since when the name servers have not answered. */
  unansweredSince: string | null;
  nextCheckAt: string | null;
  /** Checks in this run of the workflow. */
  checks: number;
}

/** What a check has found, and what follows. */
export interface DomainCheckStep {
  /** The domain was deleted. */
  gone: boolean;
  /** Held mail has to be released. */
  releaseDue: boolean;
  status: DomainWatchState['status'];
  registration: DomainRegistration;
  providerError: string | null;
  problems: string[];
  failingSince: string | null;
  unansweredSince: string | null;
  nextCheckAt: string;
}

/** `asOf` is the workflow's time at the call, in ISO 8601. */
export interface DomainActivities {
  /**
   * Registers the domain with its provider, if that is left to do and, after a refusal, if a check is due. Stores the
   * records that the provider asks for, or why it refuses the domain.
   * @param force ask the provider even if no check is due
   */
  registerDomain(domainId: number, asOf: string, force: boolean): Promise<void>;
  /**
   * Checks the records if that is due, and records what follows: state, events, next check.
   * @param force check even if it is not due
   */
  checkDomain(domainId: number, asOf: string, force: boolean): Promise<DomainCheckStep>;
  /** Makes a page of mail due that waited for the domain, which may be gone. @returns whether all is released */
  releaseDomainMail(domain: { domainId: number; accountId: number }): Promise<boolean>;
  /** Removes what `registerDomain` has made at the provider of a deleted domain. */
  unregisterDomain(domainId: number): Promise<void>;
}
