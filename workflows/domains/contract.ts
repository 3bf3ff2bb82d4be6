/** The watch over one sending domain, which runs as long as the domain exists. This file imports nothing. */
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
  /** From Carillon: read the row again, because a client requested a check, or the domain was deleted. */
  wake: 'wake',
  /** From an operator: check the records now. */
  recheck: 'recheck',
} as const;

/** Queries. */
export const domainQueries = { state: 'state' } as const;

/**
 * The registration of the domain with its named provider. `waiting`: the provider was not reached. `done`: also if
 * there is no such provider.
 */
export type DomainRegistration = 'waiting' | 'refused' | 'done';

/** What the workflow does and waits for, as the query and the current details show it. Times are ISO 8601. */
export interface DomainWatchState {
  phase: 'registering' | 'checking' | 'releasing' | 'sleeping' | 'unregistering' | 'done';
  status: 'pending' | 'verified' | 'failed';
  registration: DomainRegistration;
  /** The provider's message, if the registration is `refused`. */
  providerError: string | null;
  /** Required records that are wrong or unknown, such as `dkim_rsa: false`. */
  problems: string[];
  /** Since when required records are wrong, although the domain is still verified. */
  failingSince: string | null;
  /** Since when the name servers have not answered. */
  unansweredSince: string | null;
  nextCheckAt: string | null;
  /** Number of checks in this run of the workflow. */
  checks: number;
}

/** What a check has found, and what to do next. */
export interface DomainCheckStep {
  /** Whether the domain was deleted. */
  gone: boolean;
  /** Whether held mail must be released. */
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
   * Registers the domain with its provider unless that is done; after a refusal, only if a check is due. Stores the
   * records that the provider requires, or why it refuses the domain.
   * @param force ask the provider even if no check is due
   */
  registerDomain(domainId: number, asOf: string, force: boolean): Promise<void>;
  /**
   * Checks the records if that is due, and records what follows: state, events, next check.
   * @param force check even if it is not due
   */
  checkDomain(domainId: number, asOf: string, force: boolean): Promise<DomainCheckStep>;
  /**
   * Makes a page of mail due that waited for the domain, which may have been deleted.
   * @returns whether all is released
   */
  releaseDomainMail(domain: { domainId: number; accountId: number }): Promise<boolean>;
  /** Removes what `registerDomain` has created at the provider of a deleted domain. */
  unregisterDomain(domainId: number): Promise<void>;
}
