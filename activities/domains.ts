import type { Config } from '../src/config.ts';
import { serviceHosts } from '../src/features/domains/name.ts';
import { createDomainWatch } from '../src/features/domains/watch.ts';
import type { Database } from '../src/platform/db/database.ts';
import type { Waker } from '../src/platform/db/wake.ts';
import type { Resolver } from '../src/platform/dns/resolver.ts';
import type { EventPublisher } from '../src/platform/events/publish.ts';
import type { DomainActivities } from '../workflows/domains/contract.ts';

export interface DomainActivityDependencies {
  config: Pick<Config, 'MAIL_DOMAIN' | 'MAIL_HOST' | 'PUBLIC_URL'>;
  database: Database;
  waker: Pick<Waker, 'wake'>;
  resolver: Resolver;
  events: EventPublisher;
}

/** The activities of the workflow `domain/<id>`. Name servers that do not answer never make an activity fail. */
export function createDomainActivities(deps: DomainActivityDependencies): DomainActivities {
  const { config, database, waker, resolver, events } = deps;
  const { pool } = database;
  const watch = createDomainWatch({ pool, resolver, events, waker, hosts: serviceHosts(config) });
  return {
    registerDomain: (domainId) => watch.register(domainId),

    async checkDomain(domainId, asOf, force) {
      const checked = await watch.check(domainId, new Date(asOf), force);
      if (!checked) {
        const nothing = { problems: [], failingSince: null, unansweredSince: null };
        return { gone: true, releaseDue: true, status: 'failed', nextCheckAt: asOf, ...nothing };
      }
      const { row, problems } = checked;
      return {
        gone: false,
        releaseDue: row.release_due,
        status: row.status,
        problems: problems.map(({ key, valid }) => `${key}: ${valid}`),
        failingSince: row.failing_since?.toISOString() ?? null,
        unansweredSince: row.unanswered_since?.toISOString() ?? null,
        nextCheckAt: row.next_check_at.toISOString(),
      };
    },

    releaseDomainMail: (domain) => watch.release(domain),
  };
}
