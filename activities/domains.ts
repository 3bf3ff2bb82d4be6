import type { Logger } from 'pino';
import type { Config } from '../src/config.ts';
import { serviceHosts } from '../src/features/domains/name.ts';
import { createDomainWatch } from '../src/features/domains/watch.ts';
import type { Database } from '../src/platform/db/database.ts';
import type { Waker } from '../src/platform/db/wake.ts';
import type { Resolver } from '../src/platform/dns/resolver.ts';
import { createEgress } from '../src/platform/egress/client.ts';
import type { EventPublisher } from '../src/platform/events/publish.ts';
import type { Keyring } from '../src/platform/secrets/keyring.ts';
import type { DomainActivities } from '../workflows/domains/contract.ts';
import { presentTime } from './present-time.ts';

/** The user agent of requests to the APIs of providers. */
const USER_AGENT = 'Carillon/1';

export interface DomainActivityDependencies {
  config: Config;
  database: Database;
  waker: Pick<Waker, 'wake'>;
  keyring: Keyring;
  resolver: Resolver;
  events: EventPublisher;
  log: Logger;
  /** Certificates (PEM) to trust instead of the system's; for tests. */
  ca?: string[];
}

/** The activities of the workflow `domain/<id>`. An activity does not fail if name servers do not respond. */
export function createDomainActivities(deps: DomainActivityDependencies): DomainActivities {
  const { config, database, waker, keyring, resolver, events, log, ca } = deps;
  const { pool } = database;
  const options = { resolver, allow: config.EGRESS_ALLOW, userAgent: USER_AGENT };
  const egress = createEgress(ca ? { ...options, ca } : options);
  const access = { keyring, providers: { config, pool, resolver, egress }, log };
  const watch = createDomainWatch({ pool, access, resolver, events, waker, hosts: serviceHosts(config) });
  return {
    registerDomain: (domainId, asOf, force) => watch.register(domainId, presentTime(asOf), force),

    async checkDomain(domainId, asOf, force) {
      const checked = await watch.check(domainId, presentTime(asOf), force);
      if (!checked) {
        const nothing = { providerError: null, problems: [], failingSince: null, unansweredSince: null };
        const registration = 'done';
        return {
          gone: true,
          releaseDue: true,
          status: 'failed',
          registration,
          nextCheckAt: asOf,
          ...nothing,
        };
      }
      const { row, problems, registration } = checked;
      return {
        gone: false,
        releaseDue: row.release_due,
        status: row.status,
        registration,
        providerError: registration === 'refused' ? row.provider_error : null,
        problems: problems.map(({ key, valid }) => `${key}: ${valid}`),
        failingSince: row.failing_since?.toISOString() ?? null,
        unansweredSince: row.unanswered_since?.toISOString() ?? null,
        nextCheckAt: row.next_check_at.toISOString(),
      };
    },

    releaseDomainMail: (domain) => watch.release(domain),

    unregisterDomain: (domainId) => watch.unregister(domainId),
  };
}
